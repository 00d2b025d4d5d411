"""What the model-based agents share: a posterior over MDPs, and a plan recomputed at intervals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import generators
from uqbench_tabular.agents.config import ModelBasedConfig
from uqbench_tabular.agents.tabular import TabularAgent, at_states
from uqbench_tabular.planning import MDP, action_values, evaluate_policy, policy_iteration
from uqbench_tabular.posteriors.mdp_posterior import MDPPosterior


class ModelBased(TabularAgent):
    """Learns the MDP and follows a plan made in it every ``replan_every`` steps."""

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: ModelBasedConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, device)
        self.replan_every = config.replan_every
        self.prior_counts = config.prior_counts
        self.samples = config.value_samples
        self.posterior = MDPPosterior.prior(
            self.shape,
            counts=config.prior_counts,
            rewards=(config.prior_mu0, config.prior_lam, config.prior_alpha, config.prior_beta),
            device=device,
        )
        self.plan = torch.zeros(self.shape, dtype=torch.float64, device=device)
        self._drawn: tuple[tuple[int, MDPPosterior, Tensor], MDP, Tensor] | None = None

    @abstractmethod
    def make_plan(self) -> Tensor:
        """What to act by until the next plan, ``[L, S, A, …]``."""

    @abstractmethod
    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """Actions ``[L]`` by the plan for the current states, ``[L, A, …]``, among ``[L, A]``."""

    def act_in(self, obs: Tensor, valid: Tensor | None) -> Tensor:
        """Act by the plan, made anew every ``replan_every`` steps."""
        seen = self.remember_mask(obs, valid)
        if self.t % self.replan_every == 0:
            self.plan = self.make_plan()
        return self.choose(self.plan[self.lanes, obs], seen)

    def learn(self, step: Step) -> None:
        """Update the posterior.

        Raises:
            ValueError: an episode ended.
        """
        self.require_continuing(step)
        self.posterior = self.posterior.updated(step.obs, step.action, step.reward, step.next_obs)
        self.t += 1

    def action_values(self) -> Tensor:
        """``Q*`` of the posterior-mean MDP, ``[L, S, A]``."""
        return policy_iteration(self.posterior.mean(self.available), self.discount)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Posterior samples of ``Q*``, their mean and their variance."""
        samples = at_states(self.value_samples().movedim(1, -1), obs)
        return Uncertainty(
            mean=samples.mean(-1), epistemic_var=samples.var(-1), value_samples=samples
        )

    def value_samples(self) -> Tensor:
        """``Q*`` of MDPs drawn from the posterior, ``[L, K, S, A]``: a function of the step."""
        return self._samples()[1]

    def policy_variance(self, policy: Tensor) -> Tensor:
        """Variance of ``Q^π`` under the same MDPs, ``[L, S, A]``, for actions π ``[L, S]``."""
        mdps, _ = self._samples()
        each = policy[:, None].expand(-1, self.samples, -1)
        values = evaluate_policy(mdps, each, self.discount)
        return action_values(mdps, values, self.discount).var(1)

    def _samples(self) -> tuple[MDP, Tensor]:
        """MDPs drawn from the posterior and their ``Q*``.

        Actions count as available where no mask has been seen. The samples are cached until what
        they depend on changes, because one record asks for them several times.
        """
        known = self.t, self.posterior, self.available
        if self._drawn is None or any(
            a is not b for a, b in zip(self._drawn[0], known, strict=True)
        ):
            draws = generators(self.seeds, "tabular/value-samples", self.t)
            mdps = self.posterior.sample(draws, self.samples, self.available)
            self._drawn = known, mdps, policy_iteration(mdps, self.discount)
        return self._drawn[1:]

    def metrics(self) -> Mapping[str, Tensor]:
        """The mean posterior standard deviation of ``Q*``, and how many (s, a) have been tried."""
        deviation = self.value_samples().std(1)
        available = self.available.to(deviation)
        visits = (self.posterior.counts - self.prior_counts).sum(-1)
        return {
            "value_std": (deviation * available).sum((1, 2)) / available.sum((1, 2)),
            "pairs_tried": (visits > 0.5).sum((1, 2)),
        }

    def state_dict(self) -> dict[str, Any]:
        """The posterior, the masks seen, the plan and the step; draws are functions of the step."""
        return {
            "t": self.t,
            "posterior": self.posterior.state_dict(),
            "available": self.available,
            "plan": self.plan,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, whose tensors are never written to."""
        self.t = state["t"]
        self.posterior = MDPPosterior.from_state_dict(state["posterior"])
        self.available = state["available"]
        self.plan = state["plan"]
