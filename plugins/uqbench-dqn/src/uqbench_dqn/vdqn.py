"""VDQN (Tang & Agrawal 2018, "Exploration by distributional RL"): a posterior over weights.

A mean-field normal posterior is fitted to ``d ~ N(Q_θ(s, a), σ²)`` with targets d. It knows the
uncertainty about Q, and none about the return given Q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Uncertainty, observation_shape
from uqbench.lanes import Normal, greedy, lane_generators
from uqbench_dqn.config import VDQNConfig
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.variational import VariationalNetwork

BLOCK = 16
"""Steps whose noise is drawn at once: a step takes tens of thousands of numbers per lane."""


class VDQN(DeepQ):
    """Variational DQN: Thompson sampling, or a risk measure of the posterior of Q.

    Source: Tang & Agrawal 2018
    """

    config: VDQNConfig
    online: VariationalNetwork
    target: VariationalNetwork

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: VDQNConfig, device: torch.device
    ) -> None:
        network = VariationalNetwork(
            observation_shape(info),
            info.n_actions,
            config.hidden,
            config.posterior_std,
            lane_generators(seeds),
        )
        super().__init__(info, seeds, config, 1, device, network=network)
        units, draws = network.units, 1 if config.risk is None else config.samples
        self._acting = Normal(seeds, "acting", (info.actors, draws, units), device, BLOCK)
        shape, block = (2, config.batch_size, units), self.updates.block(BLOCK)
        self._learning = Normal(seeds, "learning", shape, device, block, self.updates.blocks)
        self._learning.at(self.updates.draws)  # that clock prepares it from now on
        # the same draws for every prediction, so that only the posterior changes it
        self._predicting = Normal(seeds, "stated", (1, config.samples, units), device, 1).at(0)

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a)`` of one draw, which the network gives."""
        return outputs.squeeze(-1)

    def risk_adjusted(self, outputs: Tensor) -> Tensor:
        """The mean, or the risk measure, of S draws ``[..., A, S]``."""
        risk = self.config.risk
        return outputs.mean(-1) if risk is None else risk.of_samples(outputs)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """``−log N(d; Q, σ²)`` but for a constant: of ``[..., 1]`` each, ``[...]``."""
        return (target - predicted).square().squeeze(-1) / (2 * self.config.likelihood_std**2)

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The negative evidence bound, so written that the mean over the batch is it: ``[L, B]``.

        ``Σ_b −log N(d_b; Q_θ(s_b, a_b), σ²) − Σ_j log σ_j``: the prior is flat, so that the
        divergence from it is the negative entropy of the posterior.
        """
        noise, target_noise = self._learning.at(self.updates.draws).unbind(1)
        drawn = self.online(batch["obs"], noise).gather(-1, batch["action"][..., None])
        target = self.drawn_target(batch, target_noise)
        likelihoods = self.loss(drawn, target) * batch["action"].shape[-1]
        return likelihoods - self.online.log_stds()[:, None]

    @torch.no_grad()
    def drawn_target(self, batch: Mapping[str, Tensor], noise: Tensor) -> Tensor:
        """``d = r + γ max_a Q_{θ⁻}(s', a)`` with θ⁻ drawn for each transition: ``[L, B, 1]``."""
        values: Tensor = self.target(batch["next_obs"], noise)
        best = greedy(values, batch["next_valid"])
        continues = self.discount * (~batch["terminated"])
        return batch["reward"][..., None] + continues[..., None] * values.gather(
            -1, best[..., None]
        )

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of a draw, or of the risk measure of S draws; with ε a random one."""
        action = self.choose_action(obs, self._acting.at(self.clock), valid)
        return self.exploration.explore(action, self.exploration.noise(), valid)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Actions ``[L, K]`` in ``obs`` ``[L, K, *obs]`` by ``noise`` ``[L, K, S, units]``."""
        return greedy(self.risk_adjusted(self._samples(obs, noise)), valid)

    def _samples(self, obs: Tensor, noise: Tensor) -> Tensor:
        """Draws of Q of ``[L, M, *obs]`` by noise ``[L, M or 1, S, units]``: ``[L, M, A, S]``."""
        questions, samples = obs.shape[1], noise.shape[2]
        repeated = obs.repeat_interleave(samples, 1)
        values = self.online(repeated, noise.expand(-1, questions, -1, -1).flatten(1, 2))
        drawn: Tensor = values.unflatten(1, (questions, samples)).transpose(-1, -2)
        return drawn

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of the mean, or of the risk measure, of S draws."""
        return greedy(self.risk_adjusted(self._samples(obs, self._predicting)), valid)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """S draws of Q, their mean and variance."""
        values = self._samples(obs, self._predicting)
        return Uncertainty(mean=values.mean(-1), epistemic_var=values.var(-1), value_samples=values)
