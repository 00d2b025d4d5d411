"""Predictive uncertainty in the two settings of Schweighofer et al. 2023, section 2 and B.1.

Classifiers predict log-probabilities ``[..., C]``, in nats; regressions means ``[...]``. The models
of a posterior sample lie along the first dimension, ``[S, ...]``, each with a weight ``[S, ...]``
where they do not count equally. Epistemic parts are computed as divergences, not as differences of
entropies: far from the boundary a difference would be rounding noise.
"""

from __future__ import annotations

from dataclasses import replace
from math import log, pi

import torch
from torch import Tensor

from uqbench.contract.estimator import PredictiveUncertainty, ReferenceModel


def entropy(log_probs: Tensor) -> Tensor:
    """``H[p] = −Σ_c p_c log p_c``."""
    return -(log_probs.exp() * log_probs).sum(-1)


def divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """``KL[p ‖ q] = Σ_c p_c (log p_c − log q_c)``, equation 10."""
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def gaussian_entropy(variance: Tensor) -> Tensor:
    """``½ log σ² + ½ log 2π + ½``: equation 24, which prints ``log 2π`` without the half."""
    return 0.5 * (variance.log() + log(2 * pi) + 1)


def gaussian_divergence(mean_p: Tensor, var_p: Tensor, mean_q: Tensor, var_q: Tensor) -> Tensor:
    """``½ log(σ_q²/σ_p²) + (σ_p² + (μ_p − μ_q)²) / (2 σ_q²) − ½``: equation 25's last line."""
    return 0.5 * ((var_q / var_p).log() + (var_p + (mean_p - mean_q).square()) / var_q - 1)


def setting_a(members: Tensor, weights: Tensor | None = None) -> PredictiveUncertainty:
    """Setting (a), equation 1: total ``H[E p]``, aleatoric ``E H[p]``, epistemic ``E KL[p ‖ E p]``.

    Args:
        members: log-probabilities ``[S, ..., C]``.
        weights: of the models, ``[S, ...]``, summing to one; None where all count equally.
    """
    log_weights = -log(len(members)) if weights is None else weights.log().unsqueeze(-1)
    log_mean = torch.logsumexp((members + log_weights).movedim(0, -1).contiguous(), -1)
    aleatoric = mean(entropy(members), weights)
    epistemic = mean(divergence(members, log_mean), weights)
    return PredictiveUncertainty(
        aleatoric + epistemic,
        aleatoric,
        epistemic,
        log_mean.exp(),
        "nats",
        highest=_highest(members),
        members=members.exp() if weights is None else None,
    )


def setting_b(
    reference: Tensor, members: Tensor, weights: Tensor | None = None
) -> PredictiveUncertainty:
    """Setting (b), equation 2: total ``E CE[p, q]``, aleatoric ``H[p]``, epistemic ``E KL[p ‖ q]``.

    Args:
        reference: log-probabilities p of the reference model, ``[..., C]``.
        members: those of the models q, ``[S, ..., C]``.
        weights: of the models, ``[S, ...]``, summing to one; None where all count equally.
    """
    aleatoric, epistemic = entropy(reference), mean(divergence(reference, members), weights)
    return PredictiveUncertainty(
        aleatoric + epistemic,
        aleatoric,
        epistemic,
        reference.exp(),
        "nats",
        highest=_highest(members),
    )


def classification(
    reference_model: ReferenceModel | None, inputs: Tensor, logits: Tensor
) -> PredictiveUncertainty:
    """Setting (b) for ``inputs`` ``[L, M, *x]``, or (a) where there is no reference model.

    Args:
        reference_model: of setting (b).
        inputs: ``[L, M, *x]``.
        logits: of models that count equally, ``[S, L, M, C]``.
    """
    members, own = logits.log_softmax(-1), energy(logits)
    if reference_model is None:
        return replace(setting_a(members), energy=own)
    return replace(setting_b(reference_model.log_probs(inputs), members), energy=own)


def energy(logits: Tensor) -> Tensor:
    """``−log Σ_c exp f_c``, the mean over models: ``[S, ..., C] -> [...]``; Weitang Liu et al.."""
    return mean(-torch.logsumexp(logits, -1))


def regression(means: Tensor, noise_var: Tensor) -> PredictiveUncertainty:
    """A regression in setting (a): total ``Var y``, aleatoric ``σ̂²``, epistemic ``Var_w μ``.

    Args:
        means: of models that count equally, ``[S, ...]``.
        noise_var: σ̂² of equation 28, of a shape that broadcasts to ``[...]``.
    """
    center = mean(means)
    spread = mean((means - center).square())
    return replace(values(center, spread, noise_var), members=means.unsqueeze(-1))


def values(mean: Tensor, epistemic: Tensor, noise_var: Tensor) -> PredictiveUncertainty:
    """A regression by its mean, the mean's variance, and the noise's: ``[...]``, broadcast."""
    aleatoric = noise_var.expand_as(mean)
    total = aleatoric + epistemic
    return PredictiveUncertainty(total, aleatoric, epistemic, None, "variance", mean=mean)


def mean(members: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean over the first dimension, in an order that does not depend on the other lanes."""
    if weights is None:
        return members.movedim(0, -1).contiguous().mean(-1)
    return (members * weights).movedim(0, -1).contiguous().sum(-1)


def _highest(members: Tensor) -> Tensor:
    return members.amax(0).exp()
