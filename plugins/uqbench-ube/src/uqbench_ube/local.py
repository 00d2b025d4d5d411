"""Local uncertainties ν of tabular posteriors (O'Donoghue et al. 2018, Lemma 1 and section 4).

Shapes: any batch ``*``, ``S`` states, ``A`` actions, ``S'`` successors; all in squared units of
return. The paper calls them σ².
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Moments:
    """What a posterior says about a Markov decision process, up to second moments.

    Attributes:
        reward_var: ``var μ̂_sa``, of the mean reward, ``[*, S, A]``.
        transition_mean: ``E P̂_s'sa``, ``[*, S, A, S']``.
        transition_var: ``var P̂_s'sa``, ``[*, S, A, S']``.
    """

    reward_var: Tensor
    transition_mean: Tensor
    transition_var: Tensor


def dirichlet_moments(counts: Tensor, reward_var: Tensor) -> Moments:
    """Moments where every ``P(· | s, a)`` has a Dirichlet posterior with parameters ``counts``.

    Args:
        counts: prior and observed counts of successors, ``[*, S, A, S']``.
        reward_var: ``[*, S, A]``.
    """
    total = counts.sum(-1, keepdim=True)
    mean = counts / total
    return Moments(reward_var, mean, mean * (1 - mean) / (total + 1))


def ratio(posterior: Moments, q_max: float | Tensor, discount: float) -> Tensor:
    """Lemma 1: ``ν = var μ̂ + γ² Q²_max Σ_s' var P̂_s' / E P̂_s'``.

    The variance of ``Σ_s' P̂_s' V_s'`` with ``|V| ≤ Q_max`` is at most that, by Cauchy-Schwarz.
    Successors that the posterior excludes count as zero. With Dirichlet posteriors of total
    count n the sum is ``(S' − 1) / (n + 1)``.

    Args:
        posterior: of the process.
        q_max: Q_max, a bound of the absolute value of Q; broadcasts to ``[*, S, A]``.
        discount: γ.
    """
    mean, var = posterior.transition_mean, posterior.transition_var
    shares = torch.where(mean > 0, var / mean.clamp(min=torch.finfo(mean.dtype).tiny), 0.0)
    return posterior.reward_var + discount**2 * q_max**2 * shares.sum(-1)


def plain(posterior: Moments, q_max: float | Tensor, discount: float) -> Tensor:
    """Without the division: ``ν = var μ̂ + γ² Q²_max Σ_s' var P̂_s'``; not a bound.

    One step to ``±Q_max`` with a probability that is uniform on [0, 1] has the variance
    ``Q²_max / 3``; this gives ``Q²_max / 6``, :func:`ratio` ``Q²_max / 3``.

    Args:
        posterior: of the process.
        q_max: Q_max, a bound of the absolute value of Q; broadcasts to ``[*, S, A]``.
        discount: γ.
    """
    return posterior.reward_var + discount**2 * q_max**2 * posterior.transition_var.sum(-1)


def count(visits: Tensor, beta: float) -> Tensor:
    """Section 4: ``ν = β² / n``, infinite where nothing was seen.

    Args:
        visits: n, how often each action was taken in each state, ``[*, S, A]``.
        beta: β; ``β² = σ_r² + γ² Q²_max`` in the tabular bound.
    """
    return beta**2 / visits
