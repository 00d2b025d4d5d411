"""A run's data: its episodes, and records of its metrics at even intervals."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.environment import Outcome
from uqbench.contract.errors import UqbenchError, see
from uqbench.results.tables import Columns
from uqbench.runner.metric_values import record_step
from uqbench.runner.train.evaluation import Evaluated
from uqbench.suites.metrics import RECORDS
from uqbench.uncertainty.query_sources import of_lane

_BLOCK = 256
_AT_ONCE = 32768  # steps of all streams that are summed together: their arrays fit in a cache
_PHASES = np.array(["training", "evaluation"], object)
_ENDS = np.array(["terminated", "truncated", "ended", "unfinished"], object)
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

    Attributes:
        discount: the same.
        events: the same.
        actors: the same.
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
        self.actors, streams = actors, lanes * actors
        self.discount, self._environment = discount, environment
        self._names = ("reward", *(f"events/{name}" for name in events))
        self.events = tuple(events)
        # by step: rewards, events, whether terminated, and whether truncated
        self._seen = torch.zeros(_BLOCK, len(self._names) + 2, streams, device=device)
        self._places = [step.unbind() for step in self._seen]
        self._filled = 0
        self._taken = 0
        self._totals = np.zeros((len(self._names), lanes))
        self._episode = np.zeros((2 + len(self.events), streams))
        self._lengths = np.zeros(streams, np.int64)
        # rows of lane, step, phase, end, length and counts
        self._episodes = [np.empty((0, 5 + len(self._episode)))]
        self._powers = np.empty(0)  # of the discount
        self._records: list[list[Sequence[Any]]] = [[] for _ in range(lanes)]
        boundaries = (record_step(k, steps) for k in range(1, RECORDS + 1))
        self._due = frozenset(step for step in boundaries if step)

    def due(self, step: int) -> list[int]:
        """The records to take after the vector step that ends with ``step`` steps."""
        return passed(self._due, step, self.actors)

    def step(self, outcome: Outcome) -> None:
        """Record one vector step of all lanes, ``[L · K]``."""
        events = (outcome.events[name] for name in self.events)
        values = outcome.reward, *events, outcome.terminated, outcome.truncated
        for place, value in zip(self._places[self._filled], values, strict=True):
            place.copy_(value)
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
        lane, end = np.arange(len(evaluated.ended))[:, None], np.where(evaluated.ended, 2, 3)
        self._add_episodes(lane, self._taken, 1, end, evaluated.lengths, *evaluated.counts)
        self.add({"evaluation_return": evaluated.returns.mean(1)}, self._taken)

    def finish(self) -> list[tuple[Columns, Columns]]:
        """The metrics and episodes of each lane; episodes in progress are kept as unfinished."""
        self._flush()
        (stream,) = self._lengths.nonzero()
        lanes, length = stream // self.actors, self._lengths[stream]
        self._add_episodes(lanes, self._taken, 0, 3, length, *self._episode[:, stream])
        rows = np.concatenate(self._episodes)
        kinds = EPISODES | {f"event_{name}": np.float64 for name in self.events}
        found = []
        for lane, records in enumerate(self._records):
            step, phase, end, *rest = rows[rows[:, 0] == lane, 1:].T
            values = step, _PHASES[phase.astype(int)], _ENDS[end.astype(int)], *rest
            recorded = np.array(records, object).reshape(-1, len(RECORD)).T
            found.append((columns(recorded, RECORD), columns(values, kinds)))
        return found

    def state_dict(self, lane: int | None = None) -> dict[str, Any]:
        """Everything so far, of all lanes, or of one as of a recorder of its own.

        Records are JSON, which is written much faster than nested lists.
        """
        self._flush()
        self._episodes = [np.concatenate(self._episodes)]
        of, (rows,) = of_lane(lane), self._episodes
        streams = np.arange(len(self._lengths)).reshape(-1, self.actors)[of].ravel()
        if lane is not None:
            rows = rows[rows[:, 0] == lane]
            rows[:, 0] = 0
        return {
            "taken": self._taken,
            "totals": self._totals[:, of].tolist(),
            "episode": self._episode[:, streams].tolist(),
            "lengths": self._lengths[streams].tolist(),
            "records": json.dumps(self._records[of]),
            "episodes": torch.from_numpy(rows),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._filled, self._taken = 0, state["taken"]
        self._totals, self._episode = np.array(state["totals"]), np.array(state["episode"])
        self._lengths = np.array(state["lengths"])
        self._records = json.loads(state["records"])
        self._episodes = [state["episodes"].numpy()]

    def _flush(self) -> None:
        seen = self._seen[: self._filled].cpu().numpy()
        self._check(seen)
        size = max(1, _AT_ONCE // len(self._lengths))
        for first in range(0, self._filled, size):
            self._take(seen[first : first + size].astype(np.float64))
        self._filled = 0

    def _take(self, seen: NDArray[np.float64]) -> None:
        """Take in T steps ``[T, names + 2, L · K]``, added up one by one."""
        counts, (terminated, truncated) = seen[:, :-2], seen[:, -2:].swapaxes(0, 1) > 0
        ended = terminated | truncated
        by_lane = counts.reshape(*counts.shape[:2], -1, self.actors).sum(-1)
        by_lane[0] += self._totals
        self._totals = np.add.accumulate(by_lane)[-1]
        lengths = sums_so_far(np.ones_like(ended, np.int64), self._lengths, ended)
        if len(self._powers) < (longest := lengths.max()):
            # not a running product: the same bits after a checkpoint
            self._powers = self.discount ** np.arange(2 * longest + _BLOCK)
        discounted = self._powers[lengths - 1] * counts[:, 0]
        # + 0.0, since the sum of nothing but −0.0 is 0.0
        values = np.concatenate([counts[:, :1], discounted[:, None], counts[:, 1:]], 1) + 0.0
        sums = sums_so_far(values, self._episode, ended)
        t, stream = divmod(np.flatnonzero(ended), ended.shape[1])
        lane, step = stream // self.actors, self._taken + (t + 1) * self.actors
        end, length = np.where(terminated[t, stream], 0, 1), lengths[t, stream]
        self._add_episodes(lane, step, 0, end, length, *sums[t, :, stream].T)
        self._lengths = np.where(ended[-1], 0, lengths[-1])
        self._episode = np.where(ended[-1], 0.0, sums[-1])
        self._taken += len(seen) * self.actors

    def _check(self, counts: NDArray[np.float32]) -> None:
        """Check that all rewards and counts of a block ``[steps, names + 2, L · K]`` are finite."""
        if np.isfinite(counts).all():
            return
        step, name, stream = np.argwhere(~np.isfinite(counts))[0]
        at = self._taken + (step + 1) * self.actors
        raise UqbenchError(
            f"the environment {self._environment!r} returned the {self._names[name]} "
            f"{counts[step, name, stream]} in lane {stream // self.actors} at step {at}; "
            f"expected a finite number{see('wrong-outcome')}"
        )

    def _add_episodes(self, *values: NDArray[Any] | int) -> None:
        """Add episodes: lane, step, phase and end (by index), length and counts, ``[…]`` each."""
        rows = np.stack(np.broadcast_arrays(*values), -1, dtype=np.float64)
        self._episodes.append(rows.reshape(-1, len(values)))


def sums_so_far(values: NDArray[Any], before: NDArray[Any], ended: NDArray[Any]) -> NDArray[Any]:
    """Sums of an episode's values up to each step, in place and in order.

    Args:
        values: ``[T, …, S]``.
        before: sums before the first step, ``[…, S]``.
        ended: whether an episode ends with the step, ``[T, S]``.
    """
    values[0] += before
    for last, now, goes_on in zip(values[:-1], values[1:], ~ended[:-1], strict=True):
        np.add(now, last, out=now, where=goes_on)
    return values


def passed(points: Collection[int], step: int, actors: int) -> list[int]:
    """Which of the points lie in the vector step that ends with ``step`` steps, in order."""
    return [point for point in range(step - actors + 1, step + 1) if point in points]


def columns(values: Iterable[Any], kinds: Mapping[str, type]) -> Columns:
    """Columns of these names and kinds."""
    pairs = zip(kinds.items(), values, strict=True)
    return {name: np.array(column, kind) for (name, kind), column in pairs}
