"""Who knows how the table of bandits is drawn: exact Bayes, and one who has seen nothing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, Uncertainty, observation_shape
from uqbench.contract.specs import NoConfig
from uqbench.lanes import greedy
from uqbench_profile.bandit_scores import climatology, posterior
from uqbench_profile.bandit_table import (
    ACTIONS,
    CELLS,
    FEW,
    KINDS,
    MANY,
    STATES,
    BanditTable,
    Kind,
    Table,
)
from uqbench_profile.laws import Law

LEVELS = 32
"""Quantiles that stand for a normal component."""
UNSEEN = KINDS.index(Kind(0, CELLS[0].noise))


class Climatology(Agent):
    """States what is known before any data: ``μ ~ N(0, 1)``, and rewards of states of any kind.

    Elsewhere it states nothing, and takes the first action everywhere.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: NoConfig,
        device: torch.device,
    ) -> None:
        self._n_actions = info.n_actions
        self._bandits = observation_shape(info) == BanditTable.observation_space.shape

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The valid action."""
        return self.policy(obs, valid)

    def observe(self, step: Step) -> None:
        """Learn nothing."""

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The first valid action."""
        return greedy(obs.new_zeros(*obs.shape[:2], self._n_actions), valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """The same about every state."""
        if not self._bandits:
            return None
        shape = (*obs.shape[:2], ACTIONS)
        law = climatology()
        return stated(
            torch.zeros(shape, dtype=torch.float64),
            torch.ones(shape, dtype=torch.float64),
            Law(*(part.expand(*shape, -1) for part in law)),
        )


class Bayes(Agent):
    """The exact posterior of every bandit, of a kind that its rewards give away.

    Few rewards of a state are quiet or loud, many may be certain or have two modes: what it takes
    for the kind is almost always right.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: NoConfig,
        device: torch.device,
    ) -> None:
        shape = (len(seeds), STATES + 1, ACTIONS)
        self._rewards = torch.zeros(*shape, MANY, dtype=torch.float64)
        self._count = torch.zeros(shape, dtype=torch.int64)

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The valid action."""
        return self.policy(obs, valid)

    def observe(self, step: Step) -> None:
        """Keep the rewards; those of rest after the first ones are dropped."""
        lanes = torch.arange(len(step.obs))
        for actor in range(step.action.shape[1]):
            at = (lanes, step.obs[:, actor].argmax(-1), step.action[:, actor])
            number = self._count[at]
            fits = number < MANY
            kept = (*(index[fits] for index in at), number[fits])
            self._rewards[kept] = step.reward[fits, actor].double()
            self._count[at] += 1

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The action with the higher posterior mean."""
        mean, _ = posterior(self._table())
        return greedy(_at(mean, obs).float(), valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The posterior of μ, and the rewards' law given its mean."""
        table = self._table()
        mean, std = posterior(table)
        law = Table(table.kind, mean, table.rewards, table.order).laws()
        return stated(_at(mean, obs), _at(std, obs), Law(*(_at(part, obs) for part in law)))

    def _table(self) -> Table:
        rewards, count = self._rewards[:, :STATES], self._count[:, :STATES]
        seen = torch.arange(MANY) < count[..., None]
        mean = (rewards * seen).sum(-1, keepdim=True) / count.clamp(min=1)[..., None]
        from_mean = ((rewards - mean) * seen).abs()
        freedom = (count - 1).clamp(min=1).sum(-1)
        deviation = (from_mean.square().sum((-1, -2)) / freedom).sqrt()
        low = rewards.masked_fill(~seen, torch.inf).amin(-1, keepdim=True)
        high = rewards.masked_fill(~seen, -torch.inf).amax(-1, keepdim=True)
        two = ((rewards == low) | (rewards == high) | ~seen).all(-1).all(-1)
        quiet = deviation < 0.9  # of few, wrong for one loud state in forty
        few = torch.where(quiet, 0, 2)
        many = torch.where(quiet, 1, 3)
        many = torch.where(two & (deviation > 0.5), KINDS.index(Kind(MANY, 0.0, 1.5)), many)
        many = torch.where(deviation < 1e-3, KINDS.index(Kind(MANY, 0.0)), many)
        most = count.amax(-1)
        kind = torch.where(most > FEW, many, torch.where(most > 0, few, UNSEEN))
        return Table(kind, mean.squeeze(-1), rewards, torch.zeros(0))


def stated(mean: Tensor, std: Tensor, law: Law) -> Uncertainty:
    """Normal beliefs about μ ``[L, M, A]`` and a law of rewards ``[L, M, A, C]``, as atoms."""
    levels = (torch.arange(LEVELS, dtype=torch.float64) + 0.5) / LEVELS
    atoms = law.means[..., None] + law.stds[..., None] * torch.special.ndtri(levels)
    weights = (law.weights[..., None] / LEVELS).expand_as(atoms)
    centre = (law.weights * law.means).sum(-1, keepdim=True)
    var = (law.weights * (law.stds.square() + (law.means - centre).square())).sum(-1)
    return Uncertainty(
        mean=mean,
        epistemic_var=std.square(),
        aleatoric_var=var,
        return_atoms=atoms.flatten(-2),
        return_probs=weights.flatten(-2),
    )


def _at(values: Tensor, obs: Tensor) -> Tensor:
    """``[L, S, A, *]`` of the states observed, ``[L, M, A, *]``; of rest those of the last."""
    state = obs.argmax(-1).clamp(max=STATES - 1)
    lane = torch.arange(len(state))[:, None]
    return values[lane, state]
