"""Which of two is better, a policy in a state or another in another, and how sure is one of it?

Koul et al. 2021, "Offline policy comparison with confidence", with the area under risk over
coverage as its score. Pairs are all of (state, policy) whose true values are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

TOLD_APART = 3.0
"""Standard errors between two true values of a pair."""
NARROWEST = 1e-9
"""Least width of a difference; where all are 0, pairs are ordered by their means."""
ROUNDING = 1e-6
"""A difference of means below this share of the largest is none: means are of float32 numbers."""


def told_apart(values: Tensor, var: Tensor) -> Tensor:
    """Pairs of true values ``[V]`` with squared standard errors ``[V]``: indices ``[2, P]``."""
    pairs = torch.triu_indices(len(values), len(values), 1)
    apart = (values[pairs[0]] - values[pairs[1]]).abs()
    return pairs[:, apart > TOLD_APART * (var[pairs[0]] + var[pairs[1]]).sqrt()]


def area(wrong: Tensor, confidence: Tensor) -> Tensor:
    """Mean over coverages k/P of the share wrong among the k most confident, ``[L]``.

    Pairs of one confidence, as float32, are in a random order, on average: each has their mean.

    Args:
        wrong: of each pair 1, ½ where no answer is given, or 0: ``[L, P]``.
        confidence: ``[L, P]``.
    """
    each = []
    for of, sure in zip(wrong, confidence.float(), strict=True):
        _, tie, count = sure.unique(return_inverse=True, return_counts=True)
        mean = torch.zeros_like(count, dtype=of.dtype).index_add(0, tie, of) / count
        each.append(mean.flip(0).repeat_interleave(count.flip(0)))
    count = torch.arange(1, wrong.shape[-1] + 1, dtype=wrong.dtype)
    return (torch.stack(each).cumsum(-1) / count).mean(-1)


def pair_scores(
    mean: Tensor, std: Tensor | None, samples: Tensor | None, values: Tensor, pairs: Tensor
) -> Mapping[str, Tensor]:
    """Scores ``[L]`` by name.

    - ``pairs_wrong``: share of pairs of which the worse is called better;
    - ``pairs_risk``: mean of that share among the most confident, over coverages; the confidence
      is the difference of means over the deviation of the difference: of samples where there
      are any, else of independent values; of what states no widths, the difference alone;
    - ``pairs_gain``: by how much that is below the same by the difference alone: what the widths
      add, 0 for one width.

    Args:
        mean: of V, ``[L, V]``.
        std: likewise; None where no widths are stated.
        samples: ``[L, V, C]``, or None.
        values: the true ones, ``[V]``.
        pairs: indices ``[2, P]``.
    """
    first, second = pairs
    difference = mean[:, first] - mean[:, second]
    told = difference.abs() > ROUNDING * mean.abs().amax(-1, keepdim=True)
    difference = difference.where(told, 0.0)
    right = (values[first] - values[second]).sign()
    wrong = (1 - difference.sign() * right) / 2
    by_mean = area(wrong, difference.abs())
    found = {"pairs_wrong": wrong.mean(-1), "pairs_risk": by_mean}
    if std is not None:
        width = (std[:, first].square() + std[:, second].square()).sqrt()
        if samples is not None:
            each = [(one[first] - one[second]).std(-1) for one in samples]
            width = torch.stack(each)
        found["pairs_risk"] = area(wrong, difference.abs() / width.clamp(min=NARROWEST))
    return {**found, "pairs_gain": by_mean - found["pairs_risk"]}
