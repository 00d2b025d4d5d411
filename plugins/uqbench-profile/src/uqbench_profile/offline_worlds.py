"""Logged data of a ring whose states have features, and ten given policies to be valued by it.

A step to the left or right leads to the next of 24 states and pays ``φᵀ w_a`` plus noise; γ = .9.
Trajectories were logged by one or all of the policies. An observation is a state and the number
of a policy, one-hot: every logged transition is shown once for each policy, whose own action is the
valid one in the state that follows. So any learner of Q-values evaluates all ten at once, offline.

Policies are linear in what is observed and the same in all worlds; every seed rotates the features,
so that to each world they are others.

Shapes: ``K`` policies, ``S`` states, ``N`` logged transitions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.lanes import generators
from uqbench_profile.config import OfflineConfig
from uqbench_profile.feature_worlds import ACTIONS, HARMONICS, SIGMA, SMOOTH, WIDTH

STATES, POLICIES, LENGTH = 24, 10, 10
"""S, K, and the steps of a trajectory; one starts in every state."""
DISCOUNT = 0.9
"""γ by which the best and the worst policy are those who log."""
EXPLORES = 0.2
"""Share of logged actions that are random."""
GIVEN = torch.from_numpy(np.random.Generator(np.random.Philox(2024)).normal(size=(POLICIES, WIDTH)))
"""``π_k(s) = 1`` where ``φ(s)ᵀ v_k > 0``: the v, ``[K, F]`` float64, which everybody knows."""


@dataclass(frozen=True)
class OfflineWorld:
    """The worlds of L lanes.

    Attributes:
        features: φ of every state, ``[L, S, F]`` float64.
        successor: of every state and action, ``[L, S, A]`` int64.
        policies: actions, ``[L, K, S]`` int64.
        weights: w, ``[L, A, F]``.
        state: of each logged transition, ``[L, N]`` int64,
        action: ``[L, N]`` int64,
        reward: ``[L, N]`` float64,
        order: in which pairs of transitions and policies are shown, ``[L, N · K]`` int64.
    """

    features: Tensor
    successor: Tensor
    policies: Tensor
    weights: Tensor
    state: Tensor
    action: Tensor
    reward: Tensor
    order: Tensor

    @classmethod
    def drawn(cls, config: OfflineConfig, seeds: Sequence[int]) -> OfflineWorld:
        """From each lane's seed alone."""
        rngs = generators(seeds, f"offline world/{config.coverage}", 0)
        lanes = [_lane(rng, config) for rng in rngs]
        return cls(*(torch.from_numpy(np.stack(part)) for part in zip(*lanes, strict=True)))

    def values(self, discount: float) -> Tensor:
        """Q of every policy, ``[L, K, S, A]``."""
        rewards = self.features @ self.weights.mT
        of = resolvent(self.successor, self.policies, discount)
        q: Tensor = (of @ rewards.flatten(1)[:, None, :, None]).squeeze(-1)
        of_states: Tensor = q.unflatten(-1, (STATES, ACTIONS))
        return of_states


def resolvent(successor: Tensor, policies: Tensor, discount: float) -> Tensor:
    """``G`` such that ``Q = G r``, ``(I − γ P_π)⁻¹``: ``[L, K, S · A, S · A]``.

    Args:
        successor: ``[L, S, A]``.
        policies: ``[L, K, S]``.
        discount: γ.
    """
    count, states = policies.shape[1:]
    after = successor.flatten(1)[:, None].expand(-1, count, -1)
    pair = after * ACTIONS + policies.gather(2, after)
    moves = functional.one_hot(pair, states * ACTIONS).double()
    identity = torch.eye(states * ACTIONS, dtype=torch.float64)
    found: Tensor = torch.linalg.inv(identity - discount * moves)
    return found


def given_policies(features: Tensor) -> Tensor:
    """Actions of the ten policies in states with features ``[..., S, F]``: ``[..., K, S]``."""
    return (GIVEN @ features.mT > 0).long()


def _lane(rng: np.random.Generator, config: OfflineConfig) -> tuple[np.ndarray[Any, Any], ...]:
    harmonics = np.arange(HARMONICS + 1)
    power = np.exp(-0.5 * (harmonics * SMOOTH) ** 2)
    size = np.sqrt(power / power.sum())
    angles = rng.uniform(0, 2 * math.pi) + 2 * math.pi * np.arange(STATES) / STATES
    turned = angles[:, None] * harmonics
    plain = np.concatenate([size * np.cos(turned), (size * np.sin(turned))[:, 1:]], -1)
    features = plain @ np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0][: plain.shape[-1]]
    steps = np.array([1, -1])[rng.permutation(ACTIONS)]
    successor = (np.arange(STATES)[:, None] + steps) % STATES
    weights = rng.standard_normal((ACTIONS, WIDTH))
    policies = given_policies(torch.from_numpy(features)).numpy()
    of = [torch.from_numpy(x)[None] for x in (features, successor, policies, weights)]
    none = [torch.zeros(1, 0)] * 4
    worth = policy_values(OfflineWorld(*of, *none), DISCOUNT)[0].numpy()
    behaviour = {"expert": [int(worth.argmax())], "poor": [int(worth.argmin())]}
    chosen = behaviour.get(config.coverage, list(range(POLICIES)))
    states, actions = [], []
    for start in range(STATES):
        state, actor = start, policies[rng.choice(chosen)]
        for t in range(LENGTH):
            explores = rng.random() < EXPLORES
            action = int(rng.integers(ACTIONS)) if explores else int(actor[state])
            action = start % ACTIONS if t == 0 else action  # both actions are known everywhere
            states.append(state)
            actions.append(action)
            state = int(successor[state, action])
    logged, taken = np.array(states), np.array(actions)
    mean = (features[logged] * weights[taken]).sum(-1)
    reward = mean + SIGMA * rng.standard_normal(len(logged))
    order = rng.permutation(len(logged) * POLICIES)
    return features, successor, policies, weights, logged, taken, reward, order


def policy_values(world: OfflineWorld, discount: float) -> Tensor:
    """V of every policy, from a state drawn uniformly, ``[L, K]``."""
    q = world.values(discount)
    of_policy: Tensor = q.gather(-1, world.policies[..., None]).squeeze(-1)
    return of_policy.mean(-1)


def observed(features: Tensor) -> Tensor:
    """Observations of every policy and state, ``[..., K, S, F + K]``, of ``[..., S, F]``."""
    number = torch.eye(POLICIES, dtype=features.dtype)[:, None].expand(-1, STATES, -1)
    shape = features.shape[:-2]
    parts = (
        features.unsqueeze(-3).expand(*shape, POLICIES, STATES, WIDTH),
        number.expand(*shape, POLICIES, STATES, POLICIES),
    )
    return torch.cat(parts, -1)


class OfflineLanes(LaneEnv):
    """Logged transitions, each once for every policy, in a random order; then rest.

    Every step is an episode that is cut: the agent may only take the logged action. In rest
    observations are zero and every step is terminal.

    Source: uqbench; fitted Q evaluation, Le et al. 2019
    """

    n_actions = ACTIONS
    observation_space = spaces.Box(-1, 1, (WIDTH + POLICIES,), np.float32)

    def __init__(
        self,
        config: OfflineConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self._device = device or torch.device("cpu")
        world = OfflineWorld.drawn(config, seeds)
        number, policy = world.order // POLICIES, world.order % POLICIES
        lane = torch.arange(len(seeds))[:, None]
        state, action = world.state[lane, number], world.action[lane, number]
        after = world.successor[lane, state, action]
        seen = observed(world.features).float()
        self._obs = seen[lane, policy, state].to(self._device)
        self._next = seen[lane, policy, after].to(self._device)
        self._action = action.to(self._device)
        self._follows = world.policies[lane, policy, after].to(self._device)
        self._reward = world.reward[lane, number].float().to(self._device)
        self._t = 0

    def reset(self) -> tuple[Tensor, Tensor]:
        """Start with the first transition's state."""
        self._t = 0
        return self._observed()

    def step(self, action: Tensor) -> Outcome:
        """The logged reward and the state that followed.

        Raises:
            ValueError: an action is not the valid one.
        """
        obs, valid = self._observed()
        if not bool(valid.gather(-1, action[:, None]).all()):
            raise ValueError(f"expected the one action that is valid, got {action.tolist()}")
        t, logged = self._t, self._t < self._action.shape[1]
        cut = torch.full((len(obs),), logged, device=self._device)
        self._t += 1
        following, next_valid = self._observed()
        follows = functional.one_hot(self._follows[:, t], ACTIONS).bool() if logged else valid
        return Outcome(
            reward=self._reward[:, t] if logged else torch.zeros_like(self._reward[:, 0]),
            terminated=~cut,
            truncated=cut,
            next_obs=self._next[:, t] if logged else obs,
            obs=following,
            next_valid=follows,
            valid=next_valid,
        )

    def _observed(self) -> tuple[Tensor, Tensor]:
        if self._t >= self._action.shape[1]:
            first = torch.zeros_like(self._action[:, 0])
            return torch.zeros_like(self._obs[:, 0]), functional.one_hot(first, ACTIONS).bool()
        return self._obs[:, self._t], functional.one_hot(self._action[:, self._t], ACTIONS).bool()

    def state_dict(self) -> dict[str, Any]:
        """The step."""
        return {"t": self._t}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t = state["t"]
