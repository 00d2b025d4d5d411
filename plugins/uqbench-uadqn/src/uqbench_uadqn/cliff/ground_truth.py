"""Exact action values and return distributions of the windy cliff, as an agent observes them.

Under the paper's limit of 15 steps, which is terminal. A return is known from the number of further
steps and whether they end at the goal: two atoms for each of 15 numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from uqbench.contract.environment import OptimalQ
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import ACTIONS, CELLS, GOAL, GOAL_REWARD, START, STEP_REWARD, grid
from uqbench_uadqn.cliff.truth import HORIZON, optimal_values


def optimal_q(config: CliffConfig, discount: float) -> OptimalQ:
    """Q* and the optimal policy's return distributions, in every state of an episode."""
    values = optimal_values(config, discount=discount)
    probs = return_probs(config, values.argmax(-1))
    t, cell = reachable(config).nonzero(as_tuple=True)
    obs = torch.cat([F.one_hot(cell, CELLS), t[:, None]], -1).float()
    atoms = return_atoms(discount).expand(len(t), values.shape[-1], -1)
    return OptimalQ(obs, values[t, cell], atoms, probs[t, cell])


def reachable(config: CliffConfig) -> Tensor:
    """Whether an episode can be in a cell after t steps, ``[HORIZON, CELLS]`` bool."""
    tables = grid(config)
    standing = torch.zeros(HORIZON, CELLS, dtype=torch.bool)
    standing[0, START] = True
    for t in range(1, HORIZON):
        survives = standing[t - 1, :, None] & (tables.fall < 1)
        standing[t, tables.leads_to[survives]] = True
        standing[t, GOAL] = False
    return standing


def return_atoms(discount: float) -> Tensor:
    """Returns of 1, …, HORIZON steps, first those that end off the goal, ``[2 · HORIZON]``."""
    powers = discount ** torch.arange(HORIZON, dtype=torch.float64)
    costs = STEP_REWARD * powers.cumsum(0)
    return torch.cat([costs, costs + GOAL_REWARD * powers])


def return_probs(config: CliffConfig, policy: Tensor) -> Tensor:
    """Probabilities of these returns for each action, then those of ``policy``.

    ``[HORIZON, CELLS, ACTIONS, 2 · HORIZON]``, backwards in time, of actions ``[HORIZON, CELLS]``.
    """
    tables = grid(config)
    probs = torch.zeros(*policy.shape, ACTIONS, 2, HORIZON, dtype=torch.float64)
    following = torch.zeros(CELLS, 2, HORIZON, dtype=torch.float64)
    every = torch.arange(CELLS)
    for t in reversed(range(HORIZON)):
        stays = (1 - tables.fall)[..., None, None]
        after = following[tables.leads_to]  # the return of one step less
        probs[t, ..., 1:] = stays * after[..., :-1]
        probs[t, ..., 0, 0] = tables.fall
        arrives = tables.leads_to == GOAL
        probs[t, ..., 1, 0] += (1 - tables.fall) * arrives
        if t == HORIZON - 1:
            probs[t, ..., 0, 0] += (1 - tables.fall) * ~arrives
        following = probs[t, every, policy[t]]
        following[GOAL] = 0.0
    return probs.flatten(-2)
