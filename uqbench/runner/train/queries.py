"""When a batch's agents are asked how uncertain they are, and the scores of their answers.

Nothing here changes training: states are visited, and rollouts made, in environments of their own,
with seeds of their own, and an agent's ``policy`` and ``uncertainty`` are pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from uqbench.environment import LaneEnv
from uqbench.runner.train.curves import CurveColumns
from uqbench.runner.train.own_states import OwnStates
from uqbench.runner.train.query_sources import Asked, QuerySource
from uqbench.runner.train.visits import Visits
from uqbench.scoring.query_scores import PREFIX, contraction, novelty, score_queries

EARLY = (0.25, 0.5)
"""Shares of training after which agents are asked, before its end."""


class Saved(Protocol):
    """What a checkpoint has to keep."""

    def state_dict(self) -> dict[str, Any]:
        """What it has so far."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""


class QueryScorer:
    """Scores what a batch's agents predict at their task's query states.

    Args:
        sources: the states, and the truth.
        lanes: L.
        steps: of a run.
        own: states of the runs themselves, one of the sources; None where none are kept.
        visits: counts the states of the only source; None where they cannot be counted.

    Attributes:
        points: steps after which agents are asked.
        curves: collected for pictures.
    """

    def __init__(
        self,
        sources: Sequence[QuerySource],
        lanes: int,
        steps: int,
        own: OwnStates | None = None,
        visits: Visits | None = None,
    ) -> None:
        self._sources = sources
        self.points = frozenset({*(max(1, round(share * steps)) for share in EARLY), steps})
        self.curves = CurveColumns(lanes)
        self._own, self._visits = own, visits

    @property
    def parts(self) -> dict[str, Saved]:
        """What a checkpoint keeps, by name."""
        parts = {"curves": self.curves, "own states": self._own, "visits": self._visits}
        return {name: part for name, part in parts.items() if part is not None}

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Look at training after ``step`` steps: what is kept of it is asked about later."""
        for watcher in (self._own, self._visits):
            if watcher is not None:
                watcher.see(step, env, obs)

    def score(self, agent: Asked, step: int) -> Mapping[str, Tensor]:
        """Scores ``[L]`` by name after ``step`` steps; those that are undefined are NaN.

        An agent that states nothing is not asked any further.
        """
        scores: dict[str, Tensor] = {}
        for source in self._sources:
            found = self._scores(source, agent, step)
            scores |= {f"{PREFIX}{source.name}{name}": values for name, values in found.items()}
        return scores

    def _scores(self, source: QuerySource, agent: Asked, step: int) -> Mapping[str, Tensor]:
        obs = source.obs(agent, step)
        stated = None if obs is None else agent.uncertainty(obs)
        if obs is None or stated is None:
            return {}
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
        if self._visits is not None:
            falls = contraction(stated, ~truth.q.isnan(), self._visits.counts)
            if falls is not None:
                scores["contraction"] = torch.tensor(falls)
        return scores
