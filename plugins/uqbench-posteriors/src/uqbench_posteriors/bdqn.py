"""Bayesian deep Q-networks (Azizzadenesheli, Brunskill & Anandkumar 2018): a Bayesian last layer.

Q is linear in the features of a network: ``Q(s, a) = w_aᵀ φ_θ(s)``. The posterior of w_a given the
targets of stored transitions is normal and known in closed form; the agent acts by draws from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.networks import QNetwork

from uqbench.contract.agent import (
    EnvironmentInfo,
    Step,
    Uncertainty,
    observation_dtype,
    observation_shape,
)
from uqbench.lanes import Normal, greedy
from uqbench_posteriors.config import BDQNConfig

CHUNK = 1_024
"""Transitions whose features are computed at once."""
BLOCK = 16
"""Steps whose noise is drawn at once: a step takes A · D numbers per lane."""


class FeatureNetwork(QNetwork):
    """Observation → φ: the family's network without its output layer.

    Args:
        lanes: L.
        info: the environment.
        config: settings; D is the last of its ``hidden``.
    """

    def __init__(self, lanes: int, info: EnvironmentInfo, config: BDQNConfig) -> None:
        super().__init__(
            lanes,
            observation_shape(info),
            1,
            config.hidden[-1],
            hidden=config.hidden[:-1],
            channels=config.channels,
            kernel=config.kernel,
            stride=config.stride,
            scale=1 / 255 if observation_dtype(info) == torch.uint8 else 1.0,
        )

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, D]``, after a ReLU as all hidden layers."""
        return super().forward(obs).squeeze(-2).relu()


class BDQN(DeepQ):
    """Double DQN with a Bayesian last layer; Thompson sampling.

    Source: Azizzadenesheli et al. 2018, Algorithm 2
    """

    config: BDQNConfig
    online: FeatureNetwork
    target: FeatureNetwork
    compiled: ClassVar[tuple[str, ...]] = ("learn", "choose_action")
    native = "uqbench_posteriors.bdqn_native:native"

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: BDQNConfig, device: torch.device
    ) -> None:
        lanes, features = len(seeds), config.hidden[-1]
        network = FeatureNetwork(lanes, info, config)
        super().__init__(info, seeds, config, 1, device, network=network)
        shape = (info.n_actions, features)
        self._noise = Normal(seeds, "last layer", shape, device, BLOCK)
        # the same draws for every prediction, so that only the posterior changes it
        self._predicting = Normal(seeds, "stated", (config.samples, *shape), device, 1).at(0)
        self.mean = torch.zeros(lanes, *shape, device=device)
        prior = config.prior_var**0.5 * torch.eye(features, device=device)
        self.factor = prior.expand(lanes, info.n_actions, -1, -1).clone()
        first = Normal(seeds, "first last layer", shape, device, 1).at(0)
        self.drawn = self._draw(first)

    def _draw(self, noise: Tensor) -> Tensor:
        """Weights from the posterior, by standard normal numbers, ``[L, A, D]`` both."""
        weights: Tensor = self.mean + (self.factor * noise[..., None, :]).sum(-1)
        return weights

    def values(self, features: Tensor, weights: Tensor) -> Tensor:
        """``w_aᵀ φ(s)``: ``[L, B, D]``, ``[L, A, D]`` → ``[L, B, A]``."""
        return torch.bmm(features, weights.mT)

    def q_values(self, outputs: Tensor) -> Tensor:
        """Q by the posterior's mean, from features ``[L, B, D]``: ``[L, B, A]``."""
        return self.values(outputs, self.mean)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """The greedy action ``[L, K]`` of the draw that the agent acts by."""
        values = self.values(self.online(obs), self.drawn)
        return self.exploration.explore(greedy(values, valid), noise, valid)

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``(y − w_aᵀ φ_θ(s))²`` for the draw w, which no gradient changes: ``[L, B]``."""
        values = self.values(self.online(batch["obs"]), self.drawn)
        predicted = values.gather(-1, batch["action"][..., None])
        return self.loss(predicted, self.bellman_target(batch))

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """The squared error, of ``[..., 1]`` each: ``[...]``."""
        return (target - predicted).square().squeeze(-1)

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + γ w̄_âᵀ φ_θ⁻(s')``, ``â`` the greedy action of the draw with θ: ``[L, B, 1]``."""
        best = greedy(self.values(self.online(batch["next_obs"]), self.drawn), batch["next_valid"])
        values = self.values(self.target(batch["next_obs"]), self.mean)
        continues = self.discount * (~batch["terminated"])
        following = values.gather(-1, best[..., None])
        return batch["reward"][..., None] + continues[..., None] * following

    def phase(self, t: int) -> tuple[int, ...]:
        """As DQN's; whether a step updates the posterior, and whether it draws from it."""
        config, after = self.config, t + self.clock.actors
        period = config.target_sync_period * config.posterior_syncs
        due = -(-after // period) > -(-max(t, self.start) // period)
        drawn = after // config.sample_period > t // config.sample_period
        return (*super().phase(t), due, drawn)

    def observe(self, step: Step) -> None:
        """Update the posterior and draw from it where that is due; then as every DQN."""
        *_, due, drawn = self.phase(self.clock.t)
        if due:
            self.update_posterior()
        if drawn:
            self.drawn.copy_(self._draw(self._noise.at(self.clock)))
        super().observe(step)

    @torch.no_grad()
    def update_posterior(self) -> None:
        """The normal posterior of each w_a given B targets (section 4, equation 2).

        ``Ξ_a = (Φ_a Φ_aᵀ / σ_ε² + I / σ²)⁻¹``, ``w̄_a = Ξ_a Φ_a y_a / σ_ε²``; from all that are
        stored, or from B of them at equal distances, so that no step draws them.
        """
        config, stored = self.config, self.clock.tensor.clamp(max=self.replay.capacity)
        lanes, actions, features = self.mean.shape
        identity = torch.eye(features, dtype=torch.float64, device=stored.device)
        precision = (identity / config.prior_var).repeat(lanes * actions, 1, 1)
        weighted = precision.new_zeros(lanes * actions, features, 1)
        count = min(config.posterior_transitions, self.replay.capacity)
        for first in range(0, count, CHUNK):
            place = torch.arange(first, min(first + CHUNK, count), device=stored.device)
            index = torch.where(stored > count, place * stored // count, place)
            batch = self.minibatch(index.clamp(max=stored - 1).expand(lanes, -1))
            y = self.bellman_target(batch).double()
            taken = functional.one_hot(batch["action"], actions) * (place < stored)[:, None]
            phi = self.online(batch["obs"]).double()
            rows = (taken.mT[..., None] * phi[:, None]).flatten(0, 1)  # [L · A, B, D]
            precision.baddbmm_(rows.mT, rows, alpha=1 / config.noise_var)
            targets = y.repeat_interleave(actions, 0)
            weighted.baddbmm_(rows.mT, targets, alpha=1 / config.noise_var)
        self.condition(precision, weighted)

    def condition(self, precision: Tensor, weighted: Tensor) -> None:
        """Set the posterior by its precision and its weighted targets, both of 64 bits.

        Args:
            precision: ``Ξ_a⁻¹``, ``[L · A, D, D]``.
            weighted: ``Φ_a y_a / σ_ε²``, ``[L · A, D, 1]``.
        """
        identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
        root = torch.linalg.cholesky_ex(precision).L  # on a GPU cholesky would wait for its check
        half = torch.linalg.solve_triangular(root, weighted, upper=False)
        solved = torch.linalg.solve_triangular(root.mT, half, upper=True)
        factor = torch.linalg.solve_triangular(root.mT, identity.expand_as(root), upper=True)
        self.mean.copy_(solved.view_as(self.mean))
        self.factor.copy_(factor.view_as(self.factor))

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Mean, variance ``φᵀ Ξ_a φ`` and S draws of Q, each of one draw of all weights."""
        features = self.online(obs)
        actions, width = self.mean.shape[1:]
        projected = torch.bmm(features, self.factor.transpose(1, 2).flatten(2))
        variance = projected.unflatten(-1, (actions, width)).square().sum(-1)
        weights = self._draws()
        drawn = torch.bmm(features, weights.flatten(1, 2).mT).unflatten(-1, (-1, actions))
        return Uncertainty(
            mean=self.q_values(features),
            epistemic_var=variance,
            epistemic_dof=torch.full_like(variance, torch.inf),
            value_samples=drawn.transpose(-1, -2),
        )

    def _draws(self) -> Tensor:
        """S draws of the last layer, ``[L, S, A, D]``."""
        z = self._predicting.movedim(1, -1)  # [L, A, D, S]
        product = torch.bmm(self.factor.flatten(0, 1), z.flatten(0, 1))
        weights: Tensor = product.unflatten(0, self.mean.shape[:2]).movedim(-1, 1)
        return self.mean[:, None] + weights
