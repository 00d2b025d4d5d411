"""What is known of the decision before any data: its structure, and how rewards vary.

Figure 1 of the paper: the first action at the root gives a reward from ``N(μ₁, σ²)`` and ends; the
second leads into an infinite chain whose states give rewards from ``N(μ₂, σ² (1 − γ²))``. The
states of the chain are alike, so that one with a loop stands for all of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench_ube.equation import solve_uncertainty

ONE_REWARD, CHAIN = 0, 1
"""The actions at the root."""


def uncertainty_per_visit(sigma: float, discount: float) -> Tensor:
    """Uncertainty of the root's actions after one visit each, ``[2]``; after n it is that over n.

    Local uncertainties are the variances of the rewards over the visits. Both are σ².
    """
    return _root(_reward_vars(sigma, discount), discount)


def bonus_per_visit(sigma: float, discount: float) -> Tensor:
    """The exploration bonus of the root's actions after one visit each, ``[2]``.

    After n it is that over √n. Standard deviations of the rewards, added up along the chain as
    values are: discounted once where uncertainties are discounted twice. The second is
    ``√((1 + γ) / (1 − γ)) σ``, the first σ.
    """
    return _root(_reward_vars(sigma, discount).sqrt(), discount**0.5)


def _root(local: Tensor, discount: float) -> Tensor:
    """The root's part of the solution of ``x = local + discount² P x``."""
    transitions = torch.zeros(2, 2, 2, dtype=torch.float64)
    transitions[0, CHAIN, 1] = 1
    transitions[1, :, 1] = 1
    policy = torch.full((2, 2), 0.5, dtype=torch.float64)  # in the chain both actions are one
    return solve_uncertainty(local, policy, transitions, discount)[0]


def _reward_vars(sigma: float, discount: float) -> Tensor:
    """Variances of rewards ``[S, A]``: at the root, and in the chain."""
    of_chain = sigma**2 * (1 - discount**2)
    return torch.tensor([[sigma**2, of_chain], [of_chain, of_chain]], dtype=torch.float64)
