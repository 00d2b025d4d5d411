"""The exact solution as an agent: what every method is at best."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.lanes import greedy
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_tabular.environments.ground_truth import Config, model
from uqbench_tabular.planning import policy_iteration


class Oracle(FixedPolicy):
    """The optimal policy, by policy iteration in the true MDP; states the exact Q*.

    Its config is the environment's, whose model it knows, under the task's discount.

    Raises:
        ValueError: the environment is another than the config's.
    """

    shared_by_lanes = ("values", "actions")

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: Config, device: torch.device
    ) -> None:
        mdp = model(config)
        states, actions = mdp.available.shape
        if (getattr(info.observation_space, "n", None), info.n_actions) != (states, actions):
            raise ValueError(
                f"expected an environment with {states} states and {actions} actions, as in "
                f"{config}; got {info.observation_space} and {info.n_actions} actions"
            )
        values = policy_iteration(mdp, info.discount)
        self.values = values.to(device)
        self.actions = greedy(values, mdp.available).to(device)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The optimal actions ``[L, M]`` of states ``[L, M]``, among the valid ones."""
        return self.actions[obs] if valid is None else greedy(self.values[obs], valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q* ``[L, M, A]``, of which nothing is uncertain."""
        values = self.values[obs]
        return Uncertainty(mean=values, epistemic_var=torch.zeros_like(values))
