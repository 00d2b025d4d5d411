"""When and at which states a batch's agents are asked how uncertain they are, and the scores.

Nothing here changes training: states are visited, and rollouts made, in environments of their own,
with seeds of their own, and an agent's ``policy`` and ``uncertainty`` are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from uqbench.agent import Agent, Uncertainty
from uqbench.environment import LaneEnv
from uqbench.identity import Run
from uqbench.queries import QueryStates, visit
from uqbench.runner.train.curves import CurveColumns
from uqbench.runner.train.rollouts import Make, rollout_returns
from uqbench.scoring.query_scores import PREFIX, novelty, score_queries
from uqbench.scoring.truth import Truth
from uqbench.seeding import derive_seed
from uqbench.suites.tables import Queries

EARLY = (0.25, 0.5)
"""Shares of training after which agents are asked, before its end."""


@dataclass(frozen=True)
class Asked:
    """Where agents are asked.

    Attributes:
        obs: ``[M, *obs]``.
        env: an environment whose first M lanes stand there.
    """

    obs: Tensor
    env: LaneEnv


class QueryScorer:
    """Scores what a batch's agents predict at their task's query states.

    Args:
        queries: the budget's table.
        states: of the task.
        runs: of the batch, one a lane.
        make: makes the task's environment, one lane a seed.
        discount: γ.
        steps: of a run.
    """

    def __init__(
        self,
        queries: Queries,
        states: QueryStates,
        runs: Sequence[Run],
        make: Make,
        discount: float,
        steps: int,
    ) -> None:
        self._queries = queries
        self._states = states.first(queries.states)
        self._steps = steps
        self._runs = runs
        self._make = make
        self._discount = discount
        self.points = frozenset({*(max(1, round(share * steps)) for share in EARLY), steps})
        self.curves = CurveColumns(len(runs))

    def score(self, agent: Agent, step: int) -> Mapping[str, Tensor]:
        """Scores ``[L]`` by name after ``step`` steps; those that are undefined are NaN.

        An agent that states nothing is not asked any further.
        """
        asked = self._asked.obs[: self._count(step)]
        obs = asked.expand(len(self._runs), *asked.shape)
        stated = agent.uncertainty(obs)
        if stated is None:
            return {}
        found = score_queries(stated, self._truth(agent, step))
        for lane, one in enumerate(found):
            self.curves.add(lane, step, one.curves)
        scores = {
            f"{PREFIX}{name}": torch.tensor([one.scores[name] for one in found])
            for name in found[0].scores
        }
        auroc = self._novelty(agent, stated, obs)
        if auroc is not None:
            scores[f"{PREFIX}novelty_auroc"] = torch.tensor(auroc)
        return scores

    def _count(self, step: int) -> int:
        """How many states are asked after ``step`` steps."""
        early = self._queries.early_states
        return self._queries.states if early is None or step == self._steps else early

    @cached_property
    def _asked(self) -> Asked:
        """The states, visited when they are first needed."""
        states, count = self._states, len(self._states.places)
        walkers = self._make(states.seeds)
        standing = self._make([0] * count)
        standing.reset()
        obs: dict[int, Tensor] = {}
        for numbers, lanes, seen in visit(states, walkers):
            standing.copy_lanes(numbers, walkers, lanes, random_numbers=True)
            obs |= dict(zip(numbers.tolist(), seen, strict=True))
        return Asked(torch.stack([obs[number] for number in range(count)]), standing)

    def _truth(self, agent: Agent, step: int) -> Truth:
        """By rollouts, with seeds that depend on task, seed and step, and not on the method."""
        env, queries, states = self._asked.env, self._queries, self._count(step)
        count = states * env.n_actions * queries.rollouts
        seeds = [
            [derive_seed("queries", run.suite, run.task, run.seed, step, n) for n in range(count)]
            for run in self._runs
        ]
        returns = rollout_returns(
            agent, env, self._make, seeds, states, self._discount, queries.tail
        )
        return Truth.from_samples(returns)

    def _novelty(self, agent: Agent, seen: Uncertainty, obs: Tensor) -> list[float] | None:
        if self._states.unseen is None:
            return None
        unseen = agent.uncertainty(self._states.unseen(obs))
        return None if unseen is None else novelty(seen, unseen)
