"""How agents explore: objects that an agent holds and asks for actions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.lanes import Normal, Uniform, epsilon_greedy, greedy
from uqbench_tabular.agents.tabular import at_states


class EpsilonGreedy:
    """With probability ε a uniformly random available action, else the greedy one."""

    def __init__(
        self, epsilon: float, seeds: Sequence[int], stream: str, device: torch.device
    ) -> None:
        self.epsilon = epsilon
        self._uniform = Uniform(seeds, stream, (2,), device)

    def choose(self, values: Tensor, t: int, valid: Tensor) -> Tensor:
        """Actions ``[L]`` of step ``t``, for values and masks ``[L, A]``."""
        return epsilon_greedy(values, self._uniform.at(t), self.epsilon, valid)


class GaussianThompson:
    """Thompson sampling from a diagonal Gaussian over Q: a factored approximation of its posterior.

    The lines that the paper's algorithms for UBE and moment matching have in common:
    ``a_t = argmax_a (μ_z*(s, a) + ζ ε(s, a) σ(s, a))`` with ``ε ~ N(0, 1)``, drawn afresh at every
    step and independently for every action.

    Args:
        zeta: ζ, factor on the standard deviation of the noise.
        n_actions: A.
        seeds: one per lane.
        stream: name of the random numbers.
        device: where they go.
    """

    def __init__(
        self,
        zeta: float,
        n_actions: int,
        seeds: Sequence[int],
        stream: str,
        device: torch.device,
    ) -> None:
        self.zeta = zeta
        self._noise = Normal(seeds, stream, (n_actions,), device)

    def plan(self, mean: Tensor, variance: Tensor) -> Tensor:
        """μ and ζ σ, stacked: ``[L, S, A] -> [L, S, A, 2]``."""
        return torch.stack([mean, self.zeta * variance.sqrt()], -1)

    def choose(self, plan: Tensor, t: int, valid: Tensor) -> Tensor:
        """Actions ``[L]`` of step ``t``: the largest sample among the available ones.

        Args:
            plan: μ and ζ σ in the current states, ``[L, A, 2]``.
            t: the step.
            valid: ``[L, A]`` bool.
        """
        mean, deviation = plan.unbind(-1)
        return greedy(mean + self._noise.at(t) * deviation, valid)

    def uncertainty(
        self, mean: Tensor, variance: Tensor, oracle: Tensor, obs: Tensor
    ) -> Uncertainty:
        """The Gaussian that actions are sampled from, with the posterior's variance as its oracle.

        Args:
            mean: μ, ``[L, S, A]``.
            variance: σ², ``[L, S, A]``.
            oracle: the variance of ``Q^π`` under the joint posterior, ``[L, S, A]``.
            obs: states ``[L, M]``.
        """
        return Uncertainty(
            mean=at_states(mean, obs),
            epistemic_var=at_states(self.zeta**2 * variance, obs),
            oracle_var=at_states(oracle, obs),
        )
