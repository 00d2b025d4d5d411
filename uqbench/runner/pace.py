"""How the time of a run is spread over its steps.

Gradient steps take most of it and need not be spread evenly: updates after 1, 3, 6, 10, …
environment steps (Eriksson et al. 2022) are ten times as dense in the first thousand steps as in
all of a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from uqbench.config import CountsGradientSteps


@dataclass(frozen=True)
class Pace:
    """What the steps of one run take, in core seconds.

    Attributes:
        step_s: of an environment step; without ``gradient_steps``, with all that goes with it.
        gradient_step_s: of a gradient step.
        gradient_steps: how many there are in the first ``n`` environment steps; None: they are not
            counted.
    """

    step_s: float
    gradient_step_s: float = 0.0
    gradient_steps: Callable[[int], int] | None = None

    @classmethod
    def on_average(cls, step_s: float, steps: int, config: object) -> Pace:
        """From the mean time of a run's step, which goes into gradient steps as far as they count.

        Args:
            step_s: seconds of a step, the mean over a run.
            steps: of the run.
            config: the method's.
        """
        if isinstance(config, CountsGradientSteps) and config.gradient_steps(steps) > 0:
            each = step_s * steps / config.gradient_steps(steps)
            return cls(0.0, each, config.gradient_steps)
        return cls(step_s)

    @classmethod
    def measured(cls, step_s: float, gradient_step_s: float, config: object) -> Pace:
        """From the times of a step and of a gradient step; 0 where these were not told apart."""
        if isinstance(config, CountsGradientSteps) and gradient_step_s > 0:
            return cls(step_s, gradient_step_s, config.gradient_steps)
        return cls(step_s)

    def seconds(self, first: int, last: int) -> float:
        """From step ``first`` to step ``last``."""
        counted = self.gradient_steps
        learning = 0 if counted is None else counted(last) - counted(first)
        return (last - first) * self.step_s + learning * self.gradient_step_s
