"""Minimizing the losses of all networks of a stack at once, by Adam.

The weights of a network are one row of a matrix whose width is a multiple of a SIMD vector: torch's
fused kernel, which rounds the tail of a tensor differently, then has no tail, and one call updates
all networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim.adam import adam

from uqbench.contract.estimator import Data
from uqbench.lanes.numerics import VECTOR
from uqbench_predictive.networks.architectures import ROWS, Drop, Network, Weights

ADAM_EPSILON = 1e-8


class Stack:
    """The weights of ``S`` networks, with Adam (Kingma & Ba 2015) as their optimizer.

    Attributes:
        weights: views of the rows, by name, that take gradients.
        flat: ``[S, P]``, all weights of a network in a row, padded with zeros.
    """

    def __init__(self, start: Weights) -> None:
        sizes = {name: prod(tensor.shape[1:]) for name, tensor in start.items()}
        first = next(iter(start.values()))
        width = -(-sum(sizes.values()) // VECTOR) * VECTOR
        self.flat = torch.zeros(len(first), width, device=first.device)
        self.weights: dict[str, Tensor] = {}
        at = 0
        for name, tensor in start.items():
            row = self.flat[:, at : at + sizes[name]]
            row.copy_(tensor.flatten(1))
            self.weights[name] = row.view(tensor.shape).detach().requires_grad_()
            at += sizes[name]
        self._gradient = torch.zeros_like(self.flat)
        self._mean = torch.zeros_like(self.flat)
        self._square = torch.zeros_like(self.flat)
        self._step = torch.zeros((), device=first.device)

    def gradient(self, objective: Tensor) -> Tensor:
        """Gradient of the summed objectives, ``[S, P]``; overwritten by the next call."""
        at = 0
        for part in torch.autograd.grad(objective, list(self.weights.values())):
            size = part[0].numel()
            self._gradient[:, at : at + size] = part.flatten(1)
            at += size
        return self._gradient

    @torch.no_grad()
    def step(self, objective: Tensor, learning_rate: float, weight_decay: float) -> None:
        """One step of Adam; the L2 penalty ``weight_decay`` is in the gradient."""
        with torch.enable_grad():
            gradient = self.gradient(objective)
        adam(
            [self.flat],
            [gradient],
            [self._mean],
            [self._square],
            [],
            [self._step],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=learning_rate,
            weight_decay=weight_decay,
            eps=ADAM_EPSILON,
            maximize=False,
        )

    def snapshot(self) -> dict[str, Tensor]:
        """A copy of the weights."""
        return {name: tensor.detach().clone() for name, tensor in self.weights.items()}


def losses(outputs: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Loss of every row: cross-entropy for classes, squared error for values.

    Args:
        outputs: ``[S, B, C]``.
        targets: ``[S, B]``, int64 or float32.
        smoothing: share of the label spread over all classes.
    """
    if targets.is_floating_point():
        return (outputs.squeeze(-1) - targets).square()
    flat = F.cross_entropy(
        outputs.flatten(0, 1), targets.flatten(), reduction="none", label_smoothing=smoothing
    )
    return flat.view(targets.shape)


@torch.no_grad()
def mean_loss(network: Network, weights: Weights, data: Data) -> Tensor:
    """Mean training loss of every network, float64 ``[S]``, a batch at a time."""
    total = torch.zeros(len(data.targets), dtype=torch.float64, device=data.targets.device)
    for inputs, targets in zip(
        data.inputs.split(ROWS, dim=1), data.targets.split(ROWS, dim=1), strict=True
    ):
        total += losses(network(weights, inputs), targets).double().sum(-1)
    return total / data.targets.shape[1]


def batches(data: Data, size: int | None) -> Iterator[Data]:
    """Batches of ``size`` rows in order, over and over; None gives all rows every time.

    An incomplete last batch is dropped.

    Raises:
        ValueError: there are fewer rows than a batch holds.
    """
    size = data.targets.shape[1] if size is None else size
    n = _rows(data, size)
    while True:
        for first in range(0, n - size + 1, size):
            span = slice(first, first + size)
            yield Data(data.inputs[:, span], data.targets[:, span])


def _rows(data: Data, size: int) -> int:
    """The number of rows, of which a batch has ``size``.

    Raises:
        ValueError: it has fewer, and would never fill a batch.
    """
    n = data.targets.shape[1]
    if size > n:
        raise ValueError(
            f"expected batches of at most {n} rows, the size of the training set, got {size}"
        )
    return n


def shuffled(data: Data, size: int | None, generators: Sequence[torch.Generator]) -> Iterator[Data]:
    """Batches of ``size`` rows per network, each network's order reshuffled every epoch."""
    if size is None:
        yield from batches(data, None)
        return
    n = _rows(data, size)
    here = torch.arange(len(data.targets), device=data.targets.device)[:, None]
    while True:
        order = torch.stack([torch.randperm(n, generator=g) for g in generators])
        order = order.to(data.targets.device)
        for first in range(0, n - size + 1, size):
            index = order[:, first : first + size]
            yield Data(data.inputs[here, index], data.targets[here, index])


def fit(
    network: Network,
    start: Weights,
    data: Data,
    steps: int,
    *,
    learning_rate: float,
    weight_decay: float,
    batch_size: int | None = None,
    smoothing: float = 0.0,
    generators: Sequence[torch.Generator] = (),
    drop: Drop | None = None,
) -> dict[str, Tensor]:
    """Minimize every network's mean loss on its own data.

    Args:
        network: the architecture.
        start: initial weights, ``[S, ...]``.
        data: ``[S, n, ...]``.
        steps: of Adam.
        learning_rate: α.
        weight_decay: L2 penalty, in the gradient.
        batch_size: rows per step; None for all.
        smoothing: label smoothing.
        generators: one per network, for the order of the rows.
        drop: dropout.

    Returns:
        The weights after the last step.
    """
    stack = Stack(start)
    stream = shuffled(data, batch_size, generators)
    for _ in range(steps):
        batch = next(stream)
        outputs = network(stack.weights, batch.inputs, drop)
        mean = losses(outputs, batch.targets, smoothing).mean(-1)
        stack.step(mean.sum(), learning_rate, weight_decay)
    return stack.snapshot()


@dataclass(frozen=True)
class Dropout:
    """Dropout: zero units with a probability and scale up the others.

    Attributes:
        probability: p.
        generators: one per network, on the CPU.
        shared: whether all rows have the same mask, so that they go through one network; otherwise
            every row has its own.
    """

    probability: float
    generators: Sequence[torch.Generator]
    shared: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs of all networks, ``[S, B, H]``."""
        kept = torch.stack([self._kept(x.shape[1:], g) for g in self.generators])
        return x * kept.to(x) / (1 - self.probability)

    def of(self, index: int) -> Callable[[Tensor], Tensor]:
        """That of one network."""
        generator = self.generators[index]
        return lambda x: x * self._kept(x.shape, generator).to(x) / (1 - self.probability)

    def _kept(self, shape: torch.Size, generator: torch.Generator) -> Tensor:
        shape = torch.Size((1, *shape[1:])) if self.shared else shape
        return torch.rand(shape, generator=generator) >= self.probability


def standard_normal(like: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
    """Standard normal numbers ``[S, P]``, each row from its own generator."""
    rows = [torch.randn(like.shape[1], generator=generator) for generator in generators]
    return torch.stack(rows).to(like)
