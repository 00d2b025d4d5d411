"""Leaderboards: tables that are a function of the scores, byte for byte.

An aggregate is given only where all of its planned runs are scored: a failed run is shown in the
counts and never averaged away.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from uqbench.boards import standings, tables
from uqbench.boards.calibration import coverage_column, with_words
from uqbench.boards.columns import Column, columns, grouped
from uqbench.boards.controls import beyond
from uqbench.boards.headline import Told
from uqbench.boards.manifest import MANIFEST, SCHEMA_VERSION, Manifest, Planned
from uqbench.boards.matrices import Matrix, MethodScores, by_method
from uqbench.boards.provenance import contents
from uqbench.boards.scores import gather, to_csv
from uqbench.boards.tables import PLACE, Row, cells
from uqbench.boards.tuned import gains, how_tuned
from uqbench.contract.board_table import BoardTable
from uqbench.contract.specs import Role
from uqbench.registry.local import is_local
from uqbench.results.scores import Score, Scores
from uqbench.results.store import RunState, Store
from uqbench.statistics.estimate import Estimate, estimate
from uqbench.statistics.levels import ALPHA, DRAWS, MINIMUM_SEEDS
from uqbench.statistics.pairing import pairing_note
from uqbench.statistics.ranks import Pair, Place, compare, places
from uqbench.statistics.statistic import point
from uqbench.suites.controls import control_of, follows
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import SELF_RUN, Plan, board_title
from uqbench.suites.variants import base_name
from uqbench.uncertainty.scores import score_versions

if TYPE_CHECKING:
    import pandas as pd

SCORES = "scores.csv"
ORIGINS = {"imported": "", "local": "no", "self_run": "no", "stored_in": "", "submitted": ""}
"""Columns of ``leaderboard.csv`` on where rows are from, each there if any row has it; and what the
others have in it."""
NOT_LISTED = {"group", "unit", "proper", "tasks", "margin_set"}
"""Keys of the primary metric that the manifest leaves out."""
COMPARED = ("method", "trivial")
"""Roles of the rows whose pairs hold together: methods, and the baselines that they are to beat."""


@dataclass(frozen=True)
class Board:
    """A plan's scores, and the tables that follow from them.

    Attributes:
        gathered: the scores, or what gathers them when they are first asked for.
        planned: what its manifest lists.
        origins: by method, the stored board that its scores are from; none for runs of the store.
        submitted: by method, ``verified`` or ``self-reported``, of rows that others sent.
        made_by: the scores' versions, by statistic, of numbers that are stored; None for today's.
        first_run: UTC time at which the first run of scores that were stored was begun.
        imported: digests by name of the files that scores from elsewhere were read from; None where
            the runs were made by uqbench.
    """

    plan: Plan
    gathered: Scores | Callable[[], Scores]
    planned: Planned
    origins: Mapping[str, str] = field(default_factory=dict)
    submitted: Mapping[str, str] = field(default_factory=dict)
    made_by: Mapping[str, str] | None = None
    first_run: str = ""
    imported: Mapping[str, str] | None = None

    @classmethod
    def of(cls, plan: Plan, scores: Scores | Iterable[Score] | Callable[[], Scores]) -> Board:
        """The board of a plan and the plugins that are installed."""
        return cls(plan, scores if callable(scores) else Scores.of(scores), Planned.of(plan))

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.plan.suite.name

    @property
    def name(self) -> str:
        """Name of the board: the budget, or a selection of its runs."""
        return self.plan.name

    @property
    def title(self) -> str:
        """Suite and budget, and whether it is of a selection."""
        return board_title(self.suite, self.name)

    @property
    def ranks(self) -> bool:
        """Whether the budget can rank methods."""
        return self.plan.budget.ranks

    @cached_property
    def scores(self) -> Scores:
        """A row a planned run."""
        return self.gathered() if callable(self.gathered) else self.gathered

    @cached_property
    def added(self) -> dict[str, BoardTable]:
        """Tables of plugins, by the names of their files."""
        made = {f"{spec.name}.csv": spec.load_factory()(self) for spec in self.plan.board_tables}
        return {name: of for name, of in made.items() if of.applies}

    @cached_property
    def began(self) -> str:
        """UTC time at which the first run was begun; empty where that is not known."""
        own = [of.began for cell in self.scores.cells for of in cell.made if of is not None]
        return min(filter(None, [self.first_run, *own]), default="")

    @cached_property
    def methods(self) -> dict[str, MethodScores]:
        """The scores by method."""
        return by_method(self.plan.suite, self.scores)

    @cached_property
    def estimates(self) -> dict[str, dict[str, Estimate | None]]:
        """By method, its estimates by their columns of ``leaderboard.csv``, of those with any."""
        plan, over = self.plan, standings.improvements(self.pairs, self.plan.suite.baseline)
        further = self.further_places.items()
        rows = {
            method: standings.estimates(
                plan, self.columns, own, plan.roles[method], over.get(method)
            )
            | beyond(plan, self.metrics, own)
            | gains(plan, method, self.methods)
            | {f"{name}{PLACE}": tables.placed(of.get(method)) for name, of in further}
            for method, own in self.methods.items()
        }
        known = {*standings.shown_statistics(plan)}
        known |= {name for own in rows.values() for name, of in own.items() if of is not None}
        return {row: {n: own[n] for n in own if n in known} for row, own in rows.items()}

    @property
    def primary(self) -> Metric:
        """The metric that the board is scored by."""
        return self.plan.suite.primary_metric(self.plan.budget)

    @property
    def ranking(self) -> str:
        """The statistic that the board is ranked by."""
        return self.plan.suite.ranks_by

    @cached_property
    def columns(self) -> list[Column]:
        """The columns next to the primary metric's that have a value."""
        every, rows = columns(self.plan), self.methods.values()
        return [one for one in every if any(one.values(own) is not None for own in rows)]

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The suite's metrics, without those that older runs did not store."""
        of, own = self.plan.suite.metrics, self.scores.cells
        lacking = [m for m in of if not any(cell.measured(m.name).any() for cell in own)]
        return tuple(metric for metric in of if not (follows(metric) and metric in lacking))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of fully scored rows."""
        return self.pairs_on()

    def pairs_on(self, *tasks: str) -> tuple[Pair, ...]:
        """All pairs of fully scored rows by their runs on some tasks; on all if none is named."""
        return self._compared(self.on(tasks), self.primary, *tasks)

    def _compared(self, of: Mapping[str, Matrix], by: Metric, *tasks: str) -> tuple[Pair, ...]:
        on = sorted(tasks or {cell.task for cell in self.scores.cells})
        return compare(
            of,
            self.ranking,
            paired=self.plan.suite.pairing,
            baselines=[name for name, role in self.plan.roles.items() if role == "trivial"],
            unranked=[n for n, role in self.plan.roles.items() if role not in COMPARED],
            ranges=standings.ranges_by_task(self.plan.suite, by, on),
        )

    @cached_property
    def places(self) -> dict[str, Place]:
        """Place of each fully scored method; none under a budget that cannot rank."""
        return self.places_on()

    def places_on(self, *tasks: str) -> dict[str, Place]:
        """Place of each fully scored method by its runs on some tasks; on all if none is named."""
        if not self.ranks:
            return {}
        pairs = self.pairs_on(*tasks) if tasks else self.pairs
        return places(self.on(tasks, "method"), pairs, self.ranking)

    def pairs_by(self, metric: Metric) -> tuple[Pair, ...]:
        """All pairs of rows that are fully scored by a further metric, by that metric."""
        return self._compared(self._by(metric), metric)

    @cached_property
    def further_places(self) -> dict[str, dict[str, Place]]:
        """By each further metric that the budget ranks by, the place of each method."""
        further = self.plan.suite.ranking_metrics(self.plan.budget)[1:] if self.ranks else []
        methods = {name for name, role in self.plan.roles.items() if role == "method"}
        found = {}
        for by in further:
            own = {name: of for name, of in self._by(by).items() if name in methods}
            found[by.name] = places(own, self.pairs_by(by), self.ranking)
        return found

    def _by(self, metric: Metric) -> dict[str, Matrix]:
        of = {name: own.normalized(metric) for name, own in self.methods.items()}
        return {name: values for name, values in of.items() if values is not None}

    def on(self, tasks: Sequence[str], *roles: Role) -> dict[str, Matrix]:
        """The scores of some roles' rows on some of the tasks; of all where none is named."""
        of_roles = roles or {*self.plan.roles.values()}
        own = {n: of for n, of in self.matrices.items() if self.plan.roles[n] in of_roles}
        if not tasks:
            return own
        return {n: of[:, [*map(self.methods[n].tasks.index, tasks)]] for n, of in own.items()}

    @cached_property
    def subsets(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Tasks by (``only`` or ``without``, task): each alone, or all but each."""
        tasks = sorted({cell.task for cell in self.scores.cells})
        alone = {("only", task): (task,) for task in tasks if len(tasks) > 1}
        rest = {("without", of): tuple(task for task in tasks if task != of) for of in tasks}
        return alone | (rest if len(tasks) > 2 else {})

    @cached_property
    def trivial(self) -> standings.TrivialBaseline | None:
        """The best trivial row, and which methods beat it."""
        values = {name: point(self.ranking, matrix) for name, matrix in self.matrices.items()}
        return standings.trivial_baseline(values, self.plan.roles, self.pairs)

    @property
    def content(self) -> dict[str, list[str]]:
        """The content hashes that each package had in the scored runs; one, unless mixed."""
        return {name: sorted(hashes) for name, hashes in sorted(contents(self.scores).items())}

    @cached_property
    def origin(self) -> dict[str, dict[str, str]]:
        """By method, what is known of where its row is from, by the columns of ``ORIGINS``."""
        versions = {c.method.name: c.runs[0].identity["method"]["version"] for c in self.plan.cells}
        found, imported = {}, "" if self.imported is None else "yes"
        for name in self.methods:
            local, recorded = is_local(versions[name]), versions[name] == SELF_RUN
            others = self.origins.get(name, ""), self.submitted.get(name, "")
            said = zip(ORIGINS, (imported, "yes" * local, "yes" * recorded, *others), strict=True)
            found[name] = {kind: of for kind, of in said if of}
        return found

    @cached_property
    def matrices(self) -> dict[str, Matrix]:
        """The normalized scores of each fully scored row, ``[runs, tasks]``."""
        matrices = {name: own.normalized_primary for name, own in self.methods.items()}
        return {name: values for name, values in matrices.items() if values is not None}

    @cached_property
    def together(self) -> str:
        """A sentence on runs of a seed that go together and are compared as if they did not."""
        methods = list(self.on((), "method").values())
        return pairing_note(methods, paired=self.plan.suite.pairing) if methods else ""

    @cached_property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables that follow from the scores, by the names of their files."""
        return {
            **{n: f for n, of in self.added.items() if not of.kept and len((f := of.frame).T)},
            "leaderboard.csv": with_words(tables.made(self._rows())),
            "pairs.csv": tables.made(map(tables.pair_row, self.pairs), tables.PAIR_COLUMNS),
            "ranks.csv": tables.made(self._rank_rows(), tables.RANK_COLUMNS),
            "tasks.csv": tables.made(self._task_rows()),
        }

    @cached_property
    def tables(self) -> dict[str, bytes]:
        """The files of the frames, and the scores, deterministic to the byte."""
        files = {name: tables.csv_text(frame).encode() for name, frame in self.frames.items()}
        return dict(sorted({**files, SCORES: to_csv(self.scores, self.metrics)}.items()))

    def files(self) -> dict[str, str]:
        """The tables, and a manifest of these."""
        tables = {name: data.decode() for name, data in self.tables.items()}
        return {**tables, MANIFEST: self.manifest({}).text}

    def table(self, name: str) -> pd.DataFrame | None:
        """A table as a frame; None where there is none of that name."""
        if name == SCORES:
            return tables.read(self.tables[name].decode(), f"{self.suite}/{self.name}/{name}")
        return self.frames.get(name)

    @property
    def leaderboard(self) -> pd.DataFrame:
        """A row a method."""
        return self.frames["leaderboard.csv"]

    @property
    def finding(self) -> str:
        """The headline of the board: who is best, and whom to trust."""
        return self.told.headline

    @cached_property
    def told(self) -> Told:
        """The frames that its sentences are made of."""
        metric, tasks = (self.primary.name, self.primary.direction), self.frames["tasks.csv"]
        settings = self.plan.budget.config
        return Told(self.leaderboard, self.ranking, self.ranks, tasks, metric, settings)

    def rows(self) -> list[dict[str, str]]:
        """The lines of ``leaderboard.csv``, as text."""
        return [*csv.DictReader(io.StringIO(self.tables["leaderboard.csv"].decode()))]

    def _rows(self) -> Iterator[Row]:
        coverage, failed = coverage_column(c.name for c in self.columns), RunState.FAILED.value
        origins = {kind for own in self.origin.values() for kind in own}
        for method, own in self.methods.items():
            beaten = None if self.trivial is None else self.trivial.beaten.get(method)
            row: Row = {
                "method": method,
                "role": self.plan.roles[method],
                "beats_trivial": {True: "yes", False: "no", None: ""}[beaten],
                **tables.place_cells(self.places.get(method)),
                "tasks": len(own.tasks),
                "runs_planned": sum(map(len, own.cells.values())),
                "runs_scored": sum(cell.scored for cell in own.cells.values()),
                "runs_failed": sum(c.status.count(failed) for c in own.cells.values()),
            }
            known = self.origin[method]
            row |= {k: known.get(k, none) for k, none in ORIGINS.items() if k in origins}
            if self.plan.budget.tuned:
                row["tuned"] = how_tuned(self.plan, method)
            if coverage is not None:
                row["calibration"] = ""
            for name, estimated in self.estimates[method].items():
                row |= cells(name, estimated)
            yield row

    def _rank_rows(self) -> Iterator[Row]:
        """The lines of ``ranks.csv``: ranks by each task alone, and without each of the tasks."""
        for (how, task), tasks in self.subsets.items():
            for method, place in self.places_on(*tasks).items():
                yield {"how": how, "task": task, "method": method, **tables.place_cells(place)}

    def _task_rows(self) -> Iterator[Row]:
        for cell in self.scores.cells:
            row: Row = {"task": cell.task, "method": cell.method, "runs_planned": len(cell)}
            row["runs_scored"] = cell.scored
            suite, learns = self.plan.suite, self.plan.roles[cell.method] == "method"
            raw = {"normalized": False, "learns": learns}
            for metric in (one for one in self.metrics if control_of(one) is None):
                values = self.methods[cell.method].on(cell.task, metric)
                ranges = standings.ranges_by_task(suite, metric, [cell.task], **raw)
                ends = metric.ends
                mean = None if values is None else estimate("mean", values, ranges, limits=ends)
                row |= cells(metric.name, mean)
            yield row

    def manifest(self, others: Mapping[str, str]) -> Manifest:
        """The board's ``manifest.json``; ``others`` are digests of its files that are no tables."""
        suite, budget = self.plan.suite, self.plan.budget
        normalization = self.primary.normalized_as or self.primary.name
        groups, constants = grouped(self.columns), suite.normalization[normalization]
        made = [(of.task.name, of.method.name, of.runs[0].identity) for of in self.plan.cells]
        digests = {name: sha256(data).hexdigest() for name, data in self.tables.items()}
        tuned = {base_name(name) for name in self.plan.roles}
        left_out = set() if budget.task_steps else {"task_steps"}
        versions = score_versions(self.plan) if self.made_by is None else {**self.made_by}
        return Manifest.model_validate(
            ({"groups": groups} if groups else {})
            | ({"score_versions": versions} if versions else {})
            | ({"tuning_table": suite.tables.digest(tuned)} if budget.tuned else {})
            | ({} if self.imported is None else {"imported": {**self.imported}})
            | {
                "schema_version": SCHEMA_VERSION,
                "suite": {"name": suite.name, "version": suite.version},
                "budget": {"name": self.plan.budget_name}
                | budget.model_dump(mode="json", exclude=left_out),
                "standard": self.plan.standard and not self.planned.absent(self.scores),
                "primary_metric": self.primary.model_dump(mode="json", exclude=NOT_LISTED),
                "ranks_by": self.ranking,
                "paired": "runs" if suite.pairing == "runs" else suite.paired,
                "normalization": {"metric": normalization} | constants.model_dump(mode="json"),
                "methods": {f"{task}/{name}": of["method"] for task, name, of in made},
                "task_versions": {task: of["task"]["version"] for task, _, of in made},
                "planned": self.planned,
                "runs": {
                    state.value: sum(c.status.count(state.value) for c in self.scores.cells)
                    for state in RunState
                },
                "content": self.content,
                "mixes_content": any(len(hashes) > 1 for hashes in self.content.values()),
                "devices": sorted({d for cell in self.scores.cells for d in cell.device} - {""}),
                "digests_of": self.scores.digest_of,
                "intervals": {"confidence": 1 - ALPHA, "minimum_seeds": MINIMUM_SEEDS}
                | {"draws": DRAWS},
                "sha256": {**digests, **others},
            }
        )


def board(plan: Plan, store: Store) -> Board:
    """The leaderboard of a plan, from the store."""
    return Board.of(plan, gather(plan, store))
