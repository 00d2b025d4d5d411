"""When a batch's agents are asked how uncertain they are, and the scores of their answers.

Nothing here changes training: states are visited, and rollouts made, in environments of their own,
with seeds of their own, and an agent's ``policy`` and ``uncertainty`` are pure.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from uqbench.agent import Agent
from uqbench.runner.train.curves import CurveColumns
from uqbench.runner.train.query_sources import QuerySource
from uqbench.scoring.query_scores import PREFIX, novelty, score_queries

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
        self._lanes = lanes
        self.points = frozenset({*(max(1, round(share * steps)) for share in EARLY), steps})
        self.curves = CurveColumns(lanes)

    def score(self, agent: Agent, step: int) -> Mapping[str, Tensor]:
        """Scores ``[L]`` by name after ``step`` steps; those that are undefined are NaN.

        An agent that states nothing is not asked any further.
        """
        asked = self._source.obs(step)
        obs = asked.expand(self._lanes, *asked.shape)
        stated = agent.uncertainty(obs)
        if stated is None:
            return {}
        found = score_queries(stated, self._source.truth(agent, step))
        for lane, one in enumerate(found):
            self.curves.add(lane, step, one.curves)
        scores = {
            f"{PREFIX}{name}": torch.tensor([one.scores[name] for one in found])
            for name in found[0].scores
        }
        unseen = self._source.unseen(obs)
        stated_unseen = None if unseen is None else agent.uncertainty(unseen)
        auroc = None if stated_unseen is None else novelty(stated, stated_unseen)
        if auroc is not None:
            scores[f"{PREFIX}novelty_auroc"] = torch.tensor(auroc)
        return scores
