"""Leaderboards: tables that are a function of the scores, byte for byte.

An aggregate is given only where all of its planned runs are scored: a failed run is shown in the
counts and never averaged away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from uqbench.boards.columns import Column, columns, grouped
from uqbench.boards.matrices import Matrix, MethodScores, by_method
from uqbench.boards.pareto import pareto_methods
from uqbench.boards.planned import Planned
from uqbench.boards.rliable import CONFIDENCE, REPETITIONS, rliable_columns, rliable_rows
from uqbench.boards.scores import Score, gather, to_csv
from uqbench.boards.standings import (
    BoardRow,
    normalized_failures,
    raw_failures,
    shown_statistics,
    standings,
)
from uqbench.boards.tables import PAIR_COLUMNS, Row, cells, csv_text, pair_row
from uqbench.boards.trivial_baseline import Floor, floor
from uqbench.claims import table
from uqbench.claims.judge import Judgement, judge
from uqbench.registry.local import is_local
from uqbench.results.files import write_whole
from uqbench.results.store import RunState, Store
from uqbench.statistics.estimate import Failures, estimate
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.statistics.ranks import Pair, Place, compare, places
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Plan

SCHEMA_VERSION = 3
"""Of ``manifest.json``: 2 since ranks are sets, 3 since rows have roles and claims readings."""


@dataclass(frozen=True)
class Board:
    """A plan's scores, and the tables and verdicts that follow from them.

    Attributes:
        compared: the pairs, where they were not all compared by these scores, but at several looks.
        origins: by method, the stored board that its scores are from; none for runs of the store.
        submitted: by method, ``verified`` or ``self-reported``, of rows that others sent.
        planned: what its manifest lists; None of a stored board from before it was kept.
    """

    plan: Plan
    scores: tuple[Score, ...]
    claims: tuple[Judgement, ...]
    compared: tuple[Pair, ...] | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    planned: Planned | None = None
    submitted: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, scores: Sequence[Score]) -> Board:
        """Judge the claims; tables are computed when they are asked for."""
        return cls(plan, tuple(scores), judge(plan, scores), planned=Planned.of(plan))

    @cached_property
    def methods(self) -> dict[str, MethodScores]:
        """The scores by method."""
        return by_method(self.plan.suite, self.scores)

    @cached_property
    def lines(self) -> tuple[BoardRow, ...]:
        """What is shown of each method, by name."""
        return tuple(standings(self.plan, self.methods))

    @cached_property
    def front(self) -> frozenset[str]:
        """The methods that no other one beats in everything that the suite names."""
        return pareto_methods(self.plan.suite, self.methods)

    @property
    def primary(self) -> Metric:
        """The metric that the board is scored by."""
        return self.plan.suite.primary_metric(self.plan.budget)

    @property
    def ranking(self) -> str:
        """The statistic that the board is ranked by."""
        return self.plan.suite.ranking_statistic(self.plan.budget)

    @cached_property
    def columns(self) -> list[Column]:
        """The columns next to the primary metric's."""
        return columns(self.plan)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of fully scored rows."""
        if self.compared is not None:
            return self.compared
        return compare(
            self._matrices,
            self.ranking,
            paired=self.plan.suite.paired,
            unranked=[name for name, role in self.plan.roles.items() if role != "method"],
            failures=self.failures,
        )

    @property
    def failures(self) -> Failures | None:
        """That runs of the score may fail; None where they may not."""
        tasks = {score.task for score in self.scores}
        return normalized_failures(self.plan.suite, self.primary, tasks)

    @cached_property
    def places(self) -> dict[str, Place]:
        """Place of each fully scored method; none under a budget that cannot rank."""
        if not self.plan.budget.ranks:
            return {}
        roles = self.plan.roles
        ranked = {name: m for name, m in self._matrices.items() if roles[name] == "method"}
        return places(ranked, self.pairs, self.ranking)

    @cached_property
    def floor(self) -> Floor | None:
        """The best trivial row, and which methods beat it."""
        values = {line.method: line.primary[self.ranking].value for line in self._scored}
        return floor(values, self.plan.roles, self.pairs, paired=self.plan.suite.paired)

    @property
    def best_first(self) -> list[BoardRow]:
        """The lines, by the ranking statistic where the budget can rank; incomplete ones last."""
        if not self.plan.budget.ranks:
            return list(self.lines)
        scored = sorted(self._scored, key=lambda line: -line.primary[self.ranking].value)
        return scored + [line for line in self.lines if line not in scored]

    @property
    def _scored(self) -> list[BoardRow]:
        return [line for line in self.lines if self.ranking in line.primary]

    @property
    def content(self) -> dict[str, list[str]]:
        """The content hashes that each package had in the scored runs; one, unless mixed."""
        found: dict[str, set[str]] = {}
        for score in self.scores:
            for part in score.content.split():
                package, _, value = part.partition(":")
                found.setdefault(package, set()).add(value)
        return {package: sorted(hashes) for package, hashes in sorted(found.items())}

    @property
    def local(self) -> frozenset[str]:
        """The methods that no installed package provides: a file, or a notebook's cell."""
        return frozenset(
            cell.method.name
            for cell in self.plan.cells
            if is_local(cell.runs[0].identity["method"]["version"])
        )

    @cached_property
    def _matrices(self) -> dict[str, Matrix]:
        found = {name: own.normalized_primary for name, own in self.methods.items()}
        return {name: values for name, values in found.items() if values is not None}

    def files(self) -> dict[str, str]:
        """The board's tables by name, deterministic to the byte."""
        tables = {
            "claims.csv": csv_text(table.rows(self.claims), table.COLUMNS),
            "leaderboard.csv": csv_text(self.rows()),
            "pairs.csv": csv_text(list(map(pair_row, self.pairs)), PAIR_COLUMNS),
            "rliable.csv": csv_text(
                rliable_rows(self.plan.suite, self._matrices), rliable_columns(self.plan.suite)
            ),
            "scores.csv": to_csv(self.scores, self.plan.suite.metrics),
            "tasks.csv": csv_text(self._task_rows()),
        }
        manifest = json.dumps(self._manifest(tables), indent=1, sort_keys=True, allow_nan=False)
        return {**tables, "manifest.json": manifest + "\n"}

    def rows(self) -> list[Row]:
        """The lines of ``leaderboard.csv``."""
        baseline = self.plan.suite.baseline
        rows = []
        for line in self.lines:
            place = self.places.get(line.method)
            beaten = None if self.floor is None else self.floor.beaten.get(line.method)
            row = {
                "method": line.method,
                "role": self.plan.roles[line.method],
                "beats_trivial": {True: "yes", False: "no", None: ""}[beaten],
                "rank": "" if place is None else str(place.rank),
                "rank_low": "" if place is None else str(place.low),
                "rank_high": "" if place is None else str(place.high),
                "tasks": str(line.tasks),
                "runs_planned": str(line.planned),
                "runs_scored": str(line.scored),
                "runs_failed": str(line.failed),
            }
            if self.local:
                row["local"] = "yes" if line.method in self.local else "no"
            if self.origins:
                row["stored_in"] = self.origins.get(line.method, "")
            if self.submitted:
                row["submitted"] = self.submitted.get(line.method, "")
            if self.plan.suite.pareto:
                row["pareto"] = "yes" if line.method in self.front else "no"
            for name in shown_statistics(self.plan):
                row |= cells(name, line.primary.get(name))
            if self.primary.fails_beyond is not None:
                row |= cells("fail_share", line.fail_share)
            row |= cells(f"improvement_over_{baseline}", line.improvement)
            for column in self.columns:
                row |= cells(column.name, line.others.get(column.metric.name))
            rows.append(row)
        return rows

    def _task_rows(self) -> list[Row]:
        rows = []
        cells_of: dict[tuple[str, str], list[Score]] = {}
        for score in self.scores:
            cells_of.setdefault((score.task, score.method), []).append(score)
        for (task, method), own in sorted(cells_of.items()):
            row = {
                "task": task,
                "method": method,
                "runs_planned": str(len(own)),
                "runs_scored": str(sum(score.score is not None for score in own)),
            }
            for metric in self.plan.suite.metrics:
                values = self.methods[method].on(task, metric)
                failures = raw_failures(metric)
                mean = None if values is None else estimate("mean", values, failures)
                row |= cells(metric.name, mean)
            rows.append(row)
        return rows

    def _manifest(self, tables: Mapping[str, str]) -> dict[str, Any]:
        suite, budget = self.plan.suite, self.plan.budget
        normalization = self.primary.normalized_as or self.primary.name
        groups = grouped(self.columns)
        return {
            **({"groups": groups} if groups else {}),
            "schema_version": SCHEMA_VERSION,
            "suite": {"name": suite.name, "version": suite.version},
            "budget": {
                "name": self.plan.budget_name,
                **budget.model_dump(
                    mode="json", exclude=set() if budget.task_steps else {"task_steps"}
                ),
            },
            "standard": self.plan.standard
            and not (self.planned is not None and self.planned.absent(self.scores)),
            "primary_metric": self.primary.model_dump(
                mode="json", exclude={"group", "unit", "proper"}
            ),
            "ranks_by": self.ranking,
            "paired": suite.paired,
            "normalization": {
                "metric": normalization,
                **suite.normalization[normalization].model_dump(mode="json"),
            },
            "methods": {
                f"{cell.task.name}/{cell.method.name}": cell.runs[0].identity["method"]
                for cell in self.plan.cells
            },
            **({} if self.planned is None else {"planned": self.planned.as_table()}),
            "runs": {
                state.value: sum(score.status == state.value for score in self.scores)
                for state in RunState
            },
            "content": self.content,
            "mixes_content": any(len(hashes) > 1 for hashes in self.content.values()),
            "devices": sorted({score.device for score in self.scores if score.device}),
            "digests_of": self.scores[0].digest_of if self.scores else "results",
            "intervals": {"confidence": CONFIDENCE, "minimum_seeds": MINIMUM_SEEDS},
            "rliable": {"repetitions": REPETITIONS, "confidence": CONFIDENCE},
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
