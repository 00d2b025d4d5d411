"""Posterior over the MDPs that may have given the data (Markou & Rasmussen, appendix on PSRL).

A Dirichlet over ``p(s' | s, a)`` for every (s, a), and a normal-gamma over mean and precision of
``r`` for every (s, a, s'); both are conjugate, and independent of each other. The normal-gamma's
equations are those of Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution",
section 3, for one observation. Shapes: ``L`` lanes, ``K`` samples, ``S`` states, ``A`` actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench_tabular.config import TabularConfig
from uqbench_tabular.planning import MDP


@dataclass(frozen=True)
class NormalGamma:
    """``τ ~ Gamma(α, rate β)``, ``μ | τ ~ N(μ₀, 1 / (λ τ))``; fields have any one shape."""

    mu0: Tensor
    lam: Tensor
    alpha: Tensor
    beta: Tensor


@dataclass(frozen=True)
class Posterior:
    """What the data say about the MDP; every field is ``[L, S, A, S']`` float64.

    Attributes:
        counts: c, the Dirichlet's parameters.
        rewards: the normal-gamma's.
    """

    counts: Tensor
    rewards: NormalGamma

    @classmethod
    def prior(
        cls, lanes: int, states: int, actions: int, config: TabularConfig, device: torch.device
    ) -> Posterior:
        """No data yet: the same prior everywhere."""
        c, mu0, lam, alpha, beta = (
            torch.full((lanes, states, actions, states), value, dtype=torch.float64, device=device)
            for value in (
                config.prior_counts,
                config.prior_mu0,
                config.prior_lam,
                config.prior_alpha,
                config.prior_beta,
            )
        )
        return cls(c, NormalGamma(mu0, lam, alpha, beta))

    def given(self, state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Posterior:
        """The posterior after one more transition in every lane, each ``[L]``."""
        lanes = torch.arange(len(state), device=state.device)
        at = (lanes, state, action, following)
        before = NormalGamma(**{name: table[at] for name, table in _fields(self.rewards).items()})
        after = _fields(normal_gamma_update(before, reward.double()))
        return Posterior(
            self.counts.index_put(at, dirichlet_update(self.counts[at])),
            NormalGamma(
                **{
                    name: table.index_put(at, after[name])
                    for name, table in _fields(self.rewards).items()
                }
            ),
        )

    def mean(self, available: Tensor) -> MDP:
        """The posterior-mean MDP ``[L, S, A, …]``; transitions and rewards are independent."""
        return MDP(dirichlet_mean(self.counts), self.rewards.mu0, available)

    def sample(
        self, generators: Sequence[np.random.Generator], count: int, available: Tensor
    ) -> MDP:
        """``count`` MDPs ``[L, K, S, A, …]``: ``θ̂_T ~ p(θ_T | D)``, ``θ̂_R ~ p(θ_R | D)``.

        Args:
            generators: one a lane; a lane's MDPs depend on its own alone.
            count: K.
            available: ``[L, S, A]`` bool.
        """
        lanes, device = len(generators), self.counts.device
        shape = (lanes, count, *self.counts.shape[1:])
        posterior = {name: table.cpu().numpy() for name, table in _fields(self.rewards).items()}
        counts = self.counts.cpu().numpy()
        transitions, rewards = np.empty(shape), np.empty(shape)
        for lane, generator in enumerate(generators):
            transitions[lane] = dirichlet_sample(counts[lane], generator, count)
            own = {name: table[lane] for name, table in posterior.items()}
            rewards[lane] = normal_gamma_sample_mean(**own, generator=generator, count=count)
        return MDP(
            torch.from_numpy(transitions).to(device),
            torch.from_numpy(rewards).to(device),
            available[:, None].expand(shape[:-1]),
        )

    def state_dict(self) -> dict[str, Tensor]:
        """Every parameter by name."""
        return {"counts": self.counts, **_fields(self.rewards)}

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Tensor]) -> Posterior:
        """The posterior that ``state_dict`` described."""
        rewards = {name: table for name, table in state.items() if name != "counts"}
        return cls(state["counts"], NormalGamma(**rewards))


def dirichlet_update(counts: Tensor) -> Tensor:
    """The categorical-Dirichlet model: ``c_{s,a,s'} ← c_{s,a,s'} + 1``."""
    return counts + 1


def dirichlet_mean(counts: Tensor) -> Tensor:
    """``E[p(s' | s, a)] = c_{s,a,s'} / Σ c_{s,a}``, along the last dimension."""
    return counts / counts.sum(-1, keepdim=True)


def dirichlet_sample(
    counts: NDArray[np.float64], generator: np.random.Generator, count: int
) -> NDArray[np.float64]:
    """``[K, *, S']`` samples of Dirichlets ``[*, S']``: gamma variables over their sum."""
    gammas = generator.standard_gamma(counts, (count, *counts.shape))
    sampled: NDArray[np.float64] = gammas / gammas.sum(-1, keepdims=True)
    return sampled


def normal_gamma_update(prior: NormalGamma, reward: Tensor) -> NormalGamma:
    """The normal-gamma model after one reward, with the old values on the right.

    ``μ₀ ← (λ μ₀ + r) / (λ + 1)``, ``λ ← λ + 1``, ``α ← α + 1/2``,
    ``β ← β + λ (r − μ₀)² / (2 (λ + 1))``.
    """
    return NormalGamma(
        mu0=(prior.lam * prior.mu0 + reward) / (prior.lam + 1),
        lam=prior.lam + 1,
        alpha=prior.alpha + 0.5,
        beta=prior.beta + prior.lam * (reward - prior.mu0) ** 2 / (2 * (prior.lam + 1)),
    )


def normal_gamma_sample_mean(
    mu0: NDArray[np.float64],
    lam: NDArray[np.float64],
    alpha: NDArray[np.float64],
    beta: NDArray[np.float64],
    generator: np.random.Generator,
    count: int,
) -> NDArray[np.float64]:
    """``[K, *]`` samples of μ: ``τ ~ Gamma(α, rate β)``, ``μ ~ N(μ₀, 1 / (λ τ))``."""
    shape = (count, *mu0.shape)
    precision = generator.standard_gamma(alpha, shape) / beta
    sampled: NDArray[np.float64] = mu0 + generator.standard_normal(shape) / np.sqrt(lam * precision)
    return sampled


def _fields(parameters: NormalGamma) -> dict[str, Tensor]:
    return dict(vars(parameters))
