"""Predictive uncertainty of classifiers, in nats (Schweighofer et al. 2023, section 2).

Everything is computed from log-probabilities, ``[..., C]``; members of a posterior sample lie along
the first dimension, ``[S, ..., C]``. Epistemic parts are divergences, not differences of entropies:
far from the boundary a difference would be rounding noise.
"""

from __future__ import annotations

from math import log

import torch
from torch import Tensor

from uqbench.estimator import PredictiveUncertainty


def entropy(log_probs: Tensor) -> Tensor:
    """``H[p] = −Σ_c p_c log p_c``."""
    return -(log_probs.exp() * log_probs).sum(-1)


def divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """``KL[p ‖ q] = Σ_c p_c (log p_c − log q_c)``."""
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def selected(members: Tensor) -> PredictiveUncertainty:
    """Setting (a), eq. 1: total ``H[E p]``, aleatoric ``E H[p]``, epistemic ``E KL[p ‖ E p]``."""
    log_mean = torch.logsumexp(members.movedim(0, -1).contiguous(), -1) - log(len(members))
    aleatoric, epistemic = _mean(entropy(members)), _mean(divergence(members, log_mean))
    return PredictiveUncertainty(
        aleatoric + epistemic, aleatoric, epistemic, log_mean.exp(), "nats"
    )


def given(reference: Tensor, members: Tensor) -> PredictiveUncertainty:
    """Setting (b), eq. 2: total ``E CE[p, q]``, aleatoric ``H[p]``, epistemic ``E KL[p ‖ q]``.

    ``p`` is the given model's prediction ``[..., C]``, ``q`` the members'.
    """
    aleatoric, epistemic = entropy(reference), _mean(divergence(reference, members))
    return PredictiveUncertainty(
        aleatoric + epistemic, aleatoric, epistemic, reference.exp(), "nats"
    )


def _mean(members: Tensor) -> Tensor:
    """Mean over the first dimension, in an order that does not depend on the lanes beside."""
    return members.movedim(0, -1).contiguous().mean(-1)
