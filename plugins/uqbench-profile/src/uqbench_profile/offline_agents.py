"""Exact Bayes of logged data, from the observations and the given policies alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, Uncertainty, observation_shape
from uqbench.lanes import greedy
from uqbench_profile.config import OfflineBayesConfig
from uqbench_profile.feature_agents import exact_samples
from uqbench_profile.feature_posterior import Seen, linear_posterior, turn_of
from uqbench_profile.feature_worlds import ACTIONS, WIDTH
from uqbench_profile.offline_worlds import GIVEN, OfflineLanes

HORIZON = 150
"""Steps after which rewards count 10⁻⁷ at γ = .9."""


class OfflineBayes(Agent):
    """The posterior of Q of the ten policies; or a constant width, or none, about its means.

    Where an action leads is linear in the features, and known after nine different states. In other
    worlds it states nothing.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: OfflineBayesConfig,
        device: torch.device,
    ) -> None:
        self.config, self._discount, self._device = config, info.discount, device
        self._n_actions = info.n_actions
        self._logged = observation_shape(info) == OfflineLanes.observation_space.shape
        lanes, steps = len(seeds), info.total_steps
        self._obs = torch.zeros(lanes, steps, WIDTH, dtype=torch.float64)
        self._following = torch.zeros_like(self._obs)
        self._action = torch.zeros(lanes, steps, dtype=torch.int64)
        self._reward = torch.zeros(lanes, steps, dtype=torch.float64)
        self._t = 0

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The logged action."""
        return self.policy(obs, valid)

    def observe(self, step: Step) -> None:
        """Keep each logged transition once: as it is shown for the first policy."""
        if not self._logged:
            return
        one, t = step.of_actor(), self._t
        first = one.obs[:, WIDTH].double()  # 1 for the first policy, 0 for others and in rest
        self._obs[:, t] = one.obs[:, :WIDTH].double() * first[:, None]
        self._following[:, t] = one.next_obs[:, :WIDTH].double() * first[:, None]
        self._action[:, t], self._reward[:, t] = one.action, one.reward.double() * first
        self._t += 1

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The valid action, or the first: values are those of the given policies."""
        return greedy(obs.new_zeros(*obs.shape[:2], self._n_actions), valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Uncertainty of the states and policies of ``obs`` ``[L, M, F + K]``."""
        if not self._logged:
            return None
        seen = Seen(self._obs, self._action, self._reward)
        known = linear_posterior(seen, self._basis(obs.double().cpu()))
        std, width = known.std, self.config.width
        if width == "constant":
            std = std.log().mean(-1, keepdim=True).exp().expand_as(std)

        def of_pairs(values: Tensor) -> Tensor:
            found: Tensor = values.unflatten(1, (-1, ACTIONS))
            return found.float().to(self._device)

        silent = width == "silent"
        return Uncertainty(
            mean=of_pairs(known.mean),
            epistemic_var=None if silent else of_pairs(std.square()),
            epistemic_dof=None if silent else of_pairs(torch.full_like(std, torch.inf)),
            value_samples=of_pairs(exact_samples(known)) if width == "exact" else None,
        )

    def _basis(self, obs: Tensor) -> Tensor:
        """``B`` of ``Q = B w``, ``[L, M · A, A · F]``: discounted features along each policy."""
        turns = []
        for action in range(ACTIONS):
            taken = (self._action == action).double()[..., None]
            turns.append(turn_of(self._obs * taken, self._following * taken))
        direction = obs[..., WIDTH:] @ GIVEN  # v of the policy
        rows = []
        for first in range(ACTIONS):
            state = obs[..., :WIDTH]
            acted = torch.full(state.shape[:2], first)
            row = state.new_zeros(*state.shape[:2], ACTIONS, WIDTH)
            for t in range(HORIZON):
                taken = torch.nn.functional.one_hot(acted, ACTIONS).double()[..., None]
                row += self._discount**t * taken * state[..., None, :]
                moved = torch.stack([state @ turn for turn in turns], -2)
                state = (moved * taken).sum(-2)
                acted = ((state * direction).sum(-1) > 0).long()
            rows.append(row.flatten(2))
        return torch.stack(rows, 2).flatten(1, 2)
