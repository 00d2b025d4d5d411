"""A ring whose only randomness is the noise of its rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional as F

from uqbench.environment import Outcome, TimeLimit
from uqbench.truth import ExactTruth
from uqbench_tabular.environments.config import NoisyRingConfig
from uqbench_tabular.environments.ground_truth import truth_of_policies
from uqbench_tabular.environments.world import World, WorldLanes
from uqbench_tabular.planning import MDP

STATES = 4
STEP, JUMP = 0, 1


def noisy_ring(config: NoisyRingConfig) -> World:
    """``step`` leads to the next state, ``jump`` to the one after it; both for certain.

    A step from the last state pays 1 on average, a jump from the first ½, all else 0; every reward
    has the standard deviation σ, and so every policy's return ``σ / √(1 − γ²)`` in every state.
    """
    transitions = torch.zeros(STATES, 2, STATES, dtype=torch.float64)
    rewards = torch.zeros_like(transitions)
    for state in range(STATES):
        transitions[state, STEP, (state + 1) % STATES] = 1
        transitions[state, JUMP, (state + 2) % STATES] = 1
    rewards[STATES - 1, STEP] = 1.0
    rewards[0, JUMP] = 0.5
    mdp = MDP(transitions, rewards, torch.ones(STATES, 2, dtype=torch.bool))
    return World(mdp, torch.full_like(rewards, config.sigma), config.oracle_discount)


class NoisyRing(WorldLanes):
    """A ring of four states, one-hot, with noise in the rewards alone; for networks.

    Source: uqbench, after the decomposition of Clements et al. 2019, section 2
    """

    def __init__(
        self,
        config: NoisyRingConfig,
        seeds: Sequence[int],
        limit: TimeLimit | None,
        device: torch.device,
    ) -> None:
        super().__init__(noisy_ring(config), seeds, limit, device)
        self.observation_space = spaces.Box(0, 1, (STATES,), np.float32)

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Start in state 0."""
        state, valid = super().reset()
        return _one_hot(state), valid

    def step(self, action: Tensor) -> Outcome:
        """Take one step."""
        out = super().step(action)
        return replace(out, next_obs=_one_hot(out.next_obs), obs=_one_hot(out.obs))


def ring_truth(config: NoisyRingConfig, discount: float, _seeds: Sequence[int]) -> ExactTruth:
    """Values and variances of the return of any policy, in every state."""
    world = noisy_ring(config)
    evaluate = truth_of_policies(world.mdp, world.deviations.square(), discount)
    return ExactTruth(torch.eye(STATES), None, evaluate)


def _one_hot(state: Tensor) -> Tensor:
    return F.one_hot(state, STATES).float()
