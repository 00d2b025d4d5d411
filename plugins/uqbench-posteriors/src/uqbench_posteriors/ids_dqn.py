"""Information-directed sampling on QR-DQN (Nikolov et al. 2019).

An action is worth its information about Q per squared regret that it may cost. Ignorance is the
variance of the heads of Bootstrapped DQN, noise that of QR-DQN's return distribution: where a
return is noisy anyway, trying it teaches little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from uqbench_dqn.deep_q import DeepQ, of_action
from uqbench_dqn.networks import QNetwork, q_network
from uqbench_dqn.quantiles import midpoint_levels, quantile_loss

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.lanes import LaneLinear, greedy
from uqbench_posteriors.config import IDSConfig

EPSILON = 1e-5
"""ε₁ and ε₂ of the paper: what keeps a normalized variance and an information gain from zero."""


class IDSNetwork(nn.Module):
    """Heads on a shared trunk, and the quantiles of the return on the same trunk.

    The loss of the quantiles changes their own layers alone, as in the authors' implementation:
    only the heads shape what both see.

    Args:
        lanes: L.
        info: the environment.
        config: settings.
    """

    def __init__(self, lanes: int, info: EnvironmentInfo, config: IDSConfig) -> None:
        super().__init__()
        self.heads = q_network(lanes, info, config, 1, ensemble=config.heads, shared=True)
        first = cast(LaneLinear, self.heads.layers[0])
        width = first.weight.shape[-2]  # of what the convolutions give
        self.quantiles = QNetwork(
            lanes, (width,), info.n_actions, config.quantiles, hidden=config.hidden
        )
        self._count = config.heads

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, K + N]``: heads, then quantiles."""
        x = shared = self.heads.convolved(obs)
        for layer in self.heads.layers[:-1]:
            x = layer(x).relu()
        heads = self.heads.outputs(x).unflatten(0, (-1, self._count)).squeeze(-1)
        return torch.cat([heads.movedim(1, -1), self.quantiles(shared.detach())], -1)


def information_ratio(mean: Tensor, var: Tensor, noise: Tensor, regret_scale: float) -> Tensor:
    """``Δ̂² / I`` of each action, ``[..., A]``: the least is information-directed (Algorithm 1).

    ``Δ̂ = max_b (μ_b + λ σ_b) − (μ_a − λ σ_a)``, ``I = log(1 + σ² / ρ²) + ε₂``.

    Args:
        mean: μ, ``[..., A]``.
        var: σ², of the posterior of Q, ``[..., A]``.
        noise: ρ², ``[..., A]``.
        regret_scale: λ.
    """
    std = regret_scale * var.sqrt()
    regret = (mean + std).amax(-1, keepdim=True) - (mean - std)
    information = (var / noise).log1p() + EPSILON
    return regret.square() / information


def normalized_noise(var: Tensor, valid: Tensor | None, least: float) -> Tensor:
    """``ρ² = Var Z_a / (ε₁ + mean_b Var Z_b)``, at least ``least``: ``[..., A]`` (equation 9)."""
    if valid is None:
        average = var.mean(-1, keepdim=True)
    else:
        average = (var * valid).sum(-1, keepdim=True) / valid.sum(-1, keepdim=True)
    return (var / (EPSILON + average)).clamp(min=least)


class IDSQRDQN(DeepQ):
    """QR-DQN and Bootstrapped DQN on one trunk, acting by information-directed sampling.

    Source: Nikolov et al. 2019, Algorithm 1
    """

    config: IDSConfig
    shared_by_lanes = ("levels",)

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: IDSConfig, device: torch.device
    ) -> None:
        outputs = config.heads + config.quantiles
        network = IDSNetwork(len(seeds), info, config)
        super().__init__(info, seeds, config, outputs, device, network=network)
        self.levels = midpoint_levels(config.quantiles).to(device)

    def parts(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """The heads ``[..., K]`` and the quantiles ``[..., N]`` of outputs ``[..., K + N]``."""
        heads, quantiles = outputs.split([self.config.heads, self.config.quantiles], -1)
        return heads, quantiles

    def q_values(self, outputs: Tensor) -> Tensor:
        """The mean of the heads, in which the evaluated policy is greedy."""
        return self.parts(outputs)[0].mean(-1)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """``argmin_a Δ̂² / I`` ``[L, K]`` in ``obs`` ``[L, K, *obs]``, among valid actions."""
        heads, quantiles = self.parts(self.online(obs))
        mean, var = heads.mean(-1), heads.var(-1, correction=0)
        if valid is not None:
            mean = mean.masked_fill(~valid, -torch.inf)  # never the bound of another's regret
        rho2 = normalized_noise(quantiles.var(-1, correction=0), valid, self.config.least_noise)
        ratio = information_ratio(mean, var, rho2, self.config.regret_scale)
        return self.exploration.explore(greedy(-ratio, valid), noise, valid)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber loss of the heads, averaged over them, and the quantile regression loss."""
        (heads, quantiles), (values, returns) = self.parts(predicted), self.parts(target)
        of_heads = F.huber_loss(heads, values, reduction="none", delta=self.config.kappa).mean(-1)
        return of_heads + quantile_loss(quantiles, returns, self.levels, self.config.quantile_kappa)

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + γ max_a Q⁻_k(s', a)`` of each head, ``r + γ Z⁻(s', argmax_a E Z⁻)``.

        ``[L, B, K + N]``: heads and return distribution learn as in their own papers.
        """
        heads, quantiles = self.parts(self.target(batch["next_obs"]))
        valid = batch["next_valid"]
        values = heads.masked_fill(~valid[..., None], -torch.inf).amax(-2)
        returns = of_action(quantiles, greedy(quantiles.mean(-1), valid))
        continues = self.discount * (~batch["terminated"])
        following = torch.cat([values, returns], -1)
        target: Tensor = batch["reward"][..., None] + continues[..., None] * following
        return target

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The heads as samples of Q; the quantiles of the return about the heads' mean."""
        heads, quantiles = self.parts(self.online(obs))
        mean = heads.mean(-1)
        return Uncertainty(
            mean=mean,
            epistemic_var=heads.var(-1, correction=1),
            value_samples=heads,
            aleatoric_var=quantiles.var(-1, correction=0),
            return_atoms=quantiles + (mean - quantiles.mean(-1))[..., None],
            return_probs=torch.full_like(quantiles, 1 / quantiles.shape[-1]),
        )
