"""A table of bandits whose posterior is known: a fixed number of rewards of each, and no choice.

Every state is an episode of one step, in which one action alone is valid: what is learned from is
the world's choice, the same for every method. Once all rewards were seen, a state of rest follows,
so that a learner may go on learning from what it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional as F

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.contract.specs import NoConfig
from uqbench.lanes import generators
from uqbench_profile.laws import Law


class Kind(NamedTuple):
    """What states of a kind pay: ``μ ± gap`` with equal chances, plus ``N(0, σ²)``.

    Attributes:
        data: n, rewards of each action; 0 for states that are never seen.
        noise: σ.
        gap: of the two modes; 0 for one.
    """

    data: int
    noise: float
    gap: float = 0.0


FEW, MANY = 4, 64
QUIET, LOUD = 0.5, 2.0
CELLS = (Kind(FEW, QUIET), Kind(MANY, QUIET), Kind(FEW, LOUD), Kind(MANY, LOUD))
"""Noise × data: where the posterior of μ is normal and known."""
KINDS = (*CELLS, Kind(MANY, 0.0), Kind(MANY, 0.0, 1.5), Kind(0, QUIET))
EACH = 4
"""States of each kind."""
STATES = EACH * len(KINDS)
ACTIONS = 2


@dataclass(frozen=True)
class Table:
    """The bandits of L lanes and the rewards that are seen of them.

    Attributes:
        kind: of each state, a place in ``KINDS``, ``[L, S]``.
        mu: μ ~ N(0, 1), ``[L, S, A]`` float64.
        rewards: ``[L, S, A, n]`` float64, of which a state's kind says how many are seen.
        order: states, actions and numbers of the rewards in the order in which they are seen,
            ``[L, D, 3]``.
    """

    kind: Tensor
    mu: Tensor
    rewards: Tensor
    order: Tensor

    @classmethod
    def drawn(cls, seeds: Sequence[int]) -> Table:
        """From each lane's seed alone."""
        lanes = [_lane(rng) for rng in generators(seeds, "bandit table", 0)]
        return cls(*(torch.from_numpy(np.stack(part)) for part in zip(*lanes, strict=True)))

    def of_kind(self, attribute: str) -> Tensor:
        """``data``, ``noise`` or ``gap`` of every state, ``[L, S, 1]`` float64."""
        values = torch.tensor([getattr(kind, attribute) for kind in KINDS], dtype=torch.float64)
        return values[self.kind][..., None]

    def laws(self) -> Law:
        """Laws of the rewards, ``[L, S, A, 2]``."""
        gap = self.of_kind("gap")[..., None] * torch.tensor([-1.0, 1.0], dtype=torch.float64)
        means = self.mu[..., None] + gap
        stds = self.of_kind("noise")[..., None].expand_as(means)
        return Law(torch.full_like(means, 0.5), means, stds)


def _lane(rng: np.random.Generator) -> tuple[np.ndarray[Any, Any], ...]:
    kind = rng.permutation(np.repeat(np.arange(len(KINDS)), EACH))
    mu = rng.standard_normal((STATES, ACTIONS))
    noise = rng.standard_normal((STATES, ACTIONS, MANY))
    sign = 2.0 * rng.integers(2, size=noise.shape) - 1
    of = [KINDS[one] for one in kind]
    rewards = mu[..., None] + noise * np.array([one.noise for one in of])[:, None, None]
    rewards += sign * np.array([one.gap for one in of])[:, None, None]
    seen = [(s, a, n) for s, one in enumerate(of) for a in range(ACTIONS) for n in range(one.data)]
    return kind, mu, rewards, rng.permutation(np.array(seen, np.int64))


class BanditTable(LaneEnv):
    """Rewards of bandits, in a random order and each once; then rest.

    Observations are states, one-hot, ``[L, S + 1]``; the last one is rest, which pays nothing.

    Source: uqbench; the linear-Gaussian model at γ = 0
    """

    n_actions = ACTIONS
    observation_space = spaces.Box(0, 1, (STATES + 1,), np.float32)

    def __init__(
        self,
        config: NoConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self._device = device or torch.device("cpu")
        table = Table.drawn(seeds)
        self._order = table.order.to(self._device)
        lane = torch.arange(len(seeds))[:, None]
        self._rewards = table.rewards[lane, *table.order.unbind(-1)].float().to(self._device)
        self._t = 0

    def reset(self) -> tuple[Tensor, Tensor]:
        """Start with the first reward's state."""
        self._t = 0
        return self._observed()

    def step(self, action: Tensor) -> Outcome:
        """Pay, and go to the next.

        Raises:
            ValueError: an action is not the valid one.
        """
        obs, valid = self._observed()
        if not bool(valid.gather(-1, action[:, None]).all()):
            raise ValueError(f"expected the one action that is valid, got {action.tolist()}")
        rest = self._t >= self._order.shape[1]
        reward = torch.zeros(len(obs)) if rest else self._rewards[:, self._t]
        ended = torch.ones(len(obs), dtype=torch.bool, device=self._device)
        self._t += 1
        following, next_valid = self._observed()
        return Outcome(
            reward=reward.to(self._device),
            terminated=ended,
            truncated=torch.zeros_like(ended),
            next_obs=obs,
            obs=following,
            next_valid=valid,
            valid=next_valid,
        )

    def _observed(self) -> tuple[Tensor, Tensor]:
        lanes, data = self._order.shape[:2]
        if self._t < data:
            state, action, _ = self._order[:, self._t].unbind(-1)
        else:
            state = torch.full((lanes,), STATES, device=self._device)
            action = torch.zeros_like(state)
        valid = F.one_hot(action, ACTIONS).bool()
        return F.one_hot(state, STATES + 1).float(), valid

    def state_dict(self) -> dict[str, Any]:
        """The step."""
        return {"t": self._t}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t = state["t"]
