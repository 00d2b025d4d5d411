"""Scores of planned runs, as columns: a method's values of a metric on a task are one array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.identity import Run
from uqbench.results.records import Provenance, Timing

Values = NDArray[np.float64]
DigestOf = Literal["results", "record"]


class Making(NamedTuple):
    """The making of a finished run: what its record has beside its scores.

    ``run`` is on the device that it was made on.
    """

    run: Run
    timing: Timing | None
    began: str
    updated: str
    provenance: Provenance
    metrics: Mapping[str, Mapping[str, Any]]
    learning: Mapping[str, float]


@dataclass(frozen=True)
class Score:
    """A planned run's outcome.

    Attributes:
        status: the run's state; values are there only where it is ``finished``.
        score: the primary metric, normalized; None where there is none that is a number.
        values: raw metrics by name; those that the run was not measured by are not in it.
        run: folder of the run, below the store's root.
        digest: sha256 of what ``digest_of`` says.
        content: first digits of the content hash of each package that took part,
            ``"uqbench:1a2b3c4d uqbench_dqn:…"``.
        made: how, where the run is in the store; none of scores that are read from a board.
    """

    task: str
    method: str
    seed: int
    status: str
    device: str
    score: float | None
    values: dict[str, float | None]
    run: str
    digest: str = ""
    content: str = ""
    digest_of: DigestOf = "results"
    made: Making | None = field(default=None, compare=False, repr=False)


class CellScores:
    """The scores of one method on one task, in the order of seeds.

    Columns have the names of :class:`Score`'s fields.

    Args:
        task: its name.
        method: its name.
        rows: the scores; no number is kept as None, and as NaN in columns.
    """

    def __init__(self, task: str, method: str, rows: Iterable[Score]) -> None:
        ordered = sorted(rows, key=lambda score: score.seed)
        self.task, self.method = task, method
        self.seeds = [score.seed for score in ordered]
        self.status = [score.status for score in ordered]
        self.device = [score.device for score in ordered]
        self.score = np.array([score.score for score in ordered], np.float64)
        self.run = [score.run for score in ordered]
        self.digest = [score.digest for score in ordered]
        self.content = [score.content for score in ordered]
        self.made = [score.made for score in ordered]
        self.digest_of: DigestOf = ordered[0].digest_of if ordered else "results"
        values = [score.values for score in ordered]
        names = dict.fromkeys(name for of in values for name in of)
        self._values = {
            name: np.array([of.get(name) for of in values], np.float64) for name in names
        }
        self._measured = {name: np.array([name in of for of in values]) for name in names}

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def scored(self) -> int:
        """The number of runs that have a score."""
        return int(np.isfinite(self.score).sum())

    def without_score(self, finished: str) -> list[str]:
        """The states of the runs that have none; ``finished`` is the word for those that ended."""
        states = zip(self.status, np.isfinite(self.score), strict=True)
        return [finished if s == "finished" else s for s, scored in states if not scored]

    def values(self, metric: str) -> Values:
        """Raw values of a metric, ``[runs]``; NaN where there is none."""
        return self._values.get(metric, np.full(len(self), np.nan))

    def measured(self, metric: str) -> NDArray[np.bool_]:
        """Whether runs were measured by a metric, ``[runs]``."""
        return self._measured.get(metric, np.zeros(len(self), np.bool_))

    def __getitem__(self, i: int) -> Score:
        known = {name: of[i] for name, of in self._values.items() if self._measured[name][i]}
        return Score(
            self.task, self.method, self.seeds[i], self.status[i], self.device[i],
            _number(self.score[i]), {name: _number(value) for name, value in known.items()},
            self.run[i], self.digest[i], self.content[i], self.digest_of, self.made[i],
        )  # fmt: skip


class Scores:
    """The scores of a plan's runs, a row a run: by task, method and seed.

    Args:
        cells: of different tasks or methods.
    """

    def __init__(self, cells: Iterable[CellScores]) -> None:
        self.cells = sorted(cells, key=lambda cell: (cell.task, cell.method))

    @classmethod
    def of(cls, rows: Scores | Iterable[Score]) -> Scores:
        """Scores of rows in any order."""
        if isinstance(rows, Scores):
            return rows
        ordered = sorted(rows, key=_cell)
        return cls(CellScores(*cell, own) for cell, own in groupby(ordered, _cell))

    @property
    def digest_of(self) -> DigestOf:
        """The subject of their digests."""
        return self.cells[0].digest_of if self.cells else "results"

    def __len__(self) -> int:
        return sum(map(len, self.cells))

    def __iter__(self) -> Iterator[Score]:
        return (cell[i] for cell in self.cells for i in range(len(cell)))


def _cell(score: Score) -> tuple[str, str]:
    return score.task, score.method


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
