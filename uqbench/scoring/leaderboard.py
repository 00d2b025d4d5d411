"""Leaderboards: tables that are a function of the scores, byte for byte.

An aggregate is given only where all of its planned runs are scored: a failed run is shown in the
counts and never averaged away.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from uqbench.results.files import write_whole
from uqbench.results.store import RunState, Store
from uqbench.scoring.aggregate import (
    MINIMUM_SEEDS,
    Estimate,
    aggregate,
    probability_of_improvement,
)
from uqbench.scoring.claims import table
from uqbench.scoring.claims.judge import Judgement, judge
from uqbench.scoring.scores import Score, gather, to_csv
from uqbench.seeding import derive_seed
from uqbench.suites.plan import Plan
from uqbench.suites.tables import Metric, Suite

REPETITIONS = 50_000
CONFIDENCE = 0.95
STATISTICS = ("iqm", "median", "mean", "optimality_gap")

Row = dict[str, str]


@dataclass(frozen=True)
class Standing:
    """A method's line of a leaderboard.

    Attributes:
        planned, scored, failed: numbers of runs.
        primary: statistics of the normalized primary metric, by name; empty where runs are missing.
        improvement: probability of improvement over the suite's baseline; None for the baseline
            itself and where runs are missing.
        others: interquartile means of the other normalized metrics, by metric.
    """

    method: str
    tasks: int
    planned: int
    scored: int
    failed: int
    primary: Mapping[str, Estimate]
    improvement: Estimate | None
    others: Mapping[str, Estimate]


def standings(scores: Sequence[Score], suite: Suite, primary: Metric) -> list[Standing]:
    """The methods' lines, by name."""
    baseline = _matrix(scores, suite.baseline, _primary_score)
    lines = []
    for method in sorted({score.method for score in scores}):
        own = [score for score in scores if score.method == method]
        matrix = _matrix(scores, method, _primary_score)
        improvement = None
        if matrix is not None and baseline is not None and method != suite.baseline:
            improvement = probability_of_improvement(
                matrix, baseline, seed=_seed(suite, method, "improvement"), **_BOOTSTRAP
            )
        others = {}
        for metric in suite.metrics:
            values = (
                None if metric == primary else _matrix(scores, method, _normalized(suite, metric))
            )
            if values is not None:
                others[metric.name] = _aggregate(values, suite, method, metric.name)["iqm"]
        lines.append(
            Standing(
                method=method,
                tasks=len({score.task for score in own}),
                planned=len(own),
                scored=sum(score.score is not None for score in own),
                failed=sum(score.status == RunState.FAILED.value for score in own),
                primary={} if matrix is None else _aggregate(matrix, suite, method, primary.name),
                improvement=improvement,
                others=others,
            )
        )
    return lines


def ranks(lines: Sequence[Standing]) -> dict[str, int]:
    """Place of each fully scored method by interquartile mean, the best first."""
    complete = [line for line in lines if line.primary]
    ordered = sorted(complete, key=lambda line: -line.primary["iqm"].value)
    return {line.method: place for place, line in enumerate(ordered, start=1)}


@dataclass(frozen=True)
class Board:
    """A plan's scores, and the tables and verdicts that follow from them."""

    plan: Plan
    scores: tuple[Score, ...]
    lines: tuple[Standing, ...]
    claims: tuple[Judgement, ...]

    @classmethod
    def of(cls, plan: Plan, scores: Sequence[Score]) -> Board:
        """Compute the tables."""
        primary = plan.suite.primary_metric(plan.budget)
        lines = tuple(standings(scores, plan.suite, primary))
        return cls(plan, tuple(scores), lines, judge(plan, scores))

    @property
    def primary(self) -> Metric:
        """The metric that the board is scored by."""
        return self.plan.suite.primary_metric(self.plan.budget)

    @property
    def content(self) -> dict[str, list[str]]:
        """The content hashes that each package had in the scored runs; one, unless mixed."""
        found: dict[str, set[str]] = {}
        for score in self.scores:
            for part in score.content.split():
                package, _, value = part.partition(":")
                found.setdefault(package, set()).add(value)
        return {package: sorted(hashes) for package, hashes in sorted(found.items())}

    def files(self) -> dict[str, str]:
        """The board's files by name, deterministic to the byte."""
        tables = {
            "claims.csv": _csv(table.rows(self.claims), table.COLUMNS),
            "leaderboard.csv": _csv(self.rows()),
            "scores.csv": to_csv(self.scores, self.plan.suite.metrics),
            "tasks.csv": _csv(self._task_rows()),
        }
        manifest = json.dumps(self._manifest(tables), indent=1, sort_keys=True) + "\n"
        return {**tables, "manifest.json": manifest}

    def rows(self) -> list[Row]:
        """The lines of ``leaderboard.csv``."""
        places = ranks(self.lines) if self.plan.budget.ranks else {}
        secondary = [
            metric.name
            for metric in self.plan.suite.metrics
            if metric != self.primary and self.plan.suite.normalization_constants(metric)
        ]
        baseline = self.plan.suite.baseline
        rows = []
        for line in self.lines:
            row = {
                "method": line.method,
                "rank": str(places.get(line.method, "")),
                "tasks": str(line.tasks),
                "runs_planned": str(line.planned),
                "runs_scored": str(line.scored),
                "runs_failed": str(line.failed),
            }
            for name in STATISTICS:
                row |= _cells(name, line.primary.get(name))
            row |= _cells(f"improvement_over_{baseline}", line.improvement)
            for name in secondary:
                row |= _cells(f"{name}_iqm", line.others.get(name))
            rows.append(row)
        return rows

    def _task_rows(self) -> list[Row]:
        cells = sorted({(score.task, score.method) for score in self.scores})
        rows = []
        for task, method in cells:
            own = [s for s in self.scores if (s.task, s.method) == (task, method)]
            row = {
                "task": task,
                "method": method,
                "runs_planned": str(len(own)),
                "runs_scored": str(sum(score.score is not None for score in own)),
            }
            for metric in self.plan.suite.metrics:
                values = _matrix(own, method, _raw(metric))
                mean = None
                if values is not None:
                    mean = _aggregate(values, self.plan.suite, method, metric.name, task)["mean"]
                row |= _cells(metric.name, mean)
            rows.append(row)
        return rows

    def _manifest(self, tables: Mapping[str, str]) -> dict[str, Any]:
        suite, budget = self.plan.suite, self.plan.budget
        normalization = self.primary.normalized_as or self.primary.name
        return {
            "schema_version": 1,
            "suite": {"name": suite.name, "version": suite.version},
            "budget": {
                "name": self.plan.budget_name,
                **budget.model_dump(
                    mode="json", exclude=set() if budget.task_steps else {"task_steps"}
                ),
            },
            "standard": self.plan.standard,
            "primary_metric": self.primary.model_dump(mode="json"),
            "normalization": {
                "metric": normalization,
                **suite.normalization[normalization].model_dump(mode="json"),
            },
            "methods": {
                f"{cell.task.name}/{cell.method.name}": cell.runs[0].identity["method"]
                for cell in self.plan.cells
            },
            "runs": {
                state.value: sum(score.status == state.value for score in self.scores)
                for state in RunState
            },
            "content": self.content,
            "mixes_content": any(len(hashes) > 1 for hashes in self.content.values()),
            "devices": sorted({score.device for score in self.scores if score.device}),
            "bootstrap": {**_BOOTSTRAP, "minimum_seeds": MINIMUM_SEEDS},
            "sha256": {name: sha256(text.encode()).hexdigest() for name, text in tables.items()},
        }


def board(plan: Plan, store: Store) -> Board:
    """The leaderboard of a plan, from the store."""
    return Board.of(plan, gather(plan, store))


def write(files: Mapping[str, str], folder: Path) -> None:
    """Write a board's files, each whole or not at all."""
    for name, text in files.items():
        write_whole(folder / name, partial(_put, text))


def _put(text: str, file: BinaryIO) -> None:
    file.write(text.encode())


_BOOTSTRAP: dict[str, Any] = {"repetitions": REPETITIONS, "confidence": CONFIDENCE}


def _aggregate(matrix: NDArray[np.float64], suite: Suite, *purpose: str) -> dict[str, Estimate]:
    return aggregate(matrix, seed=_seed(suite, *purpose), **_BOOTSTRAP)


def _seed(suite: Suite, *purpose: str) -> int:
    return derive_seed("bootstrap", suite.name, *purpose)


def _matrix(
    scores: Sequence[Score], method: str, value: Callable[[Score], float | None]
) -> NDArray[np.float64] | None:
    """A method's values ``[runs, tasks]``, or None where one of them is missing."""
    by_task: dict[str, list[float]] = {}
    for score in scores:
        if score.method == method:
            number = value(score)
            if number is None:
                return None
            by_task.setdefault(score.task, []).append(number)
    return np.array([by_task[task] for task in sorted(by_task)]).T if by_task else None


def _primary_score(score: Score) -> float | None:
    return score.score


def _raw(metric: Metric) -> Callable[[Score], float | None]:
    return lambda score: score.values.get(metric.name)


def _normalized(suite: Suite, metric: Metric) -> Callable[[Score], float | None]:
    constants = suite.normalization_constants(metric)

    def value(score: Score) -> float | None:
        raw = score.values.get(metric.name)
        if raw is None or score.task not in constants:
            return None
        return constants[score.task].normalize(raw)

    return value


def _cells(name: str, estimate: Estimate | None) -> Row:
    """Three columns; empty ones where there is no estimate or no interval."""
    given = (
        (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
    )
    columns = (name, f"{name}_low", f"{name}_high")
    return {
        column: "" if number is None else f"{number:.6g}"
        for column, number in zip(columns, given, strict=True)
    }


def _csv(rows: Sequence[Row], columns: Sequence[str] = ()) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
