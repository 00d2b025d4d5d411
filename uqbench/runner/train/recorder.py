"""A run's data: its episodes, and records of its metrics at even intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class Recorder:
    """Collects the episodes and metrics of every lane.

    Rewards and episode ends stay on the device for a block of steps and are read once per block, so
    that the device does not wait at every step.

    Args:
        lanes: L.
        steps: length of the run.
        events: names of the environment's event counters.
        device: of the outcomes.
        discount: γ of the discounted returns.
        environment: its name, for errors.
    """

    def __init__(
        self,
        lanes: int,
        steps: int,
        events: Sequence[str],
        device: torch.device,
        discount: float = 1.0,
        environment: str = "?",
    ) -> None:
        self._steps = steps
        self._discount = discount
        self._environment = environment
        self._names = ("reward", *(f"events/{name}" for name in events))
        self._events = self.events = tuple(events)
        self._counts = torch.zeros(_BLOCK, len(self._names), lanes, device=device)
        self._ends = torch.zeros(_BLOCK, 2, lanes, dtype=torch.bool, device=device)
        self._filled = 0
        self._taken = 0
        self._totals = np.zeros((len(self._names), lanes))
        self._episode = np.zeros((2 + len(self._events), lanes))
        self._began = np.zeros(lanes, np.int64)
        self._episodes: list[list[tuple[int, str, str, int, NDArray[np.float64]]]] = [
            [] for _ in range(lanes)
        ]
        self._records: list[list[tuple[int, str, float]]] = [[] for _ in range(lanes)]
        boundaries = (record_step(k, steps) for k in range(1, RECORDS + 1))
        self.due = frozenset(step for step in boundaries if step)

    def step(self, outcome: Outcome) -> None:
        """Record one step of all lanes."""
        self._counts[self._filled, 0] = outcome.reward
        for i, name in enumerate(self._events, start=1):
            self._counts[self._filled, i] = outcome.events[name]
        self._ends[self._filled, 0] = outcome.terminated
        self._ends[self._filled, 1] = outcome.truncated
        self._filled += 1
        if self._filled == _BLOCK:
            self._flush()

    def record(self, metrics: Mapping[str, Tensor]) -> dict[str, NDArray[np.float64]]:
        """Record totals so far and an agent's metrics ``[L]``; returns them by name."""
        self._flush()
        values = dict(zip(self._names, self._totals.copy(), strict=True))
        values |= {name: value.double().cpu().numpy() for name, value in metrics.items()}
        for name, lanes in values.items():
            for records, value in zip(self._records, lanes, strict=True):
                records.append((self._taken, name, float(value)))
        return values

    def add(self, scores: Mapping[str, Tensor]) -> None:
        """Record scores ``[L]`` by name, without the totals."""
        self._flush()
        for name, lanes in scores.items():
            for records, value in zip(self._records, lanes.tolist(), strict=True):
                records.append((self._taken, name, float(value)))

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
                episodes.append((self._taken, "evaluation", end, int(length), counts))
            mean = float(evaluated.returns[lane].mean())
            self._records[lane].append((self._taken, "evaluation_return", mean))

    def finish(self) -> list[tuple[Columns, Columns]]:
        """The metrics and episodes of each lane; episodes in progress are kept as unfinished."""
        self._flush()
        for lane in range(len(self._began)):
            if self._taken > self._began[lane]:
                self._end_episode(lane, self._taken, "unfinished")
        return [
            (_metrics_columns(records), _episode_columns(episodes, self._events))
            for records, episodes in zip(self._records, self._episodes, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything so far, as tensors; strings are numbered."""
        self._flush()
        return {
            "taken": self._taken,
            "totals": _saved(self._totals),
            "episode": _saved(self._episode),
            "began": _saved(self._began),
            "records": [
                {name: _saved(column) for name, column in _metrics_columns(records).items()}
                for records in self._records
            ],
            "episodes": [
                {
                    name: _saved(column)
                    for name, column in _episode_columns(episodes, self._events).items()
                }
                for episodes in self._episodes
            ],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._filled = 0
        self._taken = state["taken"]
        self._totals, self._episode, self._began = (
            _loaded(state[name]) for name in ("totals", "episode", "began")
        )
        self._records = [
            list(zip(*(_listed(lane[name]) for name in ("step", "metric", "value")), strict=True))
            for lane in state["records"]
        ]
        counts = _count_columns(self._events)
        self._episodes = [
            list(
                zip(
                    *(_listed(lane[name]) for name in ("step", "phase", "end", "length")),
                    np.stack([_loaded(lane[name]) for name in counts], axis=1),
                    strict=True,
                )
            )
            for lane in state["episodes"]
        ]

    def _flush(self) -> None:
        counts = self._counts[: self._filled].double().cpu().numpy()
        ends = self._ends[: self._filled].cpu().numpy()
        self._check(counts)
        lanes = np.arange(len(self._began))
        for count, (terminated, truncated) in zip(counts, ends, strict=True):
            # a power, not a running product: the same bits after a checkpoint
            discounted = self._discount ** (self._taken - self._began) * count[0]
            self._taken += 1
            self._totals += count
            self._episode[0] += count[0]
            self._episode[1] += discounted
            self._episode[2:] += count[1:]
            for lane in lanes[terminated | truncated]:
                self._end_episode(
                    lane, self._taken, "terminated" if terminated[lane] else "truncated"
                )
        self._filled = 0

    def _check(self, counts: NDArray[np.float64]) -> None:
        """Check that all rewards and counts of a block ``[steps, names, lanes]`` are finite."""
        if np.isfinite(counts).all():
            return
        step, name, lane = np.argwhere(~np.isfinite(counts))[0]
        raise UqbenchError(
            f"the environment {self._environment!r} returned the {self._names[name]} "
            f"{counts[step, name, lane]} in lane {lane} at step {self._taken + step + 1}; "
            f"expected a finite number"
        )

    def _end_episode(self, lane: int, step: int, end: str) -> None:
        length = int(step - self._began[lane])
        counts = self._episode[:, lane].copy()
        self._episodes[lane].append((step, "training", end, length, counts))
        self._episode[:, lane] = 0
        self._began[lane] = step


def _metrics_columns(records: Sequence[tuple[int, str, float]]) -> Columns:
    return {
        "step": np.array([step for step, _, _ in records], np.int64),
        "metric": np.array([name for _, name, _ in records], object),
        "value": np.array([value for _, _, value in records], np.float64),
    }


def _episode_columns(
    episodes: Sequence[tuple[int, str, str, int, NDArray[np.float64]]], events: Sequence[str]
) -> Columns:
    counts = np.array([counts for *_, counts in episodes]).reshape(len(episodes), 2 + len(events))
    return {
        "step": np.array([step for step, *_ in episodes], np.int64),
        "phase": np.array([phase for _, phase, *_ in episodes], object),
        "end": np.array([end for _, _, end, *_ in episodes], object),
        "length": np.array([length for *_, length, _ in episodes], np.int64),
        **dict(zip(_count_columns(events), counts.T, strict=True)),
    }


def _count_columns(events: Sequence[str]) -> tuple[str, ...]:
    return ("return", "discounted_return", *(f"event_{name}" for name in events))


def _saved(column: NDArray[Any]) -> Tensor | dict[str, Any]:
    """An array as a tensor; strings as numbers with the strings that they stand for."""
    if column.dtype != object:
        return torch.from_numpy(column.copy())
    words = sorted(set(column))
    numbers = {word: number for number, word in enumerate(words)}
    kind = np.uint8 if len(words) <= 256 else np.int64
    return {
        "words": words,
        "numbers": torch.from_numpy(np.array([numbers[word] for word in column], kind)),
    }


def _loaded(saved: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = saved.numpy().copy()
    return array


def _listed(saved: Tensor | Mapping[str, Any]) -> list[Any]:
    """The values that ``_saved`` encoded."""
    if isinstance(saved, Tensor):
        return saved.tolist()
    return [saved["words"][number] for number in saved["numbers"].tolist()]
