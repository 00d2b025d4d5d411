"""What the tabular agents share: a posterior over MDPs, and a plan that is renewed now and then."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.agent import Agent, EnvSpec, Step, Uncertainty
from uqbench.lanes import generators, greedy
from uqbench_tabular.config import TabularConfig
from uqbench_tabular.planning import policy_iteration
from uqbench_tabular.posterior import Posterior


class ModelBased(Agent):
    """An agent for continuing tasks that learns the MDP and plans in it every few steps.

    Actions count as available until their state's mask has been seen.

    Raises:
        TypeError: observations are not ``Discrete`` from 0.
        ValueError: the discount is 1; plans maximise the discounted return.
    """

    config: TabularConfig

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: TabularConfig, device: torch.device
    ) -> None:
        space = spec.observation
        if not isinstance(space, spaces.Discrete) or space.start != 0:
            raise TypeError(f"expected observations that are Discrete from 0, got {space}")
        if spec.discount >= 1:
            raise ValueError(f"expected a discount below 1, got {spec.discount}")
        self.config = config
        self.discount = spec.discount
        self.seeds = tuple(seeds)
        self.lanes = torch.arange(len(seeds), device=device)
        self.t = 0
        shape = (len(seeds), int(space.n), spec.n_actions)
        self.posterior = Posterior.prior(*shape, config, device)
        self.available = torch.ones(shape, dtype=torch.bool, device=device)
        self.plan = torch.zeros(shape, dtype=torch.float64, device=device)

    @abstractmethod
    def make_plan(self) -> Tensor:
        """Values ``[L, S, A]`` to act by until the next plan."""

    @abstractmethod
    def choose(self, values: Tensor, valid: Tensor) -> Tensor:
        """Actions ``[L]`` by the plan's ``values`` ``[L, A]`` among ``valid`` ``[L, A]``."""

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Act by the plan, which is renewed every ``replan_every`` steps."""
        if valid is not None:
            self.available = self.available.index_put((self.lanes, obs), valid)
        if self.t % self.config.replan_every == 0:
            self.plan = self.make_plan()
        return self.choose(self.plan[self.lanes, obs], self.available[self.lanes, obs])

    def observe(self, step: Step) -> None:
        """Update the posterior.

        Raises:
            ValueError: an episode ended; these agents are for continuing tasks.
        """
        if (step.terminated | step.truncated).any():
            raise ValueError(
                f"an episode ended at step {step.t}: {type(self).__name__} expects a continuing "
                f"task; remove its time limit or choose another method"
            )
        self.posterior = self.posterior.given(step.obs, step.action, step.reward, step.next_obs)
        self.t = step.t + 1

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Greedy in the optimal values of the posterior-mean MDP."""
        table = self.optimal_values_of_mean()
        return greedy(_at(table, obs), _at(self.available, obs) if valid is None else valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Posterior samples of ``Q*``, their mean and their variance."""
        samples = _at(self.value_samples().movedim(1, -1), obs)
        return Uncertainty(
            mean=samples.mean(-1), epistemic_var=samples.var(-1), value_samples=samples
        )

    def optimal_values_of_mean(self) -> Tensor:
        """``Q*`` of the posterior-mean MDP, ``[L, S, A]``."""
        return policy_iteration(self.posterior.mean(self.available), self.discount)

    def value_samples(self) -> Tensor:
        """``Q*`` of MDPs drawn from the posterior, ``[L, K, S, A]``: the same whenever asked at t.

        Actions count as available where no mask has been seen.
        """
        draws = generators(self.seeds, "tabular/value-samples", self.t)
        mdps = self.posterior.sample(draws, self.config.value_samples, self.available)
        return policy_iteration(mdps, self.discount)

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


def _at(table: Tensor, obs: Tensor) -> Tensor:
    """Rows of ``[L, S, …]`` for states ``[L, M]``: ``[L, M, …]``."""
    lanes = torch.arange(len(obs), device=obs.device)
    return table[lanes[:, None], obs]
