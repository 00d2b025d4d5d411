"""SENTINEL-K (Eriksson et al. 2022, Algorithm 1): an ensemble of return distributions.

K categorical DQNs learn from data of their own; the agent acts by the composite risk of their
predictions.

Shapes: ``K`` members, ``A`` actions, ``N`` atoms; ``G`` minibatches of an update: K or one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from uqbench_dqn.categorical import cross_entropy, logits_at_zero, project, support
from uqbench_dqn.networks import output_layer, start_at

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, Uncertainty, observation_shape
from uqbench.contract.updates import triangular_numbers
from uqbench.lanes import (
    Adam,
    Capturable,
    Clock,
    EpsilonGreedy,
    TransitionBuffer,
    Uniform,
    greedy,
    initialize,
    lane_generators,
    sync_target,
    target_copy,
)
from uqbench_sentinel import ftrl
from uqbench_sentinel.bootstrap import Bootstrap
from uqbench_sentinel.config import SentinelConfig
from uqbench_sentinel.networks import ImageMembers, MemberNetworks

BLOCK = 256
"""Steps whose minibatches are drawn at once, unless an event has more than 32."""

DRAWN = 8_192
"""Minibatches of a member that are drawn at once at most."""


class Sentinel(Capturable, Agent):
    """Composite risk of K categorical DQNs, weighted by FTRL.

    Source: Eriksson et al. 2022, Algorithm 1
    """

    compiled = ("learn", "choose_action")
    native = "uqbench_sentinel.native:native"

    shared_by_lanes = ("support",)

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: SentinelConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        self.discount, self.n_actions = info.discount, info.n_actions
        self.risk = config.risk
        self.clock = Clock(device, info.actors)
        self.support = support(config.atoms, config.v_min, config.v_max).to(device)
        lanes, shape = len(seeds), observation_shape(info)
        sizes = (lanes, config.members, info.n_actions, shape, config.hidden, config.atoms)
        own = lane_generators(seeds)
        self.online: nn.Module
        if config.channels:
            self.online = ImageMembers(*sizes, channels=config.channels, kernel=config.kernel)
            own = [generator for generator in own for _ in range(config.members)]
        else:
            self.online = MemberNetworks(*sizes)
        initialize(self.online, own, config.gain)
        if config.start == "zero":
            start_at(output_layer(self.online), logits_at_zero(self.support.cpu()))
        self.online.to(device)
        self.target = target_copy(self.online)
        self.optimizer = Adam(self.online.parameters(), config.learning_rate, config.adam_epsilon)
        capacity = min(config.replay_capacity, info.total_steps)
        self.replay = TransitionBuffer(lanes, capacity, info, self.clock)
        self.bootstrap = Bootstrap(lanes, config.members, self.replay.capacity, self.clock)
        self._own = config.minibatch == "per_member"
        most = -(-info.actors // config.update_period)
        if config.schedule == "triangular":
            most = self._events(info.actors)  # the first vector step has most
        updates = config.updates_per_event * most
        drawn = (updates, config.members if self._own else 1, config.batch_size)
        block = min(BLOCK, max(1, DRAWN // updates))
        self._batches = Uniform(seeds, "replay", drawn, device, block)
        self._masks = Uniform(seeds, "masks", (info.actors, config.members), device)
        self.exploration = EpsilonGreedy(
            seeds,
            info.n_actions,
            self.clock,
            initial=config.epsilon_initial,
            final=config.epsilon_final,
            start=0,
            decay_steps=config.epsilon_decay_steps,
        )
        self._loss = torch.full((lanes,), torch.nan, device=device)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """ε-greedy in the composite risk (lines 15 to 23; Tables 5 to 8 for ε)."""
        return self.choose_action(obs, self.exploration.noise(), valid)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Actions ``[L, K]`` in ``obs`` ``[L, K, *obs]``, by exploration's numbers ``noise``."""
        action = greedy(self.composite(obs), valid)
        return self.exploration.explore(action, noise, valid)

    def composite(self, obs: Tensor) -> Tensor:
        """``Q^C(s, a)`` of observations ``[L, M, *obs]``: ``[L, M, A]`` (lines 16 to 20)."""
        log_probs = self._log_probs(self.online(obs[:, None]))
        config = self.config
        loss = ftrl.losses(log_probs, config.ftrl_kl)
        weights = ftrl.weights(loss, config.ftrl_lambda, config.ftrl_sign)
        aleatoric = self.risk.aleatoric.of_sorted(self.support, log_probs.exp())
        if config.ftrl_use == "probability":
            return self.risk.epistemic(aleatoric, weights)
        scale = config.members if config.ftrl_use == "scale-k" else 1
        return self.risk.epistemic.of_quantiles(scale * weights * aleatoric)

    def _log_probs(self, logits: Tensor) -> Tensor:
        """``[L, K, A, M, N] -> [L, M, A, K, N]``, logarithms of the members' probabilities."""
        return logits.permute(0, 3, 2, 1, 4).log_softmax(-1)

    def observe(self, step: Step) -> None:
        """Store the transitions and their masks; learn and sync the target networks when due."""
        self.replay.store(step, step.reward)
        self.bootstrap.add(self._masks.at(self.clock) < self.config.mask_probability)
        events, syncs = self.phase(self.clock.t)
        if events:
            drawn = self._batches.at(self.clock)[:, : events * self.config.updates_per_event]
            for u in drawn.unbind(1):
                objective = self.learn(self._drawn(u))
                self._loss.copy_(objective.mean(-1))
        if syncs:
            sync_target(self.online, self.target)
        self.clock.advance()

    def phase(self, t: int) -> tuple[int, bool]:
        """How many updates the vector step after ``t`` steps has, and whether it syncs targets."""
        before, after = self._events(t), self._events(t + self.clock.actors)
        period = self.config.target_sync_updates
        return after - before, after // period > before // period

    def _events(self, steps: int) -> int:
        """Updates after the first ``steps`` steps."""
        config = self.config
        if config.schedule == "periodic":
            return steps // config.update_period
        return triangular_numbers(steps)

    def _drawn(self, u: Tensor) -> Tensor:
        """Buffer slots of the minibatches (line 7), ``[L, G, B] -> [L, G, B]``."""
        return self.bootstrap.draw(u) if self._own else (u * self.replay.stored).long()

    def learn(self, slots: Tensor) -> Tensor:
        """One gradient step of all members on the transitions in ``slots`` ``[L, G, B]``.

        Returns:
            The members' masked losses before the step, ``[L, K · B]``; their mean is left to the
            caller (see :mod:`uqbench.lanes.numerics`).
        """
        batch = self.replay.gather(slots.flatten(1))
        batch = {name: value.unflatten(1, slots.shape[1:]) for name, value in batch.items()}
        masks = self.bootstrap.masks(slots.flatten(1)).unflatten(1, slots.shape[1:])
        loss = self.losses(batch) * self._of_own(masks)
        mean = loss.sum() / slots.shape[-1]
        self.optimizer.step(torch.autograd.grad(mean, self.optimizer.parameters))
        return loss.detach().flatten(1)

    def _of_own(self, masks: Tensor) -> Tensor:
        """Each member's masks of its own minibatch: ``[L, G, B, K] -> [L, K, B]``."""
        own = masks.diagonal(dim1=1, dim2=3) if self._own else masks[:, 0]
        return own.transpose(1, 2)

    def losses(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Each member's cross-entropy on its minibatch (line 10), ``[L, K, B]``.

        Args:
            batch: fields of transitions, ``[L, G, B, *]``.
        """
        taken = self.of_action(self.online(batch["obs"]), batch["action"])
        return cross_entropy(taken, self.bellman_target(batch))

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``Φ(r + γ Z⁻_i(s', a*))`` with one a* for all members (lines 8 to 10): ``[L, K, B, N]``.

        ``a* = argmax_a F^C(Z(s', a))`` over all K target networks, equally weighted.
        """
        groups, size = batch["action"].shape[1:]
        logits = self.target(batch["next_obs"].flatten(1, 2)[:, None])
        probs = logits.softmax(-1)
        aleatoric = self.risk.aleatoric.of_sorted(self.support, probs)
        composite = self.risk.epistemic.of_quantiles(aleatoric, dim=1).transpose(1, 2)
        best = greedy(composite, batch["next_valid"].flatten(1, 2)).unflatten(1, (groups, size))
        probs = probs.unflatten(3, (groups, size))
        # member i's distribution at its own minibatch
        own = probs.diagonal(dim1=1, dim2=3).movedim(-1, 1) if self._own else probs[:, :, :, 0]
        continues = self.discount * (~batch["terminated"])
        values = batch["reward"][..., None] + continues[..., None] * self.support
        return project(values, self.of_action(own, best), self.support)

    def of_action(self, values: Tensor, action: Tensor) -> Tensor:
        """The networks' values ``[L, K, A, B, N]`` of actions ``[L, G, B]``: ``[L, K, B, N]``."""
        index = action[:, :, None, :, None].expand(
            -1, self.config.members, -1, -1, values.shape[-1]
        )
        return values.gather(2, index).squeeze(2)

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action in each of ``[L, M]`` observations."""
        return greedy(self.composite(obs), valid)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The marginal return distribution, ``P̂ = 1/K Σ_k P_k``, and the parts of its variance.

        The members' means are a sample of the posterior of Q, whose variance is that of K − 1
        degrees of freedom; one member states none.
        """
        probs = self._log_probs(self.online(obs[:, None])).exp()
        means = (probs * self.support).sum(-1)
        variances = (probs * (self.support - means[..., None]).square()).sum(-1)
        marginal = probs.mean(-2)
        several = self.config.members > 1
        return Uncertainty(
            mean=means.mean(-1),
            epistemic_var=means.var(-1) if several else None,
            value_samples=means if several else None,
            aleatoric_var=variances.mean(-1),
            return_atoms=self.support.expand_as(marginal),
            return_probs=marginal,
        )

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, and ε."""
        return {"loss": self._loss, **self.exploration.metrics()}
