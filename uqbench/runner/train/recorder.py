"""A run's data: its episodes, and records of its metrics at even intervals."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.environment import Outcome
from uqbench.errors import UqbenchError, see
from uqbench.results.columns import Columns
from uqbench.runner.metric_values import record_step
from uqbench.runner.train.evaluation import Evaluated
from uqbench.suites.metrics import RECORDS

_BLOCK = 256
RECORD = {"step": np.int64, "metric": object, "value": np.float64}
EPISODES = {
    **{"step": np.int64, "phase": object, "end": object, "length": np.int64},
    **{"return": np.float64, "discounted_return": np.float64},
}
"""Columns of a record and of an episode, and their kinds."""


class Recorder:
    """Collects the episodes and metrics of every lane.

    Rewards and episode ends stay on the device for a block of steps and are read once per block, so
    that the device does not wait at every step.

    A lane has K actors, each with episodes of its own. Steps are those of all its actors together,
    but for an episode's length: its own. A vector step may go beyond a record's step, by less than
    K: the record is of its end, and keeps its step.

    Args:
        lanes: L.
        steps: length of the run, a multiple of K.
        events: names of the environment's event counters.
        device: of the outcomes.
        discount: γ of the discounted returns.
        environment: its name, for errors.
        actors: K.
    """

    def __init__(
        self,
        lanes: int,
        steps: int,
        events: Sequence[str],
        device: torch.device,
        discount: float = 1.0,
        environment: str = "?",
        actors: int = 1,
    ) -> None:
        self._steps = steps
        self._actors = actors
        streams = lanes * actors
        self._discount = discount
        self._environment = environment
        self._names = ("reward", *(f"events/{name}" for name in events))
        self.events = tuple(events)
        self._counts = torch.zeros(_BLOCK, len(self._names), streams, device=device)
        self._ends = torch.zeros(_BLOCK, 2, streams, dtype=torch.bool, device=device)
        self._filled = 0
        self._taken = 0
        self._totals = np.zeros((len(self._names), lanes))
        self._episode = np.zeros((2 + len(self.events), streams))
        self._began = np.zeros(streams, np.int64)  # in vector steps
        self._episodes: list[list[Sequence[Any]]] = [[] for _ in range(lanes)]
        self._records: list[list[Sequence[Any]]] = [[] for _ in range(lanes)]
        boundaries = (record_step(k, steps) for k in range(1, RECORDS + 1))
        self._due = frozenset(step for step in boundaries if step)

    def due(self, step: int) -> list[int]:
        """The records to take after the vector step that ends with ``step`` steps."""
        return passed(self._due, step, self._actors)

    def step(self, outcome: Outcome) -> None:
        """Record one vector step of all lanes, ``[L · K]``."""
        self._counts[self._filled, 0] = outcome.reward
        for i, name in enumerate(self.events, start=1):
            self._counts[self._filled, i] = outcome.events[name]
        self._ends[self._filled, 0] = outcome.terminated
        self._ends[self._filled, 1] = outcome.truncated
        self._filled += 1
        if self._filled == _BLOCK:
            self._flush()

    def record(
        self, metrics: Mapping[str, Tensor], steps: Sequence[int] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Record totals so far and an agent's metrics ``[L]``, and return them.

        Args:
            metrics: by name.
            steps: of the records; None for the one after the steps so far.
        """
        self._flush()
        steps = [self._taken] if steps is None else steps
        values = dict(zip(self._names, self._totals.copy(), strict=True))
        values |= {name: value.double().cpu().numpy() for name, value in metrics.items()}
        self.add(values, *steps)
        return values

    def add(self, scores: Mapping[str, Tensor | NDArray[np.float64]], *steps: int) -> None:
        """Record scores ``[L]`` by name after so many steps, without the totals."""
        self._flush()
        for name, lanes in scores.items():
            for records, value in zip(self._records, lanes.tolist(), strict=True):
                records += [(step, name, float(value)) for step in steps]

    def evaluation(self, evaluated: Evaluated) -> None:
        """Record the episodes of an evaluation of all lanes, ``[L, M]``.

        Raises:
            UqbenchError: a reward or count is not finite; names environment, lane and episode.
        """
        self._flush()
        bad = np.argwhere(~np.isfinite(evaluated.counts))
        if len(bad):
            _, lane, episode = bad[0]
            raise UqbenchError(
                f"the environment {self._environment!r} returned a reward that is not finite in "
                f"lane {lane}, in episode {episode} of the evaluation after step {self._taken}"
                f"{see('wrong-outcome')}"
            )
        for lane, episodes in enumerate(self._episodes):
            for counts, length, ended in zip(
                evaluated.counts[:, lane].T,
                evaluated.lengths[lane],
                evaluated.ended[lane],
                strict=True,
            ):
                end = "ended" if ended else "unfinished"
                episodes.append((self._taken, "evaluation", end, int(length), *counts.tolist()))
            mean = float(evaluated.returns[lane].mean())
            self._records[lane].append((self._taken, "evaluation_return", mean))

    def finish(self) -> list[tuple[Columns, Columns]]:
        """The metrics and episodes of each lane; episodes in progress are kept as unfinished."""
        self._flush()
        for stream in range(len(self._began)):
            if self._taken > self._began[stream] * self._actors:
                self._end_episode(stream, self._taken, "unfinished")
        kinds = EPISODES | {f"event_{name}": np.float64 for name in self.events}
        return [
            (columns(records, RECORD), columns(episodes, kinds))
            for records, episodes in zip(self._records, self._episodes, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything so far; the rows as JSON, which is written much faster than nested lists."""
        self._flush()
        return {
            "taken": self._taken,
            "totals": self._totals.tolist(),
            "episode": self._episode.tolist(),
            "began": self._began.tolist(),
            "rows": json.dumps([self._records, self._episodes]),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._filled, self._taken = 0, state["taken"]
        self._totals, self._episode = np.array(state["totals"]), np.array(state["episode"])
        self._began = np.array(state["began"])
        self._records, self._episodes = json.loads(state["rows"])

    def _flush(self) -> None:
        counts = self._counts[: self._filled].double().cpu().numpy()
        ends = self._ends[: self._filled].cpu().numpy()
        self._check(counts)
        streams = np.arange(len(self._began))
        for count, (terminated, truncated) in zip(counts, ends, strict=True):
            # a power, not a running product: the same bits after a checkpoint
            discounted = self._discount ** (self._taken // self._actors - self._began) * count[0]
            self._taken += self._actors
            self._totals += count.reshape(len(count), -1, self._actors).sum(-1)
            self._episode[0] += count[0]
            self._episode[1] += discounted
            self._episode[2:] += count[1:]
            for stream in streams[terminated | truncated]:
                self._end_episode(
                    stream, self._taken, "terminated" if terminated[stream] else "truncated"
                )
        self._filled = 0

    def _check(self, counts: NDArray[np.float64]) -> None:
        """Check that all rewards and counts of a block ``[steps, names, L · K]`` are finite."""
        if np.isfinite(counts).all():
            return
        step, name, stream = np.argwhere(~np.isfinite(counts))[0]
        at = self._taken + (step + 1) * self._actors
        raise UqbenchError(
            f"the environment {self._environment!r} returned the {self._names[name]} "
            f"{counts[step, name, stream]} in lane {stream // self._actors} at step {at}; "
            f"expected a finite number"
        )

    def _end_episode(self, stream: int, step: int, end: str) -> None:
        vector_step = step // self._actors
        length = int(vector_step - self._began[stream])
        counts = self._episode[:, stream].tolist()
        self._episodes[stream // self._actors].append((step, "training", end, length, *counts))
        self._episode[:, stream] = 0
        self._began[stream] = vector_step


def passed(points: Collection[int], step: int, actors: int) -> list[int]:
    """Which of the points lie in the vector step that ends with ``step`` steps, in order."""
    return [point for point in range(step - actors + 1, step + 1) if point in points]


def columns(rows: Sequence[Sequence[Any]], kinds: Mapping[str, type]) -> Columns:
    """Rows as columns of these names and kinds."""
    values = zip(*rows, strict=True) if rows else [()] * len(kinds)
    pairs = zip(kinds.items(), values, strict=True)
    return {name: np.array(column, kind) for (name, kind), column in pairs}
