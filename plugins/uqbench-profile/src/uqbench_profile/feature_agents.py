"""Exact Bayes in worlds whose states have features, and rows that state something else.

Only the widths differ: all state the exact means. What a score gives them is what it gives to
counting, to a constant, to a common factor, and to silence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import Normal, greedy
from uqbench_profile.config import FeatureBayesConfig, FeatureConfig
from uqbench_profile.feature_posterior import (
    Known,
    Seen,
    basis,
    linear_posterior,
    sampled_posterior,
    turn_of,
    values_after,
)
from uqbench_profile.feature_worlds import ACTIONS

MEMBERS = 10
"""Samples of a common factor: as many as an ensemble has."""


class FeatureBayes(Agent):
    """The exact posterior, from the observations alone; or another width about its means.

    - ``counts``: ``1 / √(1 + n)``, n rewards of that state and action;
    - ``s-over-root-n``: the standard deviation of these rewards over √n, 1 where there are none;
    - ``common-factor``: that times one standard normal number for all pairs, in ten samples, over
      ``√(1 − γ²)``;
    - ``leverage``: √(xᵀ (XᵀX)⁺ x) of the features x of a state and those X of the rewards of the
      action, with its covariance: least squares, without noise, prior, or what follows a state;
    - ``constant``: the geometric mean of the exact ones; ``exact-times-3``; ``silent``: none.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: FeatureBayesConfig,
        device: torch.device,
    ) -> None:
        self.config, self._discount, self._device = config, info.discount, device
        self._seeds = torch.tensor(seeds, dtype=torch.int64)
        (width,) = info.observation_space.shape or (0,)
        lanes, steps = len(seeds), info.total_steps
        self._obs = torch.zeros(lanes, steps, width, dtype=torch.float64)
        self._following = torch.zeros_like(self._obs)
        self._action = torch.zeros(lanes, steps, dtype=torch.int64)
        self._reward = torch.zeros(lanes, steps, dtype=torch.float64)
        self._policy = torch.zeros(lanes, dtype=torch.int64)
        self._factor = Normal(seeds, "common factor", (MEMBERS,), None, 1).at(0).double()
        self._t = 0

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The valid action."""
        return self.policy(obs, valid)

    def observe(self, step: Step) -> None:
        """Keep what was seen."""
        one, t = step.of_actor(), self._t
        self._obs[:, t], self._reward[:, t] = one.obs.double(), one.reward.double()
        self._following[:, t] = one.next_obs.double() * one.truncated[:, None]
        self._action[:, t] = one.action
        if one.valid_actions is not None:
            follows = one.valid_actions.long().argmax(-1)
            self._policy.copy_(torch.where(one.truncated, follows, self._policy))
        self._t += 1

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The valid action, or the first: values are those of the world's own policy."""
        return greedy(obs.new_zeros(*obs.shape[:2], ACTIONS), valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The exact posterior's means, and the widths of ``width``."""
        known = self._known(obs)
        std, samples = self._stated(known, obs)

        def of_pairs(values: Tensor) -> Tensor:
            found: Tensor = values.unflatten(1, (-1, ACTIONS))
            return found.float().to(self._device)

        infinite = torch.full_like(known.mean, torch.inf)
        return Uncertainty(
            mean=of_pairs(known.mean),
            epistemic_var=None if std is None else of_pairs(std.square()),
            epistemic_dof=None if std is None else of_pairs(infinite),
            value_samples=None if samples is None else of_pairs(samples),
        )

    def _stated(self, known: Known, obs: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Standard deviations ``[L, K]`` and samples ``[L, K, S]``."""
        width = self.config.width
        if width == "silent":
            return None, None
        if width == "exact":
            return known.std, exact_samples(known)
        if width == "exact-times-3":
            away = exact_samples(known) - known.mean[..., None]
            return 3 * known.std, known.mean[..., None] + 3 * away
        if width == "leverage":
            own = replace(known, covariance=self._leverage(obs.double()), draws=None)
            return own.std, exact_samples(own)
        if width == "constant":
            return known.std.log().mean(-1, keepdim=True).exp().expand_as(known.std), None
        count, deviation = self._rewards_of(obs.double())
        if width == "counts":
            return 1 / (1 + count).sqrt(), None
        std = torch.where(count > 0, deviation / count.clamp(min=1).sqrt(), 1.0)
        if width == "s-over-root-n":
            return std, None
        std = std / math.sqrt(1 - self._discount**2)
        return std, known.mean[..., None] + std[..., None] * self._factor[:, None]

    def _rewards_of(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers and deviations of the rewards of each pair, ``[L, K]``; ``obs`` ``[L, M, F]``."""
        same = torch.cdist(obs, self._obs) < 1e-6  # [L, M, N]
        own = torch.nn.functional.one_hot(self._action, ACTIONS).double()
        found = [same.double() @ (own * self._reward[..., None] ** power) for power in range(3)]
        count, total, squares = (part.flatten(1) for part in found)
        variance = (squares - total**2 / count.clamp(min=1)) / (count - 1).clamp(min=1)
        return count, variance.clamp(min=0).sqrt()

    def _leverage(self, asked: Tensor) -> Tensor:
        """``[L, K, K]`` for ``[L, M, F]``; actions share nothing."""
        lanes, states, _ = asked.shape
        found = asked.new_zeros(lanes, states, ACTIONS, states, ACTIONS)
        for action in range(ACTIONS):
            own = self._obs * (self._action == action)[..., None]
            inverse = torch.linalg.pinv(own.mT @ own, rtol=1e-9, hermitian=True)
            found[:, :, action, :, action] = asked @ inverse @ asked.mT
        return found.flatten(3).flatten(1, 2)

    def _known(self, obs: Tensor) -> Known:
        seen = Seen(self._obs, self._action, self._reward)
        world, asked = FeatureConfig(family=self.config.family), obs.double().cpu()
        if world.family == "softplus":
            return sampled_posterior(world, seen, asked, self._seeds.tolist())
        after = None
        if world.family == "ring":
            turn = turn_of(self._obs, self._following)
            after = values_after(asked @ turn, turn, self._discount)
        return linear_posterior(seen, basis(asked, after, self._policy, self._discount))


def exact_samples(known: Known) -> Tensor:
    """``[L, K, S]``: the sampler's draws, or samples with a normal law's mean and covariance.

    The covariance is exact: columns of its root are mixed by an orthogonal matrix, so that each
    pair's samples have nearly normal quantiles, too.
    """
    if known.draws is not None:
        return known.draws.mT
    values, vectors = torch.linalg.eigh(known.covariance)
    root = vectors * values.clamp(min=0).sqrt()[:, None] @ _mixing(vectors.shape[-1])
    count = 2 * root.shape[-1]
    spread = math.sqrt((count - 1) / 2) * root
    return known.mean[..., None] + torch.cat([spread, -spread], -1)


@cache
def _mixing(size: int) -> Tensor:
    """A random orthogonal matrix, always the same."""
    drawn = torch.from_numpy(np.random.Generator(np.random.Philox(1)).normal(size=(size, size)))
    found: Tensor = torch.linalg.qr(drawn).Q
    return found
