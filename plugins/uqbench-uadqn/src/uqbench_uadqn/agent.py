"""UA-DQN (Clements et al. 2019, "Estimating risk and uncertainty in deep RL", section 2.4).

Three networks: the main one, which is QR-DQN's, and two samples A and B of the posterior, an
ensemble of two. The main network's target copy gives the targets of all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from uqbench_dqn.deep_q import DeepQ, of_action
from uqbench_dqn.networks import q_network
from uqbench_dqn.quantiles import centered_quantiles, midpoint_levels, quantile_loss
from uqbench_dqn.thompson import ThompsonSampling

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.contract.seeding import derive_seed
from uqbench.lanes import greedy, initialize, lane_generators
from uqbench_uadqn.anchor import Anchor
from uqbench_uadqn.config import UADQNConfig
from uqbench_uadqn.share import RecentShare
from uqbench_uadqn.uncertainty import aleatoric_var, biased_aleatoric_var, epistemic_var

SAMPLES = 2
VARIANCE_FLOOR = 1e-8
"""Added to the epistemic variance before its square root."""


class UADQN(DeepQ):
    """Uncertainty-aware DQN: Thompson noise on epistemic, penalty on aleatoric std.

    Source: Clements et al. 2019, section 2.4
    """

    config: UADQNConfig

    shared_by_lanes = ("levels",)
    native = "uqbench_uadqn.native:native"

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: UADQNConfig,
        device: torch.device,
    ) -> None:
        self.posterior = q_network(len(seeds), info, config, config.quantiles, ensemble=SAMPLES)
        own = lane_generators([derive_seed("posterior", seed) for seed in seeds])
        initialize(self.posterior, own, config.posterior_gain)
        self.posterior.to(device)
        super().__init__(
            info, seeds, config, config.quantiles, device, extra_networks=self.posterior
        )
        self.anchor = Anchor(self.posterior)
        self.levels = midpoint_levels(config.quantiles).to(device)
        self.thompson = ThompsonSampling(seeds, info.n_actions, self.clock)
        self._non_greedy = RecentShare(len(seeds), info.total_steps, self.clock)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """UA-DQN's action; with ε, where ``exploration`` says so, a random one."""
        return self.choose_action(obs, self.thompson.noise(), valid, self.exploration.noise())

    def choose_action(
        self, obs: Tensor, noise: Tensor, valid: Tensor | None, random: Tensor | None = None
    ) -> Tensor:
        """``argmax_a  E_i y_i − λ σ̃_aleatoric + β σ̃_epistemic ξ_a``, ``ξ_a ~ N(0, 1)``.

        Actions ``[L, K]`` in ``obs`` ``[L, K, *obs]``; ``noise`` is ξ, ``[L, K, A]``, and
        ``random`` are exploration's numbers, None for no random actions.
        """
        quantiles, samples = self.online(obs), self.posterior(obs)
        epistemic = epistemic_var(*samples.unbind(1))
        action = self.thompson.choose(
            self.risk_adjusted_by(quantiles, samples),
            self.config.epistemic_weight * (epistemic + VARIANCE_FLOOR).sqrt(),
            noise,
            valid,
        )
        if random is not None:
            action = self.exploration.explore(action, random, valid)
        self._non_greedy.add(action != greedy(self.q_values(quantiles), valid))
        return action

    def risk_adjusted_by(self, quantiles: Tensor, samples: Tensor) -> Tensor:
        """``E_i y_i − λ σ̃_aleatoric``, or what ``risk`` says: ``[L, M, A]``.

        Args:
            quantiles: of the main network, ``[L, M, A, N]``.
            samples: of both posterior samples, ``[L, 2, M, A, N]``.
        """
        config = self.config
        if config.risk is not None:
            models = samples.movedim(1, -2)
            return config.risk(models, torch.ones_like(models), torch.ones_like(models[..., 0]))
        mean = self.q_values(quantiles)
        if not config.aleatoric_weight:
            return mean
        std = self._aleatoric_var(quantiles, samples).clamp(min=0).sqrt()
        return mean - config.aleatoric_weight * std

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The actions of training without its exploration: as averse to risk as that."""
        if self.config.risk is None and not self.config.aleatoric_weight:
            return super().policy(obs, valid)
        return greedy(self.risk_adjusted_by(self.online(obs), self.posterior(obs)), valid)

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

    @property
    def start_outputs(self) -> Tensor:
        """Outputs of the main network at the start.

        A standard normal law's quantiles, whose mean is 0.
        """
        return centered_quantiles(self.config.quantiles)

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a) = E_i y_i(s, a)``."""
        return outputs.mean(-1)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Equation 1."""
        return quantile_loss(predicted, target, self.levels, self.config.kappa)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Means, variances (the aleatoric one clamped at zero), the return distribution.

        The variance of Q is that of the posterior samples' means. The paper's σ̃²_epistemic, by
        which actions are chosen, is the quantiles': their variances averaged, not the variance of
        their average.
        """
        atoms, samples = self.online(obs), self.posterior(obs)
        mean = self.q_values(atoms)
        return Uncertainty(
            mean=mean,
            epistemic_var=samples.mean(-1).var(1, correction=1),
            epistemic_dof=torch.full_like(mean, samples.shape[1] - 1),
            quantile_epistemic_var=epistemic_var(*samples.unbind(1)),
            aleatoric_var=self._aleatoric_var(atoms, samples).clamp(min=0),
            return_atoms=atoms,
            return_probs=torch.full_like(atoms, 1 / atoms.shape[-1]),
        )

    def _aleatoric_var(self, quantiles: Tensor, samples: Tensor) -> Tensor:
        """By the covariance of the two samples, or variant 1's, ``[L, M, A]``."""
        if self.config.aleatoric == "biased":
            return biased_aleatoric_var(quantiles)
        return aleatoric_var(*samples.unbind(1))

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, and the share of non-greedy actions in the last hundredth of the run."""
        return {**super().metrics(), "non_greedy_share": self._non_greedy.latest}
