"""What the model-based agents share: a posterior over MDPs, and a plan that is renewed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.agent import EnvSpec, Step, Uncertainty
from uqbench.lanes import generators
from uqbench_tabular.config import TabularConfig
from uqbench_tabular.planning import policy_iteration
from uqbench_tabular.posterior import Posterior
from uqbench_tabular.tabular import TabularAgent, at_states


class ModelBased(TabularAgent):
    """Learns the MDP, and acts by a plan that is made in it every ``replan_every`` steps."""

    config: TabularConfig

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: TabularConfig, device: torch.device
    ) -> None:
        super().__init__(spec, seeds, device)
        self.config = config
        self.posterior = Posterior.prior(*self.shape, config, device)
        self.plan = torch.zeros(self.shape, dtype=torch.float64, device=device)
        self._drawn: tuple[tuple[int, Posterior, Tensor], Tensor] | None = None

    @abstractmethod
    def make_plan(self) -> Tensor:
        """What to act by until the next plan, ``[L, S, A, …]``."""

    @abstractmethod
    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """Actions ``[L]`` by the plan for the present states, ``[L, A, …]``, among ``[L, A]``."""

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Act by the plan, which is renewed every ``replan_every`` steps."""
        seen = self.see(obs, valid)
        if self.t % self.config.replan_every == 0:
            self.plan = self.make_plan()
        return self.choose(self.plan[self.lanes, obs], seen)

    def observe(self, step: Step) -> None:
        """Update the posterior.

        Raises:
            ValueError: an episode ended.
        """
        self.refuse_ends(step)
        self.posterior = self.posterior.given(step.obs, step.action, step.reward, step.next_obs)
        self.t = step.t + 1

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
        """``Q*`` of MDPs drawn from the posterior, ``[L, K, S, A]``: the same whenever asked at t.

        Kept until something that they depend on has changed: a record asks several times.

        Actions count as available where no mask has been seen.
        """
        known = self.t, self.posterior, self.available
        if self._drawn is None or any(
            a is not b for a, b in zip(self._drawn[0], known, strict=True)
        ):
            draws = generators(self.seeds, "tabular/value-samples", self.t)
            mdps = self.posterior.sample(draws, self.config.value_samples, self.available)
            self._drawn = known, policy_iteration(mdps, self.discount)
        return self._drawn[1]

    def metrics(self) -> Mapping[str, Tensor]:
        """The mean posterior standard deviation of ``Q*``, and how many (s, a) have been tried."""
        deviation = self.value_samples().std(1)
        available = self.available.to(deviation)
        visits = (self.posterior.counts - self.config.prior_counts).sum(-1)
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
        """Take over what ``state_dict`` returned; no tensor of it is ever written to."""
        self.t = state["t"]
        self.posterior = Posterior.from_state_dict(state["posterior"])
        self.available = state["available"]
        self.plan = state["plan"]
