"""The GPUs of this machine, shared out among processes."""

from __future__ import annotations

import os

from uqbench.errors import UqbenchError

GPU = "CUDA_VISIBLE_DEVICES"
"""Says which GPUs a process may use."""


def visible() -> list[str]:
    """The GPUs that this process may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    named = os.environ.get(GPU)
    if named is not None:
        return [name.strip() for name in named.split(",") if name.strip()]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


def share_out(gpus: list[str], each: float, workers: int | None) -> list[str]:
    """The GPU of each process, so that the first processes have different ones.

    Args:
        gpus: that there are.
        each: GPUs that a process takes; 0 for one.
        workers: processes; None for as many as the GPUs have room for.

    Raises:
        UqbenchError: a process takes more than one.
    """
    if each > 1:
        raise UqbenchError(
            f"--gpus-per-batch {each:g}: a batch computes on one GPU; expected at most 1."
        )
    room = len(gpus) * int(1 / each + 1e-9) if each else len(gpus)
    return [gpus[worker % len(gpus)] for worker in range(workers or max(1, room))] if gpus else []
