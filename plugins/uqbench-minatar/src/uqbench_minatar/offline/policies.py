"""Ten given policies: the game's script, with more and more of its actions random."""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench_minatar.agents.script import SCRIPTS
from uqbench_minatar.config import N_ACTIONS

POLICIES = 10
EPSILONS = tuple(k / (POLICIES - 1) for k in range(POLICIES))
"""Share of actions drawn uniformly, of each policy: from none to all."""
DISCOUNT = 0.9


def scripted(game: str, obs: Tensor) -> Tensor:
    """The script's actions ``[*]`` for frames ``[*, C, 10, 10]``."""
    _, script = SCRIPTS[game]
    return script(obs.bool())


def taken(scripted_action: Tensor, policy: Tensor, explores: Tensor, which: Tensor) -> Tensor:
    """Actions of policies, from uniform numbers.

    Args:
        scripted_action: ``[*]``.
        policy: their numbers, ``[*]``.
        explores: uniform in [0, 1), ``[*]``: random below the policy's ε.
        which: uniform in [0, 1), ``[*]``: the action then.
    """
    random = (which * N_ACTIONS).long()
    return torch.where(explores < torch.tensor(EPSILONS)[policy], random, scripted_action)


def probabilities(scripted_action: Tensor) -> Tensor:
    """Probabilities of every policy and action, ``[*, K, A]`` float64.

    The states are those with the actions ``[*]``.
    """
    epsilon = torch.tensor(EPSILONS, dtype=torch.float64)[:, None]
    sure = torch.nn.functional.one_hot(scripted_action, N_ACTIONS).double()[..., None, :]
    return (1 - epsilon) * sure + epsilon / N_ACTIONS
