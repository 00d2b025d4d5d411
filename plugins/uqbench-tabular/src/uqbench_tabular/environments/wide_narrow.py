"""WideNarrow (Markou & Rasmussen, app. WideNarrow): where factored posteriors are wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.contract.environment import TimeLimit
from uqbench_tabular.environments.config import WideNarrowConfig
from uqbench_tabular.environments.world import World, WorldLanes
from uqbench_tabular.planning import MDP


def wide_narrow(config: WideNarrowConfig) -> World:
    """The exact model: a cycle of 2N + 1 states in which every second one has W actions.

    Every transition leads to the next state for certain. The first of a wide state's actions pays
    μ_h on average; all other actions pay μ_l. The last state leads to the first and pays 0 without
    noise. Narrow states and the last have one action.
    """
    states = 2 * config.pairs + 1
    transitions = torch.zeros(states, config.width, states, dtype=torch.float64)
    for state in range(states):
        transitions[state, :, (state + 1) % states] = 1
    rewards = torch.full_like(transitions, config.low_reward)
    wide = torch.arange(0, states - 1, 2)
    rewards[wide, 0] = config.high_reward
    rewards[-1] = 0
    available = torch.zeros(states, config.width, dtype=torch.bool)
    available[:, 0] = True
    available[wide] = True
    deviations = torch.full_like(rewards, config.deviation)
    deviations[-1] = 0
    return World(MDP(transitions, rewards, available), deviations, config.oracle_discount)


def make_lanes(
    config: WideNarrowConfig, seeds: Sequence[int], limit: TimeLimit | None, device: torch.device
) -> WorldLanes:
    """A cycle of wide and narrow states, whose values are strongly correlated.

    Source: Markou & Rasmussen 2019, WideNarrow
    """
    return WorldLanes(wide_narrow(config), seeds, limit, device)
