"""Classification with a known posterior: logistic regression on two inputs, by quadrature."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from uqbench.contract.estimator import PredictiveUncertainty
from uqbench_predictive.problems.testbed import TOGETHER, Testbed
from uqbench_predictive.uncertainty import divergence, entropy

WIDTH = 2
"""Inputs; with the bias, three weights."""
PRIOR_VAR = 2.0
"""The variance of each weight: that of a difference of two logits whose weights have variance 1."""
REACH, STEP = 10.0, 0.75
"""Nodes of the quadrature, in standard deviations of the posterior's normal approximation."""
NEGLIGIBLE = 1e-9
"""Nodes with so small a part of the largest weight are left out."""
NEWTON_STEPS = 50
DRAWN = 1_000
"""Members of the exact prediction."""
LEAST = 1e-12
"""A probability of zero would make one point decide the whole."""


@dataclass(frozen=True, kw_only=True)
class KnownClassesConfig:
    """Which problems.

    Attributes:
        points: for training; half as many are for validation.
    """

    points: int = 10

    def __post_init__(self) -> None:
        if self.points < 2:
            raise ValueError(f"expected at least 2 points, got {self.points}")


class LogisticPosterior:
    """The posterior of the weights given classes, ``[n, 2]`` and ``[n]``, as weighted nodes.

    The trapezoidal rule on a grid along the axes of the normal approximation. It converges
    exponentially for smooth functions that vanish at the ends.

    Attributes:
        nodes: weight vectors, ``[N, 3]``, the bias last.
        mass: of each, ``[N]``, summing to one.
    """

    def __init__(self, inputs: Tensor, targets: Tensor, step: float = STEP) -> None:
        x = with_one(inputs)
        sign = 2 * targets.double() - 1
        mode = torch.zeros(WIDTH + 1, dtype=torch.float64)
        precision = torch.eye(WIDTH + 1, dtype=torch.float64) / PRIOR_VAR
        for _ in range(NEWTON_STEPS):
            likely = torch.sigmoid(x @ mode)
            curvature = x.T @ (x * (likely * (1 - likely))[:, None]) + precision
            gradient = x.T @ (likely - targets.double()) + precision @ mode
            mode = mode - torch.linalg.solve(curvature, gradient)
        axes = torch.linalg.inv(torch.linalg.cholesky(curvature)).T
        ticks = torch.arange(-REACH, REACH + step / 2, step, dtype=torch.float64)
        grid = torch.cartesian_prod(*[ticks] * (WIDTH + 1)) @ axes.T + mode
        log_mass = logsigmoid((grid @ x.T) * sign).sum(-1)
        log_mass = log_mass - 0.5 * (grid @ precision * grid).sum(-1)
        mass = (log_mass - log_mass.max()).exp()
        kept = mass > NEGLIGIBLE
        self.nodes, self.mass = grid[kept], mass[kept] / mass[kept].sum()

    def predict(self, inputs: Tensor, generator: torch.Generator) -> PredictiveUncertainty:
        """The exact prediction, and a thousand weight vectors as its members."""
        each = both((self.nodes @ with_one(inputs).T).sigmoid())  # [N, M, 2]
        log_each, mass = each.log(), self.mass[:, None]
        probs = (each * mass[..., None]).sum(0)
        aleatoric = (entropy(log_each) * mass).sum(0)
        epistemic = (divergence(log_each, probs.log()) * mass).sum(0)
        start = torch.rand((), generator=generator, dtype=torch.float64)
        places = (torch.arange(DRAWN, dtype=torch.float64) + start) / DRAWN
        chosen = torch.searchsorted(self.mass.cumsum(0), places).clamp(max=len(self.mass) - 1)
        members = each[chosen[torch.randperm(DRAWN, generator=generator)]]
        return PredictiveUncertainty(
            aleatoric + epistemic, aleatoric, epistemic, probs, "nats", members=members
        )

    def divergences(self, inputs: Tensor, said: PredictiveUncertainty) -> tuple[Tensor, ...]:
        """Divergences of class probabilities, and of the counts of class 1 at a pair of inputs.

        Raises:
            ValueError: the method predicts no probabilities.
        """
        if said.probs is None:
            raise ValueError("expected class probabilities from an estimator of a classification")
        one = (self.nodes @ with_one(inputs).T).sigmoid()  # [N, M]
        exact = both((one * self.mass[:, None]).sum(0))
        theirs = said.probs.clamp(min=LEAST).log()
        each = divergence(exact.log(), theirs)
        members = said.probs[None] if said.members is None else said.members
        equal = torch.full((len(members),), 1 / len(members), dtype=torch.float64)
        together = []
        for τ in TOGETHER:
            own = counts(one, self.mass, τ // 2)  # [pairs, τ/2 + 1, τ/2 + 1]
            other = counts(members[..., 1], equal, τ // 2).clamp(min=LEAST)
            ratio = own.clamp(min=1e-300).log() - other.log()
            together.append((own * ratio).sum((1, 2)))
        return each, *together


class KnownClasses(Testbed[LogisticPosterior]):
    """Two classes by a logistic regression whose weights are drawn from the prior."""

    law = "known-classes"
    n_classes = 2
    inputs = (WIDTH,)

    def __init__(self, config: KnownClassesConfig) -> None:
        self.config = config

    @property
    def name(self) -> str:
        """With the number of points."""
        return f"{self.law}-{self.config.points}"

    @property
    def sizes(self) -> tuple[int, int]:
        """Half as many for validation."""
        return self.config.points, self.config.points // 2

    def targets(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Classes drawn with their probabilities."""
        drawn = torch.randn(WIDTH + 1, generator=generator, dtype=torch.float64)
        probability = (with_one(inputs) @ (PRIOR_VAR**0.5 * drawn)).sigmoid()
        uniform = torch.rand(len(inputs), generator=generator, dtype=torch.float64)
        classes: Tensor = uniform < probability
        return classes

    def posterior(self, inputs: Tensor, targets: Tensor) -> LogisticPosterior:
        """By quadrature."""
        return LogisticPosterior(inputs, targets)


def with_one(inputs: Tensor) -> Tensor:
    """``[M, 2]`` with a one appended, float64."""
    return torch.cat([inputs.double(), torch.ones(len(inputs), 1, dtype=torch.float64)], -1)


def both(one: Tensor) -> Tensor:
    """Probabilities of the classes 0 and 1 from that of 1, ``[...] -> [..., 2]``."""
    return torch.stack([1 - one, one], -1).clamp(min=1e-300)


def counts(one: Tensor, mass: Tensor, trials: int) -> Tensor:
    """Probabilities of how often class 1 comes at the inputs of each pair, ``[P, n + 1, n + 1]``.

    The order of outcomes does not matter: given a model they are independent.

    Args:
        one: probability of class 1 under each model, ``[N, 2 P]``, pair by pair.
        mass: of the models, ``[N]``.
        trials: n, targets at each input.
    """
    k = torch.arange(trials + 1, dtype=torch.float64)
    ways = (
        torch.lgamma(torch.tensor(trials + 1.0)) - torch.lgamma(k + 1) - (trials - k + 1).lgamma()
    )
    found = []
    for pair in one.clamp(1e-300, 1 - 1e-16).split(2, dim=-1):
        first, second = (
            (ways + k * p.log()[:, None] + (trials - k) * (-p).log1p()[:, None]).exp()
            for p in pair.unbind(-1)
        )
        found.append((first * mass[:, None]).T @ second)
    return torch.stack(found)
