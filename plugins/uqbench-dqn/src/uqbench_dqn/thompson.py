"""Thompson sampling from normal posteriors of Q."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from uqbench.lanes import Clock, Normal, greedy
from uqbench.lanes.random import FunctionOfStep


class ThompsonSampling(FunctionOfStep):
    """Greedy with respect to a sample from a normal posterior of Q, a new one every step.

    Args:
        seeds: one per lane.
        n_actions: A.
        clock: the step, of K actors.
        scale: of the noise.
    """

    def __init__(
        self, seeds: Sequence[int], n_actions: int, clock: Clock, scale: float = 1.0
    ) -> None:
        self._clock, self._scale = clock, scale
        self._zeta = Normal(seeds, "thompson", (clock.actors, n_actions), clock.tensor.device)

    def noise(self) -> Tensor:
        """ζ for the coming step, ``[L, K, A]`` standard normal."""
        return self._zeta.at(self._clock)

    def choose(
        self, mean: Tensor, std: Tensor, noise: Tensor, valid: Tensor | None = None
    ) -> Tensor:
        """``argmax_a mean_a + scale · ζ_a · std_a``, ``[..., A] -> [...]``."""
        return greedy(mean + self._scale * noise * std, valid)
