"""Predictive uncertainty of classifiers, in nats (Schweighofer et al. 2023, section 2).

``probs`` are class probabilities along the last dimension; members of a posterior sample lie along
the first, ``[S, ..., C]``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench.estimator import PredictiveUncertainty


def entropy(probs: Tensor) -> Tensor:
    """``H[p] = −Σ_c p_c log p_c``, with ``0 log 0 = 0``."""
    terms: Tensor = torch.special.entr(probs)
    return terms.sum(-1)


def cross_entropy(probs: Tensor, others: Tensor) -> Tensor:
    """``CE[p, q] = −Σ_c p_c log q_c``."""
    terms: Tensor = torch.special.xlogy(probs, others)
    return -terms.sum(-1)


def selected(members: Tensor) -> PredictiveUncertainty:
    """Setting (a), eq. 1: total ``H[E p]``, aleatoric ``E H[p]``, epistemic their difference."""
    mean = members.mean(0)
    total, aleatoric = entropy(mean), entropy(members).mean(0)
    return PredictiveUncertainty(total, aleatoric, total - aleatoric, mean, "nats")


def given(reference: Tensor, members: Tensor) -> PredictiveUncertainty:
    """Setting (b), eq. 2: total ``E CE[p, q]``, aleatoric ``H[p]``, epistemic ``E KL[p ‖ q]``.

    ``p`` is the given model's prediction ``[..., C]``, ``q`` the members'.
    """
    total, aleatoric = cross_entropy(reference, members).mean(0), entropy(reference)
    return PredictiveUncertainty(total, aleatoric, total - aleatoric, reference, "nats")
