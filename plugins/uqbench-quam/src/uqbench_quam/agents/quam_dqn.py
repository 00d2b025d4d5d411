"""QUAM-DQN: a DQN that explores by adversarial models of its Q-network.

This project's own extension, in no paper: Algorithm 1 of Schweighofer et al. 2023, in its form for
regression, applied to a state's Q-values. An adversarial model of an action is a Q-network that
predicts a higher value for it at the same temporal-difference error on the replay buffer; the
difference is the action's bonus. The search moves only the last layer, so its gradients are written
out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional as F
from uqbench_dqn.dqn import ScalarQ
from uqbench_dqn.networks import QNetwork

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.lanes import LaneLinear, Uniform, epsilon_greedy, greedy
from uqbench_quam.agents.config import QuamDQNConfig as QuamDQNConfig

BETAS = (0.9, 0.999)
ADAM_EPSILON = 1e-8


class Evidence(NamedTuple):
    """Transitions that an adversarial model must explain as well as the Q-network does.

    Attributes:
        features: with a one appended, ``[L, B, H + 1]``.
        taken: one-hot actions, ``[L, B, A]``.
        targets: Bellman targets, ``[L, B]``.
    """

    features: Tensor
    taken: Tensor
    targets: Tensor


class QuamDQN(ScalarQ):
    """Explores by adversarial models of its Q-network (this project's extension).

    ``argmax_a Q(s, a) + β (Q̃_a(s, a) − Q(s, a))``, with ``Q̃_a`` the adversarial model of a.

    Source: this project, after Schweighofer et al. 2023
    """

    config: QuamDQNConfig
    online: QNetwork
    compiled = ("learn", "choose")
    native = "uqbench_quam.agents.native:native"

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: QuamDQNConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device, config.kappa)
        self._explore = Uniform(seeds, "explore", (info.actors, 2), device)
        self._evidence = Uniform(seeds, "evidence", (config.search_batch,), device)
        self._bonus = torch.zeros(len(seeds), info.actors, device=device)
        self._non_greedy = torch.zeros_like(self._bonus)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Random until learning starts, then optimistic by the bonus, with a share ε random."""
        u = self._explore.at(self.clock)
        if self.clock.t < self.start:
            return epsilon_greedy(u.new_zeros(*u.shape[:2], self.n_actions), u, 1.0, valid)
        return self.choose(obs, u, self._evidence.at(self.clock), valid)

    def phase(self, t: int) -> tuple[int, ...]:
        """What DeepQ says of step ``t``, and whether it searches."""
        return (*super().phase(t), t >= self.start)

    def choose(self, obs: Tensor, u: Tensor, drawn: Tensor, valid: Tensor | None) -> Tensor:
        """Actions ``[L, K]`` in ``obs`` ``[L, K, *obs]``.

        Args:
            obs: observations.
            u: ``[L, K, 2]`` uniform in [0, 1), for random actions.
            drawn: ``[L, search_batch]`` uniform in [0, 1), selects the evidence.
            valid: ``[L, K, A]``, or None where all actions are valid.
        """
        values, bonus = self.searched(obs, drawn)
        optimistic = values + self.config.bonus_weight * bonus
        action = epsilon_greedy(optimistic, u, self.config.epsilon, valid)
        self._bonus.copy_(bonus.gather(-1, action[..., None])[..., 0])
        self._non_greedy += action != greedy(values, valid)
        return action

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q-values; once there are transitions, the squared bonuses as epistemic variances."""
        if self.clock.t == 0:
            return Uncertainty(mean=self.q_values(self.online(obs)))
        values, bonus = self.searched(obs, self._evidence.at(self.clock))
        return Uncertainty(mean=values, epistemic_var=bonus.square())

    def searched(self, obs: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """Q-values and bonuses of ``obs`` ``[L, M, *obs]``, ``[L, M, A]`` each."""
        stored = self.clock.tensor.clamp(max=self.replay.capacity)
        batch = self.replay.gather((drawn * stored).long())
        evidence = Evidence(
            self._features(batch["obs"]),
            F.one_hot(batch["action"], self.n_actions).to(drawn.dtype),
            self.bellman_target(batch).squeeze(-1),
        )
        last = cast(LaneLinear, self.online.layers[-1])
        weights = torch.cat([last.weight, last.bias], dim=1)  # [L, H + 1, A]
        features = self._features(obs)
        # one state after another with one actor: products of all at once round otherwise
        parts = features.split(1 if self.clock.actors == 1 else features.shape[1], 1)
        found = [bonuses(weights, part, evidence, self.config) for part in parts]
        return features @ weights, torch.cat(found, 1)

    def _features(self, obs: Tensor) -> Tensor:
        features = self.online.features(self.online.trunk(obs))
        return torch.cat([features, torch.ones_like(features[..., :1])], dim=-1)

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, the last actions' mean bonus, and how many were not greedy so far."""
        return {
            **super().metrics(),
            "bonus": self._bonus.mean(-1),
            "non_greedy_actions": self._non_greedy.sum(-1),
        }


def bonuses(weights: Tensor, features: Tensor, evidence: Evidence, config: QuamDQNConfig) -> Tensor:
    """How much higher each value could be: ``max Q̃_a − Q`` over accepted models, at least 0.

    One search per action and state, all at once: that of action a moves the weights ``w̃_a`` of its
    own output, minimizes ``−(Q̃_a − Q) + c (L(w̃) − L(w) − γ)`` with L the mean squared
    temporal-difference error, and accepts where ``L(w̃) ≤ L(w) + γ`` (Algorithm 1).

    Args:
        weights: of the last layer, the bias as their last row, ``[L, H + 1, A]``.
        features: of the states, with a one appended, ``[L, M, H + 1]``.
        evidence: the transitions.
        config: of the search.

    Returns:
        ``[L, M, A]``.
    """
    states = features.shape[1]
    start = weights.unsqueeze(2).expand(-1, -1, states, -1)  # [L, H + 1, M, A]
    moved = start.clone()
    mean, square = torch.zeros_like(moved), torch.zeros_like(moved)
    inputs = evidence.features  # of all states: their searches are columns of one product
    taken = evidence.taken.unsqueeze(2)
    targets = evidence.targets[..., None, None]
    size = inputs.shape[1]

    def errors(w: Tensor) -> tuple[Tensor, Tensor]:
        """Temporal-difference errors of each action's transitions, and their mean square."""
        residual = ((inputs @ w.flatten(2)).view(*inputs.shape[:2], states, -1) - targets) * taken
        squares = residual.square().movedim(1, -1).contiguous()
        return residual, squares.sum(-1) / size

    def value(w: Tensor) -> Tensor:
        return (features.unsqueeze(2) @ w.movedim(1, 2)).squeeze(2)

    reference_loss = errors(start)[1]
    reference = value(start)
    best = torch.zeros_like(reference)
    for step in range(config.search_steps):
        residual, _ = errors(moved)
        c = config.penalty * config.growth ** (step // config.period)
        along = (inputs.mT @ residual.flatten(2)).view_as(moved)
        gradient = c * 2 / size * along - features.mT.unsqueeze(-1)
        mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * square + (1 - BETAS[1]) * gradient.square()
        rate = config.search_rate / (1 - BETAS[0] ** (step + 1))
        root = (square / (1 - BETAS[1] ** (step + 1))).sqrt()
        moved = moved - rate * mean / (root + ADAM_EPSILON)
        accepted = errors(moved)[1] <= reference_loss + config.slack
        best = torch.where(accepted, torch.maximum(best, value(moved) - reference), best)
    return best
