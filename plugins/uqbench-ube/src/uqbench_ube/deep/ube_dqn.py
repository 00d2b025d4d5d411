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

from uqbench.agent import EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import RMSProp, ThompsonSampling, initialize, lane_generators
from uqbench.lanes.numerics import dot
from uqbench.seeding import derive_seed
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
        self.windows = Windows(lanes, inputs, config.horizon, info.discount, device)
        self.thompson = ThompsonSampling(seeds, info.n_actions, self.clock, scale=config.beta)
        # the previous step, which is finished when the next action is chosen
        self._trunk = torch.zeros(lanes, inputs, device=device)
        self._features = torch.zeros(lanes, features, device=device)
        self._action = torch.zeros(lanes, dtype=torch.int64, device=device)
        self._next_obs = torch.zeros_like(self.replay.gather(self._action[:, None])["obs"][:, 0])
        self._next_valid = torch.ones(lanes, info.n_actions, dtype=torch.bool, device=device)
        self._terminated = torch.zeros(lanes, dtype=torch.bool, device=device)
        self._ended = torch.zeros_like(self._terminated)
        self._local = torch.full((lanes,), torch.nan, device=device)
        self._u = torch.full((lanes,), torch.nan, device=device)
        self._error = torch.full((lanes,), torch.nan, device=device)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Choose a', finish learning from the previous step, which needs a', and take a'."""
        if self.clock.t == 0:  # never captured: the first steps of a phase run from Python
            self._set_initial_uncertainty(obs)
        # where an episode ended, the successor's state is not the one to act in
        both = torch.stack([obs, self._next_obs], 1)
        masks = None if valid is None else torch.stack([valid, self._next_valid], 1)
        sampled = self.thompson_sample(both, self.thompson.noise(), masks)
        local = self.counts.update(self._features, self._action).float()
        self.windows.add(
            self.clock.tensor - 1,
            self._trunk,
            self._action,
            local,
            following=torch.where(self._ended, sampled.u[:, 1], sampled.u[:, 0]),
            terminated=self._terminated,
            ended=self._ended,
        )
        self._error.copy_(self.learn_uncertainty(*self.windows.take()))
        self._local.copy_(local)
        self._u.copy_(sampled.u[:, 0])
        self._trunk.copy_(sampled.trunk[:, 0])
        self._features.copy_(sampled.features[:, 0])
        return sampled.action[:, 0]

    def thompson_sample(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Sampled:
        """Equation 3, ``argmax_b Q̂_b + β ζ_b u_b^½``, in states ``[L, M, *obs]``.

        Args:
            obs: the states.
            noise: ζ, ``[L, A]``, the same for all states of a lane.
            valid: ``[L, M, A]`` bool; None where all actions are.
        """
        trunk = self.online.trunk(obs)
        features = self.online.features(trunk)
        u = self.head(trunk)
        values = self.q_values(self.online.outputs(features))
        action = self.thompson.choose(values, u.sqrt(), noise[:, None], valid)
        of_action = u.gather(-1, action[..., None]).squeeze(-1)
        return Sampled(action, of_action, trunk, features)

    def learn_uncertainty(
        self, trunk: Tensor, action: Tensor, target: Tensor, ready: Tensor
    ) -> Tensor:
        """A gradient step of the head with respect to ``(y − u_sa)²``.

        ``trunk`` holds features from when the agent acted: no gradient flows into them.

        Returns:
            ``y − u_sa`` before the step, ``[L]``; NaN in lanes that had no example.
        """
        with torch.enable_grad():
            u = self.head(trunk[:, None])[:, 0]
            error = target - u.gather(-1, action[:, None]).squeeze(-1)
            gradients = torch.autograd.grad((error * error).sum(), list(self.head.parameters()))
        self.head_optimizer.step(gradients, ready)
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
        """Give the head its initial uncertainty."""
        trunk = self.online.trunk(obs[:, None])
        features = self.online.features(trunk)[:, 0].double()
        if self.config.initial_uncertainty is None:
            norms = dot(features, features)
            u = self.config.prior * norms / (1 - self.discount**2)
        else:
            u = torch.full_like(features[:, 0], self.config.initial_uncertainty)
        self.head.start_at(trunk[:, 0], u.float())

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q-values, and the variance of the posterior that is sampled from, ``β² u``."""
        trunk = self.online.trunk(obs)
        std = self.config.beta * self.head(trunk).sqrt()
        mean = self.q_values(self.online.outputs(self.online.features(trunk)))
        return Uncertainty(mean=mean, epistemic_var=std * std)

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, ν and u of the last actions, and the head's last error."""
        return {
            **super().metrics(),
            "local_uncertainty": self._local,
            "u": self._u,
            "u_error": self._error,
        }
