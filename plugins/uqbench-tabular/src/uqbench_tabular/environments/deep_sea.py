"""DeepSea, continuing (Markou & Rasmussen, app. DeepSea; after Osband et al.)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from uqbench.contract.environment import TimeLimit
from uqbench_tabular.environments.config import DeepSeaConfig
from uqbench_tabular.environments.world import World, WorldLanes
from uqbench_tabular.planning import MDP

LEFT, RIGHT = 0, 1


def deep_sea(config: DeepSeaConfig) -> World:
    """The exact model: ``left`` pays 0, ``right`` −δ, and 1 on success at the far end.

    ``δ = 0.1 e^(−N/4)`` is also the standard deviation of every reward. ``left`` always succeeds;
    ``right`` succeeds with probability 1 − 1/N and leads to the left otherwise. From the far end
    success leads to the first state. Right everywhere is optimal for γ = 0.9 and N up to 40.
    """
    n = config.states
    delta = 0.1 * math.exp(-n / 4)
    transitions = torch.zeros(n, 2, n, dtype=torch.float64)
    rewards = torch.zeros_like(transitions)
    for state in range(n):
        behind, ahead = max(state - 1, 0), (state + 1) % n
        transitions[state, LEFT, behind] = 1
        transitions[state, RIGHT, behind] = 1 / n
        transitions[state, RIGHT, ahead] = 1 - 1 / n
        rewards[state, RIGHT] = -delta
    rewards[n - 1, RIGHT, 0] = 1
    mdp = MDP(transitions, rewards, torch.ones(n, 2, dtype=torch.bool))
    return World(mdp, torch.full_like(rewards, delta), config.oracle_discount)


def make_lanes(
    config: DeepSeaConfig, seeds: Sequence[int], limit: TimeLimit | None, device: torch.device
) -> WorldLanes:
    """N states in a row, continuing; every step toward the reward costs a little.

    Source: Markou & Rasmussen 2019, DeepSea
    """
    return WorldLanes(deep_sea(config), seeds, limit, device)
