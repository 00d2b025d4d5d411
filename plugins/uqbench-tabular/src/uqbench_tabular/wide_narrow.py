"""WideNarrow (Markou & Rasmussen, app. WideNarrow): where factored posteriors are wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.environment import TimeLimit
from uqbench_tabular.config import WideNarrowOptions
from uqbench_tabular.planning import MDP
from uqbench_tabular.world import World, WorldLanes


def wide_narrow(options: WideNarrowOptions) -> World:
    """The exact model: a cycle of 2N + 1 states in which every second one has W actions.

    All transitions are deterministic, to the next state. Of a wide state's actions the first pays
    μ_h on average; all other actions pay μ_l. The last state leads to the first and pays 0 without
    noise. Narrow states and the last have one action.
    """
    states = 2 * options.pairs + 1
    transitions = torch.zeros(states, options.width, states, dtype=torch.float64)
    for state in range(states):
        transitions[state, :, (state + 1) % states] = 1
    rewards = torch.full_like(transitions, options.low_reward)
    wide = torch.arange(0, states - 1, 2)
    rewards[wide, 0] = options.high_reward
    rewards[-1] = 0
    available = torch.zeros(states, options.width, dtype=torch.bool)
    available[:, 0] = True
    available[wide] = True
    deviations = torch.full_like(rewards, options.deviation)
    deviations[-1] = 0
    return World(MDP(transitions, rewards, available), deviations, options.oracle_discount)


def make_lanes(
    options: WideNarrowOptions, seeds: Sequence[int], limit: TimeLimit | None, device: torch.device
) -> WorldLanes:
    """WideNarrow for the harness."""
    return WorldLanes(wide_narrow(options), seeds, limit, device)
