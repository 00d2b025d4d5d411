"""A kernel of numba.cuda, which is imported where the doctor launches it, and not before."""

from __future__ import annotations

from typing import Any

import torch
from numba import cuda


@cuda.jit
def add_one(numbers: Any) -> None:
    """Add 1 to each number, a thread each."""
    place = cuda.grid(1)
    if place < numbers.size:
        numbers[place] += 1


def launch(device: torch.device) -> None:
    """Launch it on a device, or, for a CPU, in Numba's simulator.

    Raises:
        RuntimeError: it does something else.
    """
    numbers = torch.zeros(33, device=device)
    add_one[2, 32](cuda.as_cuda_array(numbers) if numbers.is_cuda else numbers.numpy())
    if not numbers.cpu().eq(1).all():
        raise RuntimeError("a kernel of numba.cuda does not do what it says")
