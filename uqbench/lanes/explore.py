"""Choosing actions from values, with and without exploration."""

from __future__ import annotations

import torch
from torch import Tensor


def linear_schedule(t: Tensor, first: float, last: float, start: int, length: int) -> Tensor:
    """``first`` until step ``start``, then linearly to ``last`` over ``length`` steps.

    Args:
        t: the step, ``[]``: a clock's tensor.
        first: value up to ``start``.
        last: value from ``start + length`` on.
        start: first step of the change.
        length: steps of the change.
    """
    return first + ((t - start) / length).clamp(0, 1) * (last - first)


def greedy(values: Tensor, valid: Tensor | None = None) -> Tensor:
    """The valid action with the highest value: ``[..., A] -> [...]``; ties go to the lowest."""
    if valid is not None:
        values = values.masked_fill(~valid, -torch.inf)
    return values.argmax(-1)


def epsilon_greedy(
    values: Tensor, u: Tensor, epsilon: float | Tensor, valid: Tensor | None = None
) -> Tensor:
    """With probability ε a uniformly random valid action, else the greedy one.

    Args:
        values: ``[L, A]``.
        u: ``[L, 2]`` uniform in [0, 1): whether to explore, and where to.
        epsilon: probability of a random action.
        valid: ``[L, A]`` bool; None where all are.
    """
    return epsilon_random(greedy(values, valid), values.shape[-1], u, epsilon, valid)


def epsilon_random(
    action: Tensor,
    n_actions: int,
    u: Tensor,
    epsilon: float | Tensor,
    valid: Tensor | None = None,
) -> Tensor:
    """With probability ε a uniformly random valid action instead of ``action`` ``[L]``.

    The other arguments are those of ``epsilon_greedy``; ``n_actions`` is A.
    """
    if valid is None:
        random = (u[:, 1] * n_actions).long()
    else:
        nth = (u[:, 1:] * valid.sum(-1, keepdim=True)).floor() + 1
        # argmax of a bool is the first true entry: the n-th valid action
        random = (valid.cumsum(-1) >= nth).to(torch.uint8).argmax(-1)
    return torch.where(u[:, 0] < epsilon, random, action)
