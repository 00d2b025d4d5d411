"""Thompson sampling from a diagonal Gaussian: what UBE and moment matching share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.agent import EnvSpec, Uncertainty
from uqbench.lanes import Normal, greedy
from uqbench_tabular.config import TabularConfig
from uqbench_tabular.model_based import ModelBased
from uqbench_tabular.tabular import at_states


class GaussianThompson(ModelBased):
    """Plans in the posterior-mean MDP and adds independent noise to its values at every step.

    The lines that the paper's algorithms for UBE and moment matching have in common:
    ``a_t = argmax_a (μ_z*(s, a) + ζ ε(s, a) σ(s, a))`` with ``ε ~ N(0, 1)``, drawn afresh at every
    step and independently for every action: a factored approximation of the posterior.
    """

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: TabularConfig, device: torch.device
    ) -> None:
        super().__init__(spec, seeds, config, device)
        self._noise = Normal(seeds, f"{self.stream}/noise", (spec.n_actions,), device)

    stream: str
    """Name of the agent's random numbers."""

    @property
    @abstractmethod
    def zeta(self) -> float:
        """ζ, the factor on the noise's standard deviation."""

    @abstractmethod
    def variance(self, values: Tensor) -> Tensor:
        """σ², the variance of the noise for ζ = 1, ``[L, S, A]``, with the mean's Q* ``values``."""

    def make_plan(self) -> Tensor:
        """Mean and standard deviation of the values that are acted by, ``[L, S, A, 2]``."""
        values = self.action_values()
        return torch.stack([values, self.zeta * self.variance(values).sqrt()], -1)

    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """The available action with the largest sampled value."""
        mean, deviation = plan.unbind(-1)
        return greedy(mean + self._noise.at(self.t) * deviation, valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The Gaussian that is acted by, beside the variance of ``Q*`` under posterior samples."""
        values = self.action_values()
        variance = self.zeta**2 * self.variance(values)
        reference = self.value_samples().var(1)
        return Uncertainty(
            mean=at_states(values, obs),
            epistemic_var=at_states(variance, obs),
            reference_var=at_states(reference, obs),
        )

    def greedy_policy(self, values: Tensor) -> Tensor:
        """``π*(a | s)``: all on the best available action, ``[L, S, A]`` float64."""
        best = greedy(values, self.available)
        return torch.nn.functional.one_hot(best, self.shape[-1]).to(values)

    def greedy_values(self, values: Tensor) -> Tensor:
        """``V*(s) = max_a Q*(s, a)`` over available actions, ``[L, S]``."""
        return values.masked_fill(~self.available, -torch.inf).amax(-1)
