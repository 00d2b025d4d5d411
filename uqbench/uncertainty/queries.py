"""When a batch's agents are asked how uncertain they are, and the scores of their answers.

Nothing here changes training: states are visited, and rollouts made, in environments of their own,
with seeds of their own, and an agent's ``policy`` and ``uncertainty`` are pure.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.agent import Queried
from uqbench.contract.environment import LaneEnv
from uqbench.results.tables import Columns
from uqbench.uncertainty.epistemic import auroc
from uqbench.uncertainty.query_scores import PREFIX, contraction, novelty, score_queries
from uqbench.uncertainty.query_sources import ExactSource, QuerySource, Visits, of_lane

Block = Mapping[str, Tensor | int | str]
"""Columns ``[n]`` by name, and values that are the same in all its rows."""

CURVES = {"step": np.int64, "curve": object, "x": np.float64, "y": np.float64}
PREDICTIONS = {
    "step": np.int32, "state": np.int32, "action": np.int32, "mean": np.float32,
    "std": np.float32, "difference_std": np.float32, "truth": np.float32, "truth_se": np.float32,
    "deviation_se": np.float32, "visits": np.float32,
    "climatology_mean": np.float32, "climatology_std": np.float32,
}  # fmt: skip
"""Columns of a run's files of these names, with their types."""


class LaneColumns:
    """A table of every lane.

    Args:
        lanes: L.
        types: of the columns, by name.
    """

    def __init__(self, lanes: int, types: Mapping[str, Any]) -> None:
        self._types = types
        self._blocks: list[list[Block]] = [[] for _ in range(lanes)]

    def add(self, lane: int, block: Block) -> None:
        """Keep a block of rows, whose tensors are on the CPU."""
        self._blocks[lane].append(block)

    def finish(self) -> list[Columns]:
        """The table of each lane."""
        return [
            {
                name: np.concatenate([np.zeros(0, kind), *(_column(b, name, kind) for b in blocks)])
                for name, kind in self._types.items()
            }
            for blocks in self._blocks
        ]

    def state_dict(self, lane: int | None = None) -> dict[str, Any]:
        """Everything so far, of all lanes or of one."""
        return {"lanes": [[dict(b) for b in blocks] for blocks in self._blocks[of_lane(lane)]]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._blocks = [list(blocks) for blocks in state["lanes"]]


def _column(block: Block, name: str, kind: Any) -> np.ndarray[Any, Any]:
    value = block[name]
    if isinstance(value, Tensor):
        return value.numpy().astype(kind)
    rows = next(len(other) for other in block.values() if isinstance(other, Tensor))
    return np.full(rows, value, kind)


EARLY = (0.25, 0.5)
"""Shares of training after which agents are asked, before its end."""


class QueryScorer:
    """Scores what a batch's agents predict at their task's query states.

    Args:
        source: the states, and the truth.
        lanes: L.
        steps: of a run.

    Attributes:
        source: the same.
        points: steps after which agents are asked.
        curves: collected for pictures.
        predictions: what was stated, and the truth.
    """

    def __init__(self, source: QuerySource, lanes: int, steps: int) -> None:
        self.source, self._steps = source, steps
        self.points = frozenset({*(max(1, round(share * steps)) for share in EARLY), steps})
        self.curves = LaneColumns(lanes, CURVES)
        self.predictions = LaneColumns(lanes, PREDICTIONS)
        self._untrained = torch.full((lanes,), 0.5, dtype=torch.float64)

    def start(self, agent: Queried) -> None:
        """Ask agents that have learned nothing how new the unseen states are to them."""
        untrained = self._novelty(agent)
        if untrained is not None:
            self._untrained = untrained

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Count the states in which training stands after ``step`` steps, where they are."""
        if self.source.counter is not None:
            self.source.counter.see(step, env, obs)

    def score(self, agent: Queried, step: int) -> Mapping[str, Tensor]:
        """Scores ``[L]`` by name after ``step`` steps; those that are undefined are NaN.

        An agent that states nothing is not asked any further.
        """
        scores = self._scores(agent, step)
        return {f"{PREFIX}{self.source.name}{name}": values for name, values in scores.items()}

    def _scores(self, agent: Queried, step: int) -> Mapping[str, Tensor]:
        source = self.source
        obs = source.obs(agent, step)
        stated = None if obs is None else agent.uncertainty(obs)
        own = source.own_scores(agent, stated) if isinstance(source, ExactSource) else {}
        if obs is None or stated is None:
            return own
        aurocs = self._novelty(agent) if step == self._steps else None
        truth = source.truth(agent, step)  # from here on its policy acts: all is stated
        scored = score_queries(stated, truth, source.climatology)
        for lane, one in enumerate(scored):
            for name, (x, y) in one.curves.items():
                named: dict[str, Tensor | int | str] = {"x": x.cpu(), "y": y.cpu()}
                self.curves.add(lane, named | {"step": step, "curve": f"{source.name}{name}"})
            if one.predictions is not None:
                said, seen = one.predictions, source.counter
                visits = seen.counts[lane, said.state.long()] if seen else said.mean * math.nan
                self.predictions.add(lane, {"step": step, "visits": visits, **vars(said)})
        names = dict.fromkeys(name for one in scored for name in one.scores)
        scores = {
            name: torch.tensor([one.scores.get(name, math.nan) for one in scored]) for name in names
        }
        if aurocs is not None:
            scores["novelty_auroc"] = aurocs
            scores["novelty"] = aurocs - self._untrained.clamp(min=self._norm())
        if source.counter is not None:
            falls = contraction(stated, ~truth.q.isnan(), source.counter.counts)
            if falls is not None:
                scores["contraction"] = torch.tensor(falls)
        return {**scores, **own}

    def _novelty(self, agent: Queried) -> Tensor | None:
        """AUROC ``[L]`` of the stated standard deviation, unseen states against seen ones."""
        if self.source.novel is None:
            return None
        seen, unseen = (agent.uncertainty(obs) for obs in self.source.novel)
        aurocs = None if seen is None or unseen is None else novelty(seen, unseen)
        return None if aurocs is None else torch.tensor(aurocs, dtype=torch.float64)

    def _norm(self) -> float:
        """AUROC of the observations' norm, whichever way it is better."""
        assert self.source.novel is not None
        seen, unseen = (obs[0].flatten(1).double().norm(dim=1) for obs in self.source.novel)
        area = auroc(unseen.round(decimals=6), seen.round(decimals=6))
        return max(area, 1 - area)

    def state_dict(self, lane: int | None = None) -> dict[str, Any]:
        """Everything so far, of all lanes or of one."""
        saved = {name: part.state_dict(lane) for name, part in self._parts().items()}
        return {"untrained": self._untrained[of_lane(lane)], **saved}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._untrained = state["untrained"]
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> dict[str, LaneColumns | Visits]:
        visits = self.source.counter
        parts = {"curves": self.curves, "predictions": self.predictions, "visits": visits}
        return {name: part for name, part in parts.items() if part is not None}
