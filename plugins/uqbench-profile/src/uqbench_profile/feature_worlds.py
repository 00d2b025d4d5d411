"""Worlds whose states have features: neighbours share what is learned, and counts do not help.

A state that is asked about was shown twice itself, or never; how much is known of it depends on how
often states of like features were shown, which is drawn apart. Features have norm 1, so that
neither their size nor a count says how much is known. Every seed rotates and pads the observations
and permutes the actions: no world is recognized by them.

Shapes: ``L`` lanes, ``N`` rewards, ``M`` states asked about, ``A`` actions, ``F`` numbers of an
observation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.lanes import generators
from uqbench_profile.config import FeatureConfig

Array = NDArray[np.float64]

ACTIONS, ASKED, WIDTH = 2, 32, 12
"""A, M, F."""
SIGMA = 1.0
"""Noise of a reward."""
SHOWN = 2
"""Rewards of each state and action that is asked about and was shown; half of them are."""
CLUSTERS, SPREAD = (4, 4, 8, 8, 24, 24, 72, 72), 0.15
"""Rewards of each action in states near each of eight directions, and how near these are."""
ARCS = (8, 16, 48, 144)
"""Rewards of each action on each quarter of the ring."""
HARMONICS, SMOOTH = 4, 0.6
"""Harmonics of the ring's features, and the length over which rewards are alike, in radians."""
TURN = 2 * math.pi / 16
"""Where a state of the ring leads."""


@dataclass(frozen=True)
class FeatureWorld:
    """The worlds of L lanes; float64 where not told otherwise.

    Attributes:
        obs: of the states shown, ``[L, N, F]``.
        action: the one that was valid there, ``[L, N]`` int64.
        reward: ``[L, N]``.
        following: observation of the state that follows, ``[L, N, F]``.
        asked: observations of the states that are asked about, ``[L, M, F]``.
        after: of those that follow them, ``[L, M, F]``.
        count: how often an asked state's action was shown in it, ``[L, M, A]``.
        weights: w, ``[L, A, F]``.
        policy: the action that is valid in every state that follows, ``[L]`` int64.
    """

    obs: Tensor
    action: Tensor
    reward: Tensor
    following: Tensor
    asked: Tensor
    after: Tensor
    count: Tensor
    weights: Tensor
    policy: Tensor

    @classmethod
    def drawn(cls, config: FeatureConfig, seeds: Sequence[int]) -> FeatureWorld:
        """From each lane's seed alone."""
        ring = config.family == "ring"
        lanes = [
            _lane(rng, _ring(rng) if ring else _clusters(rng), config)
            for rng in generators(seeds, f"feature world/{config.family}", 0)
        ]
        return cls(*(torch.from_numpy(np.stack(part)) for part in zip(*lanes, strict=True)))


def mean_reward(config: FeatureConfig, linear: Tensor) -> Tensor:
    """The mean reward of a state and action whose ``φᵀ w_a`` is ``linear`` ``[...]``."""
    return functional.softplus(2 * linear) if config.family == "softplus" else linear


def slope(config: FeatureConfig, linear: Tensor) -> Tensor:
    """The derivative of ``mean_reward``, ``[...]``."""
    nonlinear = config.family == "softplus"
    return 2 * torch.sigmoid(2 * linear) if nonlinear else torch.ones_like(linear)


@dataclass(frozen=True)
class _States:
    """States by their features: of a region, with those that are asked about first.

    Attributes:
        regions: how many rewards of an action there are in each.
        draw: a number of states of a region, as the arguments of ``features``.
        features: of states and of those that follow them, ``[..., D]`` each.
    """

    regions: tuple[int, ...]
    draw: Callable[[int, int], Array]
    features: Callable[[Array], tuple[Array, Array]]


def _clusters(rng: np.random.Generator) -> _States:
    directions = np.eye(len(CLUSTERS))

    def draw(region: int, count: int) -> Array:
        near: Array = directions[region] + SPREAD * rng.standard_normal((count, len(CLUSTERS)))
        near /= np.linalg.norm(near, axis=-1, keepdims=True)
        return near

    return _States(CLUSTERS, draw, lambda states: (states, states))


def _ring(rng: np.random.Generator) -> _States:
    harmonics = np.arange(HARMONICS + 1)
    power = np.exp(-0.5 * (harmonics * SMOOTH) ** 2)
    size = np.sqrt(power / power.sum())
    start = rng.uniform(0, 2 * math.pi)

    def draw(region: int, count: int) -> Array:
        angles: Array = start + 2 * math.pi * (region + rng.uniform(size=(count, 1))) / len(ARCS)
        return angles

    def at(angles: Array) -> Array:
        turned = angles * harmonics
        found: Array = np.concatenate([size * np.cos(turned), (size * np.sin(turned))[..., 1:]], -1)
        return found

    return _States(ARCS, draw, lambda angles: (at(angles), at(angles + TURN)))


def _lane(rng: np.random.Generator, of: _States, config: FeatureConfig) -> tuple[Any, ...]:
    regions = range(len(of.regions))
    each = ASKED // len(of.regions)
    asked = [of.draw(region, each) for region in regions]
    shown: list[Array] = []
    actions: list[int] = []
    count = np.zeros((len(of.regions), each, ACTIONS))
    for action in range(ACTIONS):
        levels = rng.permutation(of.regions)
        for region in regions:
            again = rng.permutation(each)[: each // 2]
            count[region, again, action] = SHOWN
            others = of.draw(region, levels[region] - SHOWN * len(again))
            shown += [np.repeat(asked[region][again], SHOWN, 0), others]
            actions += [action] * levels[region]
    order = rng.permutation(len(actions))
    states, taken = np.concatenate(shown)[order], np.array(actions)[order]
    (features, following), (known, after) = of.features(states), of.features(np.concatenate(asked))
    rotation = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0][: features.shape[-1]]
    weights = rng.standard_normal((ACTIONS, WIDTH))
    obs = features @ rotation
    linear = torch.from_numpy((obs * weights[taken]).sum(-1))
    reward = mean_reward(config, linear).numpy() + SIGMA * rng.standard_normal(len(taken))
    return (
        obs, taken, reward, following @ rotation, known @ rotation, after @ rotation,
        count.reshape(ASKED, ACTIONS), weights, np.array(rng.integers(ACTIONS)),
    )  # fmt: skip


class FeatureLanes(LaneEnv):
    """Rewards of states that have features, each once and of one valid action; then rest.

    Every step is an episode of its own. In bandits it ends there; on the ring it is cut, and the
    next state, where the policy's action is valid, follows. In rest observations are zero.

    Source: uqbench; Bayesian linear regression, Bishop 2006, section 3.3
    """

    n_actions = ACTIONS
    observation_space = spaces.Box(-1, 1, (WIDTH,), np.float32)

    def __init__(
        self,
        config: FeatureConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self._device = device or torch.device("cpu")
        world = FeatureWorld.drawn(config, seeds)
        self._goes_on = config.family == "ring"
        self._lanes, self._count = world.action.shape

        def kept(value: Tensor) -> Tensor:
            return value.float().to(self._device)

        self._obs, self._next, self._reward = map(kept, (world.obs, world.following, world.reward))
        self._action = world.action.to(self._device)
        policy = world.policy.to(self._device)
        self._policy = functional.one_hot(policy, ACTIONS).bool()
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
        t, rests = self._t, self._t >= self._count
        goes_on = self._goes_on and not rests
        cut = torch.full((self._lanes,), goes_on, device=self._device)
        self._t += 1
        following, next_valid = self._observed()
        return Outcome(
            reward=torch.zeros_like(self._reward[:, 0]) if rests else self._reward[:, t],
            terminated=~cut,
            truncated=cut,
            next_obs=self._next[:, t] if goes_on else obs,
            obs=following,
            next_valid=self._policy if goes_on else valid,
            valid=next_valid,
        )

    def _observed(self) -> tuple[Tensor, Tensor]:
        if self._t >= self._count:
            first = torch.zeros(self._lanes, dtype=torch.int64, device=self._device)
            return torch.zeros_like(self._obs[:, 0]), functional.one_hot(first, ACTIONS).bool()
        valid = functional.one_hot(self._action[:, self._t], ACTIONS).bool()
        return self._obs[:, self._t], valid

    def state_dict(self) -> dict[str, Any]:
        """The step."""
        return {"t": self._t}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t = state["t"]
