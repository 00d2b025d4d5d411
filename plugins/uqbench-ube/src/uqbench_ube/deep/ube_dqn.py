"""UBE-DQN (O'Donoghue et al. 2018, Algorithm 1, and its n-step variant).

DQN that explores by Thompson sampling from ``N(Q̂, β² u)``, u being learned by a head of its own.
Algorithm 1's step from s, a to s' is done when the agent acts in s': it chooses a', which the
target of u needs, takes a gradient step of the head, updates Σ_a, and takes a'. Q-learning's
gradient step for the transition comes right before that, as in DQN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.networks import QNetwork

from uqbench.agent import EnvSpec, Step, Uncertainty
from uqbench.lanes import Normal, RMSProp, greedy, initialise, lane_generators
from uqbench.seeding import derive_seed
from uqbench_ube.deep.config import UBEDQNConfig
from uqbench_ube.deep.head import UncertaintyHead
from uqbench_ube.deep.windows import Windows
from uqbench_ube.linear import InverseCounts


class Look(NamedTuple):
    """What the networks say about states, and what Thompson sampling does there.

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


class UBEDQN(DeepQ):
    """Q-learning, and Thompson sampling by learned uncertainties in the place of ε-greedy.

    Raises:
        ValueError: the discount is 1 and there is no ``initial_uncertainty``.
    """

    config: UBEDQNConfig
    online: QNetwork
    compiled = (*DeepQ.compiled, "look", "learn_uncertainty")

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: UBEDQNConfig, device: torch.device
    ) -> None:
        super().__init__(spec, seeds, config, outputs=1, device=device)
        if config.initial_uncertainty is None and spec.discount == 1:
            raise ValueError(
                "with a discount of 1 the prior's uncertainty is infinite; "
                "give the agent an initial_uncertainty"
            )
        lanes, (inputs, features) = len(seeds), self.online.widths
        hidden = config.uncertainty_hidden or features
        self.head = UncertaintyHead(lanes, inputs, hidden, spec.n_actions)
        own = lane_generators([derive_seed("uncertainty", seed) for seed in seeds])
        initialise(self.head, own, config.gain)
        self.head.to(device)
        self.head_optimiser = RMSProp(
            self.head.parameters(),
            config.uncertainty_learning_rate,
            config.uncertainty_decay,
            config.uncertainty_epsilon,
        )
        self.counts = InverseCounts(lanes, spec.n_actions, features, config.prior, device)
        self.windows = Windows(lanes, inputs, config.horizon, spec.discount, device)
        self._noise = Normal(seeds, "thompson", (spec.n_actions,), device)
        # the step before, which is finished when the next action is chosen
        self._trunk = torch.zeros(lanes, inputs, device=device)
        self._features = torch.zeros(lanes, features, device=device)
        self._action = torch.zeros(lanes, dtype=torch.int64, device=device)
        self._next_obs = torch.zeros_like(self.replay.gather(self._action[:, None])["obs"][:, 0])
        self._next_valid = torch.ones_like(self._all_valid)
        self._terminated = torch.zeros(lanes, dtype=torch.bool, device=device)
        self._ended = torch.zeros_like(self._terminated)
        self._local = torch.full((lanes,), torch.nan, device=device)
        self._u = torch.full((lanes,), torch.nan, device=device)
        self._error = torch.full((lanes,), torch.nan, device=device)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Choose a', learn from the step before what it needs a' for, and take a'."""
        if self.clock.t == 0:  # never captured: a program's first steps run from Python
            self._begin(obs)
        # where an episode ended, what would have followed is not what is acted on
        both = torch.stack([obs, self._next_obs], 1)
        masks = None if valid is None else torch.stack([valid, self._next_valid], 1)
        seen = self.look(both, self._noise.at(self.clock), masks)
        local = self.counts.update(self._features, self._action).float()
        self.windows.add(
            self.clock.tensor - 1,
            self._trunk,
            self._action,
            local,
            following=torch.where(self._ended, seen.u[:, 1], seen.u[:, 0]),
            terminated=self._terminated,
            ended=self._ended,
        )
        self._error.copy_(self.learn_uncertainty(*self.windows.take()))
        self._local.copy_(local)
        self._u.copy_(seen.u[:, 0])
        self._trunk.copy_(seen.trunk[:, 0])
        self._features.copy_(seen.features[:, 0])
        return seen.action[:, 0]

    def look(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Look:
        """Equation 3, ``argmax_b Q̂_b + β ζ_b u_b^½``, in states ``[L, M, *obs]``.

        Args:
            obs: the states.
            noise: ζ, ``[L, A]``, the same for all states of a lane.
            valid: ``[L, M, A]`` bool; None where all actions are.
        """
        trunk = self.online.trunk(obs)
        features = self.online.features(trunk)
        roots = self.head(trunk).abs()
        values = self.q_values(self.online.outputs(features))
        action = greedy(values + self.config.beta * noise[:, None] * roots, valid)
        root = roots.gather(-1, action[..., None]).squeeze(-1)
        return Look(action, root * root, trunk, features)

    def learn_uncertainty(
        self, trunk: Tensor, action: Tensor, target: Tensor, ready: Tensor
    ) -> Tensor:
        """A gradient step of the head with respect to ``(y − u_sa)²``.

        ``trunk`` holds features that were computed when the agent acted: nothing flows into them.

        Returns:
            ``y − u_sa`` before the step, ``[L]``; not a number in lanes that had no example.
        """
        with torch.enable_grad():
            roots = self.head(trunk[:, None])[:, 0]
            root = roots.gather(-1, action[:, None]).squeeze(-1)
            error = target - root * root
            gradients = torch.autograd.grad((error * error).sum(), list(self.head.parameters()))
        self.head_optimiser.step(gradients, ready)
        return torch.where(ready, error.detach(), torch.nan)

    def observe(self, step: Step) -> None:
        """Keep what is left to learn until the next action; then as every DQN."""
        self._action.copy_(step.action)
        self._next_obs.copy_(step.next_obs)
        if step.valid_actions is not None:
            self._next_valid.copy_(step.valid_actions)
        self._terminated.copy_(step.terminated)
        self._ended.copy_(step.terminated | step.truncated)
        super().observe(step)

    def _begin(self, obs: Tensor) -> None:
        """Give the head its initial uncertainty."""
        trunk = self.online.trunk(obs[:, None])
        features = self.online.features(trunk)[:, 0].double()
        if self.config.initial_uncertainty is None:
            norms = (features * features).sum(-1)
            u = self.config.prior * norms / (1 - self.discount**2)
        else:
            u = torch.full_like(features[:, 0], self.config.initial_uncertainty)
        self.head.begin_at(trunk[:, 0], u.float())

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a) = φ(s)ᵀ w_a``, with a bias."""
        return outputs.squeeze(-1)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber loss of the temporal-difference error, as DQN's."""
        error = F.huber_loss(predicted, target, reduction="none", delta=self.config.kappa)
        return error.squeeze(-1)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q-values, and the variance of the posterior that is sampled from, ``β² u``."""
        trunk = self.online.trunk(obs)
        roots = self.config.beta * self.head(trunk)
        mean = self.q_values(self.online.outputs(self.online.features(trunk)))
        return Uncertainty(mean=mean, epistemic_var=roots * roots)

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, ν and u of the last actions, and the head's last error."""
        return {
            **super().metrics(),
            "local_uncertainty": self._local,
            "u": self._u,
            "u_error": self._error,
        }

    def state_dict(self) -> dict[str, Any]:
        """As for every DQN, with the head, Σ_a, the windows and the step under way."""
        return {
            **super().state_dict(),
            "head": self.head.state_dict(),
            "head_optimiser": self.head_optimiser.state_dict(),
            "counts": self.counts.state_dict(),
            "windows": self.windows.state_dict(),
            "last": {name: tensor.clone() for name, tensor in self._last().items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        super().load_state_dict(state)
        self.head.load_state_dict(state["head"])
        self.head_optimiser.load_state_dict(state["head_optimiser"])
        self.counts.load_state_dict(state["counts"])
        self.windows.load_state_dict(state["windows"])
        for name, tensor in self._last().items():
            tensor.copy_(state["last"][name])

    def _last(self) -> dict[str, Tensor]:
        return {
            "trunk": self._trunk,
            "features": self._features,
            "action": self._action,
            "next_obs": self._next_obs,
            "next_valid": self._next_valid,
            "terminated": self._terminated,
            "ended": self._ended,
            "local": self._local,
            "u": self._u,
            "error": self._error,
        }
