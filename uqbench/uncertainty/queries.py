"""When a batch's agents are asked how uncertain they are, and the scores of their answers.

Nothing here changes training: states are visited, and rollouts made, in environments of their own,
with seeds of their own, and an agent's ``policy`` and ``uncertainty`` are pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from uqbench.environment import HasState, LaneEnv
from uqbench.policy import Queried
from uqbench.uncertainty.query_scores import PREFIX, contraction, novelty, score_queries
from uqbench.uncertainty.query_sources import ExactSource, QuerySource
from uqbench.uncertainty.run_curves import CurveColumns

EARLY = (0.25, 0.5)
"""Shares of training after which agents are asked, before its end."""


class QueryScorer:
    """Scores what a batch's agents predict at their task's query states.

    Args:
        source: the states, and the truth.
        lanes: L.
        steps: of a run.

    Attributes:
        points: steps after which agents are asked.
        curves: collected for pictures.
    """

    def __init__(self, source: QuerySource, lanes: int, steps: int) -> None:
        self._source = source
        self.points = frozenset({*(max(1, round(share * steps)) for share in EARLY), steps})
        self.curves = CurveColumns(lanes)

    @property
    def parts(self) -> dict[str, HasState]:
        """What a checkpoint keeps, by name."""
        parts: dict[str, HasState] = {"curves": self.curves}
        return parts if self._source.counter is None else parts | {"visits": self._source.counter}

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Count the states in which training stands after ``step`` steps, where they are."""
        if self._source.counter is not None:
            self._source.counter.see(step, env, obs)

    def score(self, agent: Queried, step: int) -> Mapping[str, Tensor]:
        """Scores ``[L]`` by name after ``step`` steps; those that are undefined are NaN.

        An agent that states nothing is not asked any further.
        """
        found = self._scores(self._source, agent, step)
        return {f"{PREFIX}{self._source.name}{name}": values for name, values in found.items()}

    def _scores(self, source: QuerySource, agent: Queried, step: int) -> Mapping[str, Tensor]:
        obs = source.obs(agent, step)
        stated = None if obs is None else agent.uncertainty(obs)
        own = source.own_scores(agent, stated) if isinstance(source, ExactSource) else {}
        if obs is None or stated is None:
            return own
        truth = source.truth(agent, step)
        found = score_queries(stated, truth)
        for lane, one in enumerate(found):
            curves = {f"{source.name}{name}": curve for name, curve in one.curves.items()}
            self.curves.add(lane, step, curves)
        names = dict.fromkeys(name for one in found for name in one.scores)
        scores = {
            name: torch.tensor([one.scores.get(name, math.nan) for one in found]) for name in names
        }
        unseen = source.unseen(obs)
        stated_unseen = None if unseen is None else agent.uncertainty(unseen)
        auroc = None if stated_unseen is None else novelty(stated, stated_unseen)
        if auroc is not None:
            scores["novelty_auroc"] = torch.tensor(auroc)
        if source.counter is not None:
            falls = contraction(stated, ~truth.q.isnan(), source.counter.counts)
            if falls is not None:
                scores["contraction"] = torch.tensor(falls)
        return {**scores, **own}
