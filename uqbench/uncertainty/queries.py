"""When a batch's agents are asked how uncertain they are, and the scores of their answers.

Nothing here changes training: states are visited, and rollouts made, in environments of their own,
with seeds of their own, and an agent's ``policy`` and ``uncertainty`` are pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from uqbench.environment import LaneEnv
from uqbench.state import HasState
from uqbench.uncertainty.query_scores import PREFIX, contraction, novelty, score_queries
from uqbench.uncertainty.query_sources import Asked, QuerySource
from uqbench.uncertainty.run_curves import CurveColumns

EARLY = (0.25, 0.5)
"""Shares of training after which agents are asked, before its end."""


class SeesTraining(HasState, Protocol):
    """Takes from training what is asked about, or scored with, later."""

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Look at the environment ``[L · K]``, and what it acts on next, ``[L, K, *obs]``."""


class QueryScorer:
    """Scores what a batch's agents predict at their task's query states.

    Args:
        sources: the states, and the truth.
        lanes: L.
        steps: of a run.
        seeing: look at every step of training, by the name under which a checkpoint keeps them.

    Attributes:
        points: steps after which agents are asked.
        curves: collected for pictures.
    """

    def __init__(
        self,
        sources: Sequence[QuerySource],
        lanes: int,
        steps: int,
        seeing: Mapping[str, SeesTraining] | None = None,
    ) -> None:
        self._sources = sources
        self.points = frozenset({*(max(1, round(share * steps)) for share in EARLY), steps})
        self.curves = CurveColumns(lanes)
        self._seeing = seeing or {}

    @property
    def parts(self) -> dict[str, HasState]:
        """What a checkpoint keeps, by name."""
        return {"curves": self.curves, **self._seeing}

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Let what sees it look at training after ``step`` steps."""
        for one in self._seeing.values():
            one.see(step, env, obs)

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
        visits = source.visits()
        falls = None if visits is None else contraction(stated, ~truth.q.isnan(), visits)
        if falls is not None:
            scores["contraction"] = torch.tensor(falls)
        return scores
