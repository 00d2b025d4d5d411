"""UBE-DQN (O'Donoghue et al. 2018, Algorithm 1, and its n-step variant).

DQN that explores by Thompson sampling from ``N(Q̂, β² u)``, u being learned by a head of its own.
Algorithm 1's step from s, a to s' is done when the agent acts in s': it chooses a', which the
target of u needs, takes a gradient step of the head, updates Σ_a, and takes a'. Q-learning's
gradient step for the transition comes right before that, as in DQN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from uqbench_dqn.dqn import ScalarQ
from uqbench_dqn.networks import QNetwork
from uqbench_dqn.rmsprop import RMSProp
from uqbench_dqn.thompson import ThompsonSampling

from uqbench.contract.agent import EnvironmentInfo, Step, Uncertainty
from uqbench.contract.seeding import derive_seed
from uqbench.lanes import initialize, lane_generators
from uqbench.lanes.numerics import dot
from uqbench_ube.deep.config import UBEDQNConfig
from uqbench_ube.deep.head import UncertaintyHead
from uqbench_ube.deep.windows import Windows
from uqbench_ube.linear import InverseCounts


class Sampled(NamedTuple):
    """What Thompson sampling does in states, and what it knows about them.

    Attributes:
        action: ``[L, M]``.
        u: uncertainty of that action, ``[L, M]``.
        trunk: ``[L, M, F]``.
        features: φ, ``[L, M, D]``.
    """

    action: Tensor
    u: Tensor
    trunk: Tensor
    features: Tensor


class UBEDQN(ScalarQ):
    """DQN with Thompson sampling by learned uncertainties of its values.

    Source: O'Donoghue et al. 2018, Algorithm 1

    Raises:
        ValueError: the discount is 1 and there is no ``initial_uncertainty``.
    """

    config: UBEDQNConfig
    online: QNetwork
    compiled = ("learn", "thompson_sample", "learn_uncertainty")
    native = "uqbench_ube.deep.native:native"

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: UBEDQNConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device, config.kappa)
        if config.initial_uncertainty is None and info.discount == 1:
            raise ValueError(
                "with a discount of 1 the prior's uncertainty is infinite; "
                "give the agent an initial_uncertainty"
            )
        lanes, (inputs, features) = len(seeds), self.online.widths
        streams = (lanes, info.actors)
        hidden = config.uncertainty_hidden or features
        self.head = UncertaintyHead(lanes, inputs, hidden, info.n_actions)
        own = lane_generators([derive_seed("uncertainty", seed) for seed in seeds])
        initialize(self.head, own, config.gain)
        self.head.to(device)
        self.head_optimizer = RMSProp(
            self.head.parameters(),
            config.uncertainty_learning_rate,
            config.uncertainty_decay,
            config.uncertainty_epsilon,
        )
        self.counts = InverseCounts(lanes, info.n_actions, features, config.prior, device)
        self.windows = Windows(lanes * info.actors, inputs, config.horizon, info.discount, device)
        self.thompson = ThompsonSampling(seeds, info.n_actions, self.clock, scale=config.beta)
        # the previous step, which is finished when the next action is chosen
        self._trunk = torch.zeros(*streams, inputs, device=device)
        self._features = torch.zeros(*streams, features, device=device)
        self._action = torch.zeros(streams, dtype=torch.int64, device=device)
        self._next_obs = torch.zeros_like(self.replay.gather(self._action)["obs"])
        self._next_valid = torch.ones(*streams, info.n_actions, dtype=torch.bool, device=device)
        self._terminated = torch.zeros(streams, dtype=torch.bool, device=device)
        self._ended = torch.zeros_like(self._terminated)
        self._local = torch.full(streams, torch.nan, device=device)
        self._u = torch.full(streams, torch.nan, device=device)
        self._error = torch.full(streams, torch.nan, device=device)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Choose a', finish learning from the previous step, which needs a', and take a'."""
        if self.clock.t == 0:  # never captured: the first steps of a phase run from Python
            self._set_initial_uncertainty(obs)
        # where an episode ended, the successor's state is not the one to act in
        both = torch.cat([obs, self._next_obs], 1)
        masks = None if valid is None else torch.cat([valid, self._next_valid], 1)
        noise = self.thompson.noise()
        sampled = self.thompson_sample(both, torch.cat([noise, noise], 1), masks)
        here, successor = sampled.u.chunk(2, 1)
        local = self.counts.update(self._features, self._action).float()
        self.windows.add(
            self.clock.vector_step - 1,
            self._trunk.flatten(0, 1),
            self._action.flatten(),
            local.flatten(),
            following=torch.where(self._ended, successor, here).flatten(),
            terminated=self._terminated.flatten(),
            ended=self._ended.flatten(),
        )
        example = (part.unflatten(0, local.shape) for part in self.windows.take())
        self._error.copy_(self.learn_uncertainty(*example))
        self._local.copy_(local)
        actors = local.shape[1]
        self._u.copy_(here)
        self._trunk.copy_(sampled.trunk[:, :actors])
        self._features.copy_(sampled.features[:, :actors])
        return sampled.action[:, :actors]

    def thompson_sample(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Sampled:
        """Equation 3, ``argmax_b Q̂_b + β ζ_b u_b^½``, in states ``[L, M, *obs]``.

        Args:
            obs: the states.
            noise: ζ, ``[L, M, A]``, the same for both states of an actor.
            valid: ``[L, M, A]`` bool; None where all actions are.
        """
        trunk = self.online.trunk(obs)
        features = self.online.features(trunk)
        u = self.head(trunk)
        values = self.q_values(self.online.outputs(features))
        action = self.thompson.choose(values, u.sqrt(), noise, valid)
        of_action = u.gather(-1, action[..., None]).squeeze(-1)
        return Sampled(action, of_action, trunk, features)

    def learn_uncertainty(
        self, trunk: Tensor, action: Tensor, target: Tensor, ready: Tensor
    ) -> Tensor:
        """A gradient step of the head with respect to the mean of ``(y − u_sa)²``.

        ``trunk`` ``[L, K, F]`` holds features from when the actors acted: no gradient flows into
        them. The mean is over the actors that have an example.

        Returns:
            ``y − u_sa`` before the step, ``[L, K]``; NaN for actors that had no example.
        """
        share = ready / ready.sum(-1, keepdim=True).clamp(min=1)
        with torch.enable_grad():
            u = self.head(trunk)
            error = target - u.gather(-1, action[..., None]).squeeze(-1)
            squares = error * error * share
            gradients = torch.autograd.grad(squares.sum(), list(self.head.parameters()))
        self.head_optimizer.step(gradients, ready.any(-1))
        return torch.where(ready, error.detach(), torch.nan)

    def observe(self, step: Step) -> None:
        """Keep what waits for the next action; then as every DQN."""
        self._action.copy_(step.action)
        self._next_obs.copy_(step.next_obs)
        if step.valid_actions is not None:
            self._next_valid.copy_(step.valid_actions)
        self._terminated.copy_(step.terminated)
        self._ended.copy_(step.terminated | step.truncated)
        super().observe(step)

    def _set_initial_uncertainty(self, obs: Tensor) -> None:
        """Give the head its initial uncertainty, that of the first actor's observation."""
        trunk = self.online.trunk(obs[:, :1])
        features = self.online.features(trunk)[:, 0].double()
        if self.config.initial_uncertainty is None:
            norms = dot(features, features)
            u = self.config.prior * norms / (1 - self.discount**2)
        else:
            u = torch.full_like(features[:, 0], self.config.initial_uncertainty)
        self.head.start_at(trunk[:, 0], u.float())

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q-values, and u, or ``β² u``: the variance of the posterior that is sampled from."""
        trunk = self.online.trunk(obs)
        scale = 1.0 if self.config.stated == "u" else self.config.beta
        std = scale * self.head(trunk).sqrt()
        mean = self.q_values(self.online.outputs(self.online.features(trunk)))
        return Uncertainty(mean=mean, epistemic_var=std * std)

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss; ν and u of the last actions, and the head's last error, actors' means."""
        known = ~self._error.isnan()
        error = self._error.nansum(-1) / known.sum(-1).clamp(min=1)
        return {
            **super().metrics(),
            "local_uncertainty": self._local.mean(-1),
            "u": self._u.mean(-1),
            "u_error": torch.where(known.any(-1), error, torch.nan),
        }
