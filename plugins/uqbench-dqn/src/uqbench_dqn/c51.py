"""C51 (Bellemare et al. 2017, "A distributional perspective on RL"), also called CDQN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.lanes import greedy
from uqbench_dqn.categorical import cross_entropy, logits_at_zero, project, support
from uqbench_dqn.config import C51Config
from uqbench_dqn.deep_q import DeepQ, of_action


class C51(DeepQ):
    """Categorical DQN (CDQN), ε-greedy; with a risk measure, risk-sensitive.

    A network with N outputs per action: logits of the return distribution on a fixed support.

    Source: Bellemare et al. 2017
    """

    config: C51Config

    shared_by_lanes = ("support",)
    native = "uqbench_dqn.native.agents:c51"

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: C51Config, device: torch.device
    ) -> None:
        self.support = support(config.atoms, config.v_min, config.v_max)
        super().__init__(info, seeds, config, outputs=config.atoms, device=device)
        self.support = self.support.to(device)

    @property
    def start_outputs(self) -> Tensor:
        """Logits of a law that has nearly all of its mass at the atom nearest to 0."""
        return logits_at_zero(self.support)

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a) = Σ_i z_i p_i(s, a)``."""
        return (outputs.softmax(-1) * self.support).sum(-1)

    def risk_adjusted(self, outputs: Tensor) -> Tensor:
        """``risk(Z(s, a))``, or Q without one."""
        risk = self.config.risk
        if risk is None:
            return self.q_values(outputs)
        return risk.of_distribution(self.support.expand_as(outputs), outputs.softmax(-1))

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy of logits with the projected target distribution (Algorithm 1)."""
        return cross_entropy(predicted, target)

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``Φ(r + γ Z⁻(s', a*))``, ``a* = argmax_a Q⁻(s', a)``: masses ``[L, B, N]``.

        With a risk measure a* is the action that it prefers.
        """
        outputs = self.target(batch["next_obs"])
        best = greedy(self.risk_adjusted(outputs), batch["next_valid"])
        continues = self.discount * (~batch["terminated"])
        values = batch["reward"][..., None] + continues[..., None] * self.support
        return project(values, of_action(outputs, best).softmax(-1), self.support)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The return distribution, and its variance."""
        outputs = self.online(obs)
        probs, mean = outputs.softmax(-1), self.q_values(outputs)
        return Uncertainty(
            mean=mean,
            aleatoric_var=(probs * (self.support - mean[..., None]).square()).sum(-1),
            return_atoms=self.support.expand_as(probs),
            return_probs=probs,
        )
