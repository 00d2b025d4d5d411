"""UA-DQN (Clements et al. 2019, "Estimating risk and uncertainty in deep RL", section 2.4).

Three networks: the main one, which is QR-DQN's, and two samples A and B of the posterior, an
ensemble of two. The main network's target copy gives the targets of all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from uqbench_dqn.deep_q import DeepQ, of_action
from uqbench_dqn.epsilon_greedy import EpsilonGreedyQ
from uqbench_dqn.networks import q_network
from uqbench_dqn.quantiles import midpoint_levels, quantile_loss

from uqbench.agent import EnvSpec, Uncertainty
from uqbench.lanes import Normal, greedy, initialise, lane_generators
from uqbench.seeding import derive_seed
from uqbench_uadqn.anchor import Anchor
from uqbench_uadqn.config import EpsilonUADQNConfig, UADQNConfig
from uqbench_uadqn.share import RecentShare
from uqbench_uadqn.uncertainty import aleatoric_var, biased_aleatoric_var, epistemic_var

SAMPLES = 2
VARIANCE_FLOOR = 1e-8
"""Added to the epistemic variance before its square root."""


class UADQN(DeepQ):
    """QR-DQN that explores by its epistemic and avoids its aleatoric uncertainty."""

    config: UADQNConfig
    compiled = (*DeepQ.compiled, "choose")

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: UADQNConfig, device: torch.device
    ) -> None:
        self.posterior = q_network(len(seeds), spec, config, config.quantiles, ensemble=SAMPLES)
        own = lane_generators([derive_seed("posterior", seed) for seed in seeds])
        initialise(self.posterior, own, config.posterior_gain)
        self.posterior.to(device)
        super().__init__(spec, seeds, config, config.quantiles, device, beside=self.posterior)
        self.anchor = Anchor(self.posterior)
        self.levels = midpoint_levels(config.quantiles).to(device)
        self._noise = Normal(seeds, "thompson", (spec.n_actions,), device)
        self._non_greedy = RecentShare(len(seeds), spec.total_steps, self.clock)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """``argmax_a  E_i y_i − λ σ̃_aleatoric + β σ̃_epistemic ξ_a``, ``ξ_a ~ N(0, 1)``."""
        return self.choose(obs, self._noise.at(self.clock), valid)

    def choose(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Actions ``[L]`` in ``obs`` ``[L, *obs]``, ``noise`` ``[L, A]`` being ξ."""
        mean, epistemic, aleatoric = (values[:, 0] for values in self._stated(obs[:, None]))
        score = (
            mean
            - self.config.aleatoric_weight * aleatoric.clamp(min=0).sqrt()
            + self.config.epistemic_weight * (epistemic + VARIANCE_FLOOR).sqrt() * noise
        )
        action = greedy(score, valid)
        self._non_greedy.add(action != greedy(mean, valid))
        return action

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Quantile losses of the three networks on the same targets, and the anchors' penalty."""
        target = self.bellman_target(batch)
        main = self.loss(of_action(self.online(batch["obs"]), batch["action"]), target)
        action = batch["action"].unsqueeze(1).expand(-1, SAMPLES, -1)
        samples = self.loss(of_action(self.posterior(batch["obs"]), action), target.unsqueeze(1))
        penalty = self.anchor.penalty(
            self.posterior, self.config.noise_scale, transitions=self.replay.stored
        )
        return main + (samples + penalty[..., None]).sum(1)

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a) = E_i y_i(s, a)``."""
        return outputs.mean(-1)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Equation 1."""
        return quantile_loss(predicted, target, self.levels, self.config.kappa)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Means, both variances (the aleatoric one not below zero) and the law of the return."""
        atoms = self.online(obs)
        mean, epistemic, aleatoric = self._stated(obs)
        return Uncertainty(
            mean=mean,
            epistemic_var=epistemic,
            aleatoric_var=aleatoric.clamp(min=0),
            return_atoms=atoms,
            return_probs=torch.full_like(atoms, 1 / atoms.shape[-1]),
        )

    def _stated(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean, epistemic and aleatoric variance of each action, ``[L, M, A]`` each."""
        quantiles = self.online(obs)
        sample_a, sample_b = self.posterior(obs).unbind(1)
        aleatoric = (
            aleatoric_var(sample_a, sample_b)
            if self.config.aleatoric == "unbiased"
            else biased_aleatoric_var(quantiles)
        )
        return self.q_values(quantiles), epistemic_var(sample_a, sample_b), aleatoric

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, and the share of actions that were not the greedy one, lately.

        Lately is the last full hundredth of the run.
        """
        return {**super().metrics(), "non_greedy_share": self._non_greedy.latest}

    def state_dict(self) -> dict[str, Any]:
        """As for every DQN, with the anchors."""
        return {
            **super().state_dict(),
            "anchor": {"weights": self.anchor.weights, "scale": self.anchor.scale},
            "non_greedy": self._non_greedy.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        super().load_state_dict(state)
        self.anchor.weights = state["anchor"]["weights"]
        self.anchor.scale = state["anchor"]["scale"]
        self._non_greedy.load_state_dict(state["non_greedy"])


class EpsilonUADQN(UADQN, EpsilonGreedyQ):
    """UA-DQN with, besides, random actions of probability ε (Eriksson et al. 2022, Table 8)."""

    config: EpsilonUADQNConfig

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """UA-DQN's action, or, with ε, a random one."""
        return self.sometimes_random(super().act(obs, valid), valid)
