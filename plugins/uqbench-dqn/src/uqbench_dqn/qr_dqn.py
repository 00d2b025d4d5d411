"""QR-DQN (Dabney et al. 2017, "Distributional RL with quantile regression")."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench_dqn.config import QRDQNConfig
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.quantiles import centered_quantiles, midpoint_levels, quantile_loss


class QRDQN(DeepQ):
    """Quantile-regression DQN, ε-greedy; with a risk measure, risk-sensitive.

    A network with N outputs per action: quantiles of the return.

    Source: Dabney et al. 2017; settings of Clements et al. 2019, section 3.2
    """

    config: QRDQNConfig

    shared_by_lanes = ("levels",)
    native = "uqbench_dqn.native.agents:qr_dqn"

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: QRDQNConfig, device: torch.device
    ) -> None:
        super().__init__(info, seeds, config, outputs=config.quantiles, device=device)
        self.levels = midpoint_levels(config.quantiles).to(device)

    @property
    def start_outputs(self) -> Tensor:
        """A standard normal law's quantiles, whose mean is 0."""
        return centered_quantiles(self.config.quantiles)

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a) = 1/N Σ_i q_i(s, a)``."""
        return outputs.mean(-1)

    def risk_adjusted(self, outputs: Tensor) -> Tensor:
        """``risk(Z(s, a))``, or Q without one."""
        risk = self.config.risk
        if risk is None:
            return self.q_values(outputs)
        return risk.of_distribution(outputs, torch.ones_like(outputs))

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Quantile regression loss."""
        return quantile_loss(predicted, target, self.levels, self.config.kappa)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The return distribution, N equally likely atoms, and its variance."""
        atoms = self.online(obs)
        return Uncertainty(
            mean=self.q_values(atoms),
            aleatoric_var=atoms.var(-1, correction=0),
            return_atoms=atoms,
            return_probs=torch.full_like(atoms, 1 / atoms.shape[-1]),
        )
