"""Exploration: ε-greedy with ε decay, or none. An agent holds one such object.

Random numbers are drawn by ``noise`` and used by ``explore`` or ``choose``: compiled methods take
tensors, so draw outside of them and use the draws inside.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from uqbench.lanes.clock import Clock
from uqbench.lanes.random import FunctionOfStep, Uniform, random_action


def linear_schedule(t: Tensor, initial: float, final: float, start: int, steps: int) -> Tensor:
    """``initial`` until step ``start``, then linearly to ``final`` over ``steps`` steps.

    Args:
        t: the step, ``[]``: a clock's tensor.
        initial: value up to ``start``.
        final: value from ``start + steps`` on.
        start: first step of the decay.
        steps: length of the decay.
    """
    return initial + ((t - start) / steps).clamp(0, 1) * (final - initial)


def greedy(values: Tensor, valid: Tensor | None = None) -> Tensor:
    """The valid action with the highest value: ``[..., A] -> [...]``; ties go to the lowest."""
    if valid is not None:
        values = values.masked_fill(~valid, -torch.inf)
    return values.argmax(-1)


def epsilon_greedy(
    values: Tensor, u: Tensor, epsilon: float | Tensor, valid: Tensor | None = None
) -> Tensor:
    """Uniformly random valid actions with probability ε, else the greedy ones.

    Args:
        values: ``[..., A]``.
        u: ``[..., 2]`` uniform in [0, 1): whether to explore, and which action.
        epsilon: probability of a random action.
        valid: ``[..., A]`` bool; None where all are.
    """
    return epsilon_random(greedy(values, valid), values.shape[-1], u, epsilon, valid)


def epsilon_random(
    action: Tensor, n_actions: int, u: Tensor, epsilon: float | Tensor, valid: Tensor | None = None
) -> Tensor:
    """Uniformly random valid actions with probability ε, else ``action`` ``[...]``.

    The other arguments are those of ``epsilon_greedy``; ``n_actions`` is A.
    """
    return torch.where(u[..., 0] < epsilon, random_action(u[..., 1], n_actions, valid), action)


class Exploration(FunctionOfStep):
    """Replaces some of the actions that an agent has chosen with random ones; by itself, none."""

    def noise(self) -> Tensor:
        """Random numbers for the coming step, to pass to ``explore``."""
        return torch.empty(0)

    def explore(self, action: Tensor, noise: Tensor, valid: Tensor | None = None) -> Tensor:
        """Training actions ``[L, K]`` from the chosen ones; ``valid`` is ``[L, K, A]``."""
        return action

    def metrics(self) -> Mapping[str, Tensor]:
        """Diagnostics ``[L]`` by name."""
        return {}


class EpsilonGreedy(Exploration):
    """Uniformly random valid actions with probability ε, which decays linearly.

    Args:
        seeds: one per lane.
        n_actions: A.
        clock: the step, of K actors.
        initial: ε until step ``start``.
        final: ε after the decay.
        start: step from which the decay is counted.
        decay_steps: length of the decay.
        random_until: ε stays ``initial`` before this step, wherever the decay is counted from.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        n_actions: int,
        clock: Clock,
        *,
        initial: float,
        final: float,
        start: int,
        decay_steps: int,
        random_until: int = 0,
    ) -> None:
        self._lanes, self._n_actions, self._clock = len(seeds), n_actions, clock
        self._decay, self._random_until = (initial, final, start, decay_steps), random_until
        self._u = Uniform(seeds, "explore", (clock.actors, 2), clock.tensor.device)

    @property
    def epsilon(self) -> Tensor:
        """ε at the coming step, ``[]``."""
        t = self._clock.tensor
        epsilon = linear_schedule(t, *self._decay)
        initial, _, start, _ = self._decay
        if self._random_until <= start:
            return epsilon
        return torch.where(t < self._random_until, initial, epsilon)

    @property
    def epsilon_now(self) -> np.float32:
        """The same of the host's numbers, bit for bit: for kernels."""
        (initial, final, start, steps), t = self._decay, self._clock.t
        if start < self._random_until and t < self._random_until:
            return np.float32(initial)
        share = min(max(np.float32(t - start) / np.float32(steps), np.float32(0)), np.float32(1))
        return np.float32(initial) + share * np.float32(final - initial)

    def noise(self) -> Tensor:
        """``[L, K, 2]`` uniform in [0, 1): whether to explore, and which action."""
        return self._u.at(self._clock)

    def explore(self, action: Tensor, noise: Tensor, valid: Tensor | None = None) -> Tensor:
        """The action, or with probability ε a random valid one."""
        return epsilon_random(action, self._n_actions, noise, self.epsilon, valid)

    def metrics(self) -> Mapping[str, Tensor]:
        """The current ε."""
        return {"epsilon": self.epsilon.expand(self._lanes)}
