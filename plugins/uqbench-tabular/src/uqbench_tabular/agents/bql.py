"""Bayesian Q-learning with the mixture update (Dearden et al. 1998; Markou & Rasmussen, app. BQL).

Shapes: ``L`` lanes, ``K`` samples of the next state's return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import Normal, Uniform, generators, greedy
from uqbench_tabular.agents.config import BQLConfig
from uqbench_tabular.agents.tabular import TabularAgent, at_states
from uqbench_tabular.posteriors.dirichlet import standard_gamma
from uqbench_tabular.posteriors.normal_gamma import (
    NormalGamma,
    marginal_of_mean,
    normal_gamma_update,
    predictive,
    sample_mean,
    student_t,
    variance_of_mean,
)

ALPHA_ABOVE_ONE = 1e-6
"""ε of the projection: α stays above 1, where the variance of μ is finite."""
TINY = 1e-12
"""Keeps λ finite where the moments have no spread."""


class BayesianQLearning(TabularAgent):
    """Bayesian Q-learning: a normal-gamma over the return of every (s, a).

    Model-free: the normal-gamma is over mean and precision of the return. Acts by Thompson sampling
    of the means. After a transition, the return from the next state is taken to be that of the
    action with the best mean there.

    Source: Dearden et al. 1998; Markou & Rasmussen 2019, Algorithm BQL
    """

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: BQLConfig, device: torch.device
    ) -> None:
        super().__init__(info, seeds, device)
        self.config = config
        prior = (config.prior_mu0, config.prior_lam, config.prior_alpha, config.prior_beta)
        self.returns = NormalGamma.filled(self.shape, prior, device)
        self._thompson = Uniform(seeds, "bql/thompson", (info.n_actions, 2), device)
        self._next_return = Uniform(seeds, "bql/next-return", (config.samples, 2), device)
        self._inner_normal = Normal(seeds, "bql/inner-normal", (config.samples,), device)

    def act_in(self, obs: Tensor, valid: Tensor | None) -> Tensor:
        """Thompson sampling: the available action with the largest sample of ``μ``."""
        seen = self.remember_mask(obs, valid)
        here = self.returns.map(lambda table: table[self.lanes, obs])
        t = student_t(self._thompson.at(self.t), 2 * here.alpha)
        return greedy(marginal_of_mean(here, t), seen)

    def learn(self, step: Step) -> None:
        """Replace the posterior of (s, a) by the normal-gamma nearest to the mixture.

        Raises:
            ValueError: an episode ended.
        """
        self.require_continuing(step)
        allowed = self.remember_mask(step.next_obs, step.valid_actions)
        best = greedy(self.returns.mu0[self.lanes, step.next_obs], allowed)
        following = self.returns.map(lambda table: table[self.lanes, step.next_obs, best][:, None])
        t = student_t(self._next_return.at(self.t), 2 * following.alpha)
        target = step.reward.double()[:, None] + self.discount * predictive(following, t)
        at = (self.lanes, step.obs, step.action)
        before = self.returns.map(lambda table: table[at][:, None])
        mixture = normal_gamma_update(before, target)
        if self.config.moments == "monte-carlo":
            moments = sampled_moments(mixture, *self._inner_draws(mixture))
        else:
            moments = mixture_moments(mixture)
        self.returns = self.returns.replaced(at, nearest_normal_gamma(moments))
        self.t += 1

    def action_values(self) -> Tensor:
        """μ₀, ``[L, S, A]``."""
        return self.returns.mu0

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The Student t marginal of every ``μ``: its mean, its variance and samples of it."""
        draws = generators(self.seeds, "bql/value-samples", self.t)
        samples = sample_mean(self.returns, draws, self.config.value_samples).movedim(1, -1)
        return Uncertainty(
            mean=at_states(self.returns.mu0, obs),
            epistemic_var=at_states(variance_of_mean(self.returns), obs),
            value_samples=at_states(samples, obs),
        )

    def _inner_draws(self, mixture: NormalGamma) -> tuple[Tensor, Tensor]:
        """Standard gamma variables of shape α and standard normal ones, each ``[L, K]``."""
        draws = generators(self.seeds, "bql/monte-carlo", self.t)
        gamma = standard_gamma(mixture.alpha.squeeze(-1), draws, self.config.samples)
        return gamma, self._inner_normal.at(self.t)

    def state_dict(self) -> dict[str, Any]:
        """The posterior, the masks seen and the step; draws are functions of the step."""
        return {"t": self.t, "available": self.available, "returns": self.returns.fields()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, whose tensors are never written to."""
        self.t, self.available = state["t"], state["available"]
        self.returns = NormalGamma(**state["returns"])


@dataclass(frozen=True)
class Moments:
    """The moments of q(μ, τ) that its nearest normal-gamma depends on; each ``[*]``.

    Attributes:
        tau: ``E[τ]``.
        mu_tau: ``E[μ τ]``.
        spread: ``E[μ² τ] − E[μ τ]² / E[τ]``, which becomes ``1 / λ``.
        log_tau: ``E[log τ]``.
    """

    tau: Tensor
    mu_tau: Tensor
    spread: Tensor
    log_tau: Tensor


def mixture_moments(mixture: NormalGamma) -> Moments:
    """Moments of an even mixture of normal-gammas, each component's in closed form.

    ``E[τ] = α/β``, ``E[μ τ] = μ₀ α/β``, ``E[μ² τ] = 1/λ + μ₀² α/β``, ``E[log τ] = ψ(α) − log β``
    (Rao-Blackwell: of the paper's Monte Carlo only the draws of the next state's return remain).
    The spread is a sum of squares about ``E[μ τ] / E[τ]``, free of cancellation.

    Args:
        mixture: components along the last dimension, ``[*, K]``; fields may be ``[*, 1]``.
    """
    tau = mixture.alpha / mixture.beta
    mean_tau = tau.mean(-1)
    mean_mu_tau = (mixture.mu0 * tau).mean(-1)
    center = (mean_mu_tau / mean_tau)[..., None]
    return Moments(
        tau=mean_tau,
        mu_tau=mean_mu_tau,
        spread=(1 / mixture.lam + (mixture.mu0 - center) ** 2 * tau).mean(-1),
        log_tau=(torch.digamma(mixture.alpha) - mixture.beta.log()).mean(-1),
    )


def sampled_moments(mixture: NormalGamma, gamma: Tensor, normal: Tensor) -> Moments:
    """The same moments by Monte Carlo, one draw of (μ, τ) per component, as in the paper.

    Args:
        mixture: ``[*, K]``; fields may be ``[*, 1]``.
        gamma: standard gamma variables of shape α, ``[*, K]``.
        normal: standard normal variables, ``[*, K]``.
    """
    tau = gamma / mixture.beta
    mu = mixture.mu0 + normal / (mixture.lam * tau).sqrt()
    mean_tau = tau.mean(-1)
    mean_mu_tau = (mu * tau).mean(-1)
    center = (mean_mu_tau / mean_tau)[..., None]
    return Moments(mean_tau, mean_mu_tau, ((mu - center) ** 2 * tau).mean(-1), tau.log().mean(-1))


def nearest_normal_gamma(q: Moments) -> NormalGamma:
    """The normal-gamma p that minimizes ``KL(q ‖ p)``, eq. "BQL update".

    ``μ₀ = E[μτ] / E[τ]``, ``λ = 1 / (E[μ²τ] − E[τ] μ₀²)``,
    ``α = max(1 + ε, f⁻¹(log E[τ] − E[log τ]))``, ``β = α / E[τ]``.
    """
    alpha = inverse_f((q.tau.log() - q.log_tau).clamp(min=TINY)).clamp(min=1 + ALPHA_ABOVE_ONE)
    return NormalGamma(
        mu0=q.mu_tau / q.tau, lam=1 / (q.spread + TINY), alpha=alpha, beta=alpha / q.tau
    )


def f(x: Tensor) -> Tensor:
    """``f(x) = log x − ψ(x)``, which falls from ∞ to 0; see :func:`inverse_f`."""
    return x.log() - torch.digamma(x)


POINTS = 65
ROUNDS = 5
"""Five rounds of 64 intervals: ``64⁻⁵`` of an octave, ``f⁻¹`` to 1e-9 relative."""


def inverse_f(y: Tensor) -> Tensor:
    """``f⁻¹(y)`` for y > 0, ``[*]``, by bisection into 64 intervals at a time.

    The bounds ``1 / (2x) < f(x) < 1 / x`` bracket it within an octave, ``(1 / (2y), 1 / y)``.
    """
    low, width = -torch.log2(2 * y), torch.ones_like(y)
    steps = torch.linspace(0, 1, POINTS, dtype=y.dtype, device=y.device)
    for _ in range(ROUNDS):
        x = torch.exp2(low[..., None] + width[..., None] * steps)
        above = (f(x) > y[..., None]).sum(-1).clamp(min=1, max=POINTS - 1) - 1
        width = width / (POINTS - 1)
        low = low + above * width
    return torch.exp2(low + width / 2)
