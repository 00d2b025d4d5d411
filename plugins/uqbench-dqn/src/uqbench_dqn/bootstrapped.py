"""Bootstrapped DQN (Osband et al. 2016, "Deep exploration via bootstrapped DQN").

K heads on a shared trunk, each a Q-function that learns from its own targets. An episode is played
by one head, drawn when it begins, so that exploration is consistent for its length. A transition is
stored with masks ``m_k ~ Bernoulli(p)``, one a head: whether that learns from it.

Read as in Clements et al. 2019 by default: masks are ones (the heads differ by their initial
weights), and actions are ε-greedy in the head's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from uqbench.contract.agent import EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import Normal, ReplayBuffer, Uniform, greedy, initialize_uniform
from uqbench_dqn.bootstrapped_network import HeadsNetwork, RandomizedPriors, heads_network
from uqbench_dqn.config import BootstrappedDQNConfig
from uqbench_dqn.deep_q import DeepQ, of_action


class BootstrappedDQN(DeepQ):
    """DQN with ten heads, one of which plays an episode.

    A network with K outputs per action: the heads' Q-values.

    Source: Osband et al. 2016; settings of Clements et al. 2019, section 3.2
    """

    config: BootstrappedDQNConfig
    online: HeadsNetwork | RandomizedPriors
    native = "uqbench_dqn.native.heads:native"

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: BootstrappedDQNConfig,
        device: torch.device,
        *,
        network: RandomizedPriors | None = None,
    ) -> None:
        heads = network or heads_network(len(seeds), info, config)
        super().__init__(info, seeds, config, config.heads, device, network=heads)
        self.masks = None
        if config.mask_probability < 1:
            field = {"mask": ((config.heads,), torch.bool)}
            self.masks = ReplayBuffer(len(seeds), self.replay.capacity, field, self.clock)
        self.perturbations = None
        if config.noise_std > 0:
            field = {"perturbation": ((config.heads,), torch.float32)}
            self.perturbations = ReplayBuffer(len(seeds), self.replay.capacity, field, self.clock)
            each = (info.actors, config.heads)
            self._next_perturbations = Normal(seeds, "perturbations", each, device)
        self._next_masks = Uniform(seeds, "masks", (info.actors, config.heads), device)
        self._next_head = Uniform(seeds, "head", (info.actors,), device)
        self._head = self._drawn(Uniform(seeds, "first head", (info.actors,), device).at(0))

    @property
    def start_outputs(self) -> Tensor:
        """Zero: the heads differ by their hidden layers and their data."""
        return torch.zeros(1)

    def initialize(self, generators: Sequence[torch.Generator]) -> None:
        """The trunk's weights, and the heads' as ``head_weights`` says."""
        super().initialize(generators)
        if self.config.head_weights == "uniform":
            initialize_uniform(self.online.layers, generators)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """ε-greedy actions ``[L, K]`` in the episode's head, or in a risk measure of all heads."""
        if self.config.risk is None:
            values = self.online.of_heads(obs, self._head)
        else:
            values = self.risk_adjusted(self.online(obs))
        return self.exploration.explore(greedy(values, valid), noise, valid)

    def observe(self, step: Step) -> None:
        """Draw masks and perturbations, learn, and draw a head where an episode ended."""
        if self.masks is not None:
            self.masks.add(mask=self._next_masks.at(self.clock) < self.config.mask_probability)
        if self.perturbations is not None:
            noise = self.config.noise_std * self._next_perturbations.at(self.clock)
            self.perturbations.add(perturbation=noise)
        drawn = self._drawn(self._next_head.at(self.clock))
        self._head.copy_(torch.where(step.terminated | step.truncated, drawn, self._head))
        super().observe(step)

    def _drawn(self, u: Tensor) -> Tensor:
        """Heads ``[L, K]`` from numbers uniform in [0, 1)."""
        return (u * self.config.heads).long()

    def minibatch(self, index: Tensor) -> dict[str, Tensor]:
        """The transitions, with the masks and perturbations ``[L, B, K]`` that there are."""
        batch = super().minibatch(index)
        for stored in (self.masks, self.perturbations):
            batch = batch if stored is None else batch | stored.gather(index)
        return batch

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``1/K Σ_k m_k L_k``: each head's gradient times its mask (Algorithm 1), ``[L, B]``."""
        if self.masks is None:
            return super().objective(batch)
        predicted = of_action(self.online(batch["obs"]), batch["action"])
        losses = self.losses(predicted, self.bellman_target(batch))
        return (batch["mask"] * losses).mean(-1)

    def q_values(self, outputs: Tensor) -> Tensor:
        """The mean of the heads, in which the evaluated policy is greedy."""
        return outputs.mean(-1)

    def risk_adjusted(self, outputs: Tensor) -> Tensor:
        """A risk measure of the heads, as samples of the posterior of Q; their mean without one."""
        risk = self.config.risk
        return self.q_values(outputs) if risk is None else risk.of_samples(outputs)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber loss of each head's temporal-difference error, averaged over the heads."""
        return self.losses(predicted, target).mean(-1)

    def losses(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber losses ``[..., K]``, one a head."""
        return F.huber_loss(predicted, target, reduction="none", delta=self.config.kappa)

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + ε_k + γ max_a Q⁻_k(s', a)``, ``[L, B, K]``: Q⁻ is the head's own, or shared."""
        values = self.target(batch["next_obs"])
        if self.config.targets == "mean":
            values = values.mean(-1, keepdim=True).expand_as(values)
        elif self.config.targets == "min":
            values = values.amin(-1, keepdim=True).expand_as(values)
        best = values.masked_fill(~batch["next_valid"][..., None], -torch.inf).amax(-2)
        continues = self.discount * (~batch["terminated"])
        target: Tensor = batch["reward"][..., None] + continues[..., None] * best
        return target if self.perturbations is None else target + batch["perturbation"]

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The heads as a sample of the posterior of Q, and their variance."""
        heads = self.online(obs)
        return Uncertainty(
            mean=self.q_values(heads),
            epistemic_var=heads.var(-1, correction=1),
            value_samples=heads,
        )
