"""SENTINEL-K (Eriksson et al. 2022, Algorithm 1): an ensemble of return distributions.

K categorical DQNs learn from data of their own; the composite risk of what they predict decides.

Shapes: ``K`` members, ``A`` actions, ``N`` atoms; ``G`` minibatches of an update: K or one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from uqbench_dqn.categorical import cross_entropy, project, support

from uqbench.agent import Agent, EnvSpec, Step, Uncertainty, observation_dtype, observation_shape
from uqbench.lanes import (
    Adam,
    Clock,
    Replay,
    Uniform,
    copy_parameters,
    epsilon_greedy,
    greedy,
    initialise,
    lane_generators,
    linear_schedule,
    target_copy,
)
from uqbench_sentinel import ftrl
from uqbench_sentinel.bootstrap import Bootstrap
from uqbench_sentinel.config import SentinelConfig
from uqbench_sentinel.networks import MemberNetworks
from uqbench_sentinel.schedule import update_number


class Sentinel(Agent):
    """Decides by the composite risk of K categorical DQNs, weighed by FTRL."""

    compiled = ("learn", "choose")
    clock: Clock

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: SentinelConfig, device: torch.device
    ) -> None:
        self.config = config
        self.discount = spec.discount
        self.risk = config.risk
        self.clock = Clock(device)
        self.support = support(config.atoms, config.v_min, config.v_max).to(device)
        lanes, shape = len(seeds), observation_shape(spec)
        self.online = MemberNetworks(
            lanes, config.members, spec.n_actions, shape, config.hidden, config.atoms
        )
        initialise(self.online, lane_generators(seeds), config.gain)
        self.online.to(device)
        self.target = target_copy(self.online)
        self.optimiser = Adam(self.online.parameters(), config.learning_rate, config.adam_epsilon)
        capacity = min(config.replay_capacity, spec.total_steps)
        self.replay = Replay(
            lanes,
            capacity,
            {
                "obs": (shape, observation_dtype(spec)),
                "action": ((), torch.int64),
                "reward": ((), torch.float32),
                "terminated": ((), torch.bool),
                "next_obs": (shape, observation_dtype(spec)),
                "next_valid": ((spec.n_actions,), torch.bool),
            },
            self.clock,
        )
        self.bootstrap = Bootstrap(lanes, config.members, capacity, self.clock)
        self._own = config.minibatch == "per_member"
        drawn = (config.updates_per_event, config.members if self._own else 1, config.batch_size)
        self._batches = Uniform(seeds, "replay", drawn, device)
        self._masks = Uniform(seeds, "masks", (config.members,), device)
        self._explore = Uniform(seeds, "explore", (2,), device)
        self._all_valid = torch.ones(lanes, spec.n_actions, dtype=torch.bool, device=device)
        self._loss = torch.full((lanes,), torch.nan, device=device)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """ε-greedy in the composite risk (lines 15 to 23; Tables 5 to 8 for ε)."""
        return self.choose(obs, self._explore.at(self.clock), valid)

    def choose(self, obs: Tensor, u: Tensor, valid: Tensor | None) -> Tensor:
        """Actions ``[L]`` in ``obs`` ``[L, *obs]``; ``u`` ``[L, 2]`` uniform in [0, 1)."""
        return epsilon_greedy(self.composite(obs[:, None])[:, 0], u, self.epsilon, valid)

    @property
    def epsilon(self) -> Tensor:
        """ε of the coming step, ``[]``."""
        first, last = self.config.epsilon_first, self.config.epsilon_last
        return linear_schedule(self.clock.tensor, first, last, 0, self.config.epsilon_steps)

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
        """``[L, K, A, M, N] -> [L, M, A, K, N]``, logarithms of the members' laws."""
        return logits.permute(0, 3, 2, 1, 4).log_softmax(-1)

    def observe(self, step: Step) -> None:
        """Store the transition and its masks; update and renew the target networks when due."""
        self.replay.add(
            obs=step.obs,
            action=step.action,
            reward=step.reward,
            terminated=step.terminated,
            next_obs=step.next_obs,
            next_valid=self._all_valid if step.valid_actions is None else step.valid_actions,
        )
        self.bootstrap.add(self._masks.at(self.clock) < self.config.mask_probability)
        learns, renews = self.phase(self.clock.t)
        if learns:
            for u in self._batches.at(self.clock).unbind(1):
                objective = self.learn(self._drawn(u))
                self._loss.copy_(objective.mean(-1))
        if renews:
            copy_parameters(self.online, self.target)
        self.clock.advance()

    def phase(self, t: int) -> tuple[bool, bool]:
        """Whether step ``t`` updates the networks, and whether it renews the target networks."""
        config = self.config
        number = update_number(t + 1, config.schedule, config.update_period)
        return number is not None, number is not None and number % config.target_every == 0

    def _drawn(self, u: Tensor) -> Tensor:
        """Replay slots of the minibatches (line 7), ``[L, G, B] -> [L, G, B]``."""
        return self.bootstrap.draw(u) if self._own else (u * self.replay.stored).long()

    def learn(self, slots: Tensor) -> Tensor:
        """One gradient step of all members on the transitions in ``slots`` ``[L, G, B]``.

        Returns:
            The members' masked losses before the step, ``[L, K · B]``; their mean is left to the
            caller, since compiled sums of few numbers depend on the lanes beside.
        """
        batch = self.replay.gather(slots.flatten(1))
        batch = {name: value.unflatten(1, slots.shape[1:]) for name, value in batch.items()}
        masks = self.bootstrap.masks(slots.flatten(1)).unflatten(1, slots.shape[1:])
        loss = self.losses(batch) * self._of_own(masks)
        mean = loss.sum() / slots.shape[-1]
        self.optimiser.step(torch.autograd.grad(mean, self.optimiser.parameters))
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

        ``a* = argmax_a F^C(Z(s', a))`` over all K target networks, which count alike there.
        """
        groups, size = batch["action"].shape[1:]
        logits = self.target(batch["next_obs"].flatten(1, 2)[:, None])
        probs = logits.softmax(-1)
        aleatoric = self.risk.aleatoric.of_sorted(self.support, probs)
        composite = self.risk.epistemic.of_quantiles(aleatoric, dim=1).transpose(1, 2)
        best = greedy(composite, batch["next_valid"].flatten(1, 2)).unflatten(1, (groups, size))
        probs = probs.unflatten(3, (groups, size))
        # member i's law at its own minibatch
        own = probs.diagonal(dim1=1, dim2=3).movedim(-1, 1) if self._own else probs[:, :, :, 0]
        continues = self.discount * (~batch["terminated"])
        values = batch["reward"][..., None] + continues[..., None] * self.support
        return project(values, self.of_action(own, best), self.support)

    def of_action(self, values: Tensor, action: Tensor) -> Tensor:
        """Of the networks' ``[L, K, A, B, N]`` those of actions ``[L, G, B]``: ``[L, K, B, N]``."""
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
        """The marginal law of the return, ``P̂ = 1/K Σ_k P_k``, and what its variance is made of."""
        probs = self._log_probs(self.online(obs[:, None])).exp()
        means = (probs * self.support).sum(-1)
        variances = (probs * (self.support - means[..., None]).square()).sum(-1)
        marginal = probs.mean(-2)
        return Uncertainty(
            mean=means.mean(-1),
            epistemic_var=means.var(-1, correction=0),
            aleatoric_var=variances.mean(-1),
            return_atoms=self.support.expand_as(marginal),
            return_probs=marginal,
        )

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, and ε."""
        return {"loss": self._loss, "epsilon": self.epsilon.expand_as(self._loss)}

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimiser, replay, masks and the step."""
        return {
            "clock": self.clock.state_dict(),
            "loss": self._loss.clone(),
            "online": self.online.state_dict(),
            "target": self.target.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "replay": self.replay.state_dict(),
            "bootstrap": self.bootstrap.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self.clock.load_state_dict(state["clock"])
        self._loss.copy_(state["loss"])
        for name in ("online", "target", "optimiser", "replay", "bootstrap"):
            getattr(self, name).load_state_dict(state[name])
