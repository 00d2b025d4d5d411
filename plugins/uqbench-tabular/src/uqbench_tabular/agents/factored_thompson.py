"""Thompson sampling from a diagonal Gaussian over Q: what UBE and moment matching share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.lanes import Normal, greedy
from uqbench_tabular.agents.config import MomentMatchingConfig, UBEConfig
from uqbench_tabular.agents.model_based import ModelBased
from uqbench_tabular.agents.tabular import at_states


class FactoredThompson(ModelBased):
    """Acts by a factored approximation of the posterior of Q.

    The lines that the paper's algorithms for UBE and moment matching have in common:
    ``a_t = argmax_a (μ_z*(s, a) + ζ ε(s, a) σ(s, a))`` with ``ε ~ N(0, 1)``, drawn anew at every
    step and independently for every action.

    Source: Markou & Rasmussen 2019, Algorithms UBE and MM
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: UBEConfig | MomentMatchingConfig,
        device: torch.device,
        stream: str,
    ) -> None:
        super().__init__(info, seeds, config, device)
        self.zeta = config.zeta
        self._noise = Normal(seeds, stream, (info.n_actions,), device)

    @abstractmethod
    def variance(self, values: Tensor) -> Tensor:
        """``σ²(s, a)`` of the noise before ζ, ``[L, S, A]``.

        Args:
            values: ``Q*`` of the posterior-mean MDP, ``[L, S, A]``.
        """

    def make_plan(self) -> Tensor:
        """μ and ζ σ of the values to act by, ``[L, S, A, 2]``."""
        values = self.action_values()
        return torch.stack([values, self.zeta * self.variance(values).sqrt()], -1)

    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """The available action with the largest sampled value."""
        mean, deviation = plan.unbind(-1)
        return greedy(mean + self._noise.at(self.t) * deviation, valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The Gaussian that is acted by, and the variance of ``Q^π`` under posterior samples.

        π is greedy in ``Q*`` of the posterior-mean MDP, as in the equation.
        """
        values = self.action_values()
        exact = self.policy_variance(greedy(values, self.available))
        return Uncertainty(
            mean=at_states(values, obs),
            epistemic_var=at_states(self.zeta**2 * self.variance(values), obs),
            oracle_var=at_states(exact, obs),
        )
