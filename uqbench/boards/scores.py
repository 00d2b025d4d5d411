"""Scores: one row a planned run. All that a leaderboard is computed from.

A metric that a run was not measured by (an evaluation that its budget has not) has an empty cell; a
metric that gave no value says ``none``. In boards written before that, both are empty, and their
column ``digest`` is of ``run.json``, with its process and times, not ``results_digest``, of the
results. A board keeps its form when its tables are written anew.
"""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby, islice, repeat
from sys import intern
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.errors import UqbenchError, see
from uqbench.contract.identity import Run
from uqbench.contract.wording import count
from uqbench.registry.plugins import Host
from uqbench.results.files import reading
from uqbench.results.numbers import number
from uqbench.results.records import RunRecord
from uqbench.results.scores import CellScores, DigestOf, Making, Score, Scores, Values
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.results.tables import PREDICTIONS, RunColumns, columns_digest
from uqbench.runner.metric_values import final_metrics, stored_values
from uqbench.suites.controls import ONE_SIZE, SIZED, follows, of_other_runs
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Cell, Plan
from uqbench.suites.tables import Task

_FIXED = ("task", "method", "seed", "status", "device", "score")
_DIGEST_COLUMNS: dict[DigestOf, str] = {"results": "results_digest", "record": "digest"}
_NO_VALUES: dict[DigestOf, str] = {"results": "none", "record": ""}
# Columns of metrics that are called like another column:
_RAW = {n: f"{n}_raw" for n in (*_FIXED, "run", *_DIGEST_COLUMNS.values(), "content")}


def check_scores(scores: Scores, plan: Plan, where: str) -> None:
    """See that stored scores are those of a plan, and normalized as its suite says.

    Raises:
        UqbenchError: runs differ from the plan's, a score does not follow from its raw value, or a
            value is beyond the range of its metric.
    """
    stored = sorted((s.task, s.method, s.seed) for s in scores)
    planned = sorted((run.task, run.method, run.seed) for run in plan.runs)
    if stored != planned:
        differing = sorted(set(stored).symmetric_difference(planned)) or stored
        raise UqbenchError(
            f"{where} has {count(len(stored), 'run')}, the plan {len(planned)}; they differ in "
            f"{', '.join('/'.join(map(str, key)) for key in differing[:3])}."
        )
    primary = plan.suite.primary_metric(plan.budget)
    constants = plan.suite.normalization_constants(primary)
    for s in scores:
        raw = s.values.get(primary.name)
        if s.score != (constants[s.task].normalize(raw) if is_finite(raw) else None):
            raise UqbenchError(
                f"{where}: the score of {s.run} does not follow from its {primary.name}."
            )
    for metric in plan.suite.metrics:
        low, high = metric.ends
        for cell in scores.cells:
            values = cell.values(metric.name)
            for i in np.flatnonzero((values < low) | (values > high)):
                raise UqbenchError(
                    f"{where}: the {metric.name} of {cell.run[i]} is {values[i]}, beyond its range "
                    f"from {low} to {high}."
                )


def gather(plan: Plan, store: Store) -> Scores:
    """The scores of all planned runs, from the store; runs of either kind of device count.

    They have all values that follow from what runs store, also those that no record has: of metrics
    that the suite got later, and of several runs of a method together.
    """
    primary = plan.suite.primary_metric(plan.budget)
    constants = plan.suite.normalization_constants(primary)
    cells = sorted(plan.cells, key=_method)
    rows, scored, host = _rows(plan, cells, store), list[CellScores](), cache(Host.load)
    for method, of_method in groupby(cells, _method):
        parts = [(cell.task, [*islice(rows, len(cell.runs))]) for cell in of_method]
        found = _following(parts, plan, store, host)
        for task, own in parts:
            scores = []
            for row in own:
                raw = (values := row.values | found.get(row.run, {})).get(primary.name)
                score = constants[task.name].normalize(raw) if is_finite(raw) else None
                scores.append(replace(row, values=values, score=score))
            scored.append(CellScores(task.name, method, scores))
    store.save_index()
    return Scores(scored)


def _method(cell: Cell) -> str:
    return cell.method.name


def _rows(plan: Plan, cells: Iterable[Cell], store: Store) -> Iterator[Score]:
    """The rows of cells' runs as their records have them, without scores."""
    definitions = {metric.name: metric.definition() for metric in plan.suite.metrics}
    known: RunRecord | None = None  # of the last run, with which others of its cell share much
    content = ""
    for planned in (run for cell in cells for run in cell.runs):
        run, stored = _either_device(planned, store)
        record = stored.record if stored.state is RunState.FINISHED else None
        row = Score(run.task, run.method, run.seed, stored.state.value, "", None, {}, run.place)
        if record is None:
            yield row
            continue
        if known is None or known.metrics is not record.metrics:
            _check_definitions(run, record, definitions)
        if known is None or known.provenance is not record.provenance:
            packages = sorted(record.provenance.content.items())
            content = " ".join(f"{name}:{value[:8]}" for name, value in packages)
        known, when = record, (intern(record.began), intern(record.updated))
        of = record.timing, *when, record.provenance, record.metrics, record.learning
        yield replace(
            row, device=str(record.identity["device"]), content=content, made=Making(run, *of),
            values={name: record.scalars[name] for name in definitions if name in record.scalars},
            digest=record.digests.get("results") or columns_digest(*store.columns(run)),
        )  # fmt: skip


def _following(
    parts: Iterable[tuple[Task, Iterable[Score]]], plan: Plan, store: Store,
    host: Callable[[], Host],
) -> Mapping[str, dict[str, float | None]]:  # fmt: skip
    """Values that follow from what a method's runs store, by folder of the run and by metric."""
    every, found = plan.suite.metrics, defaultdict[str, dict[str, float | None]](dict)
    made = [(task, [(of, row.values) for row in own if (of := row.made)]) for task, own in parts]
    for task, own in made:
        suited = [metric for metric in every if metric.suits(task)]
        later = {metric.name: metric.statistic for metric in suited if follows(metric)}
        together = any(map(of_other_runs, suited))
        if together or any(later.keys() - values.keys() for _, values in own):
            tables = [store.table(of.run, PREDICTIONS) for of, _ in own]
            for (of, _), by in zip(own, stored_values(suited, tables, host()), strict=True):
                found[of.run.place] |= {n: by[name] for n, name in later.items() if name in by}
        for of, _ in own:
            new = [m for m in suited if m.kind == "online" and m.name not in of.metrics]
            if new:
                left, budget = RunColumns(*store.columns(of.run)), plan.budget.on(task)
                found[of.run.place] |= final_metrics(new, task, budget, left, host())
    for metric in every:
        if metric.statistic.startswith((SIZED, ONE_SIZE)):
            from uqbench.uncertainty.controls import of_sizes  # it imports torch

            cells = [[of.run for of, _ in own] for task, own in made if metric.suits(task)]
            one_size = metric.statistic.startswith(ONE_SIZE)
            for runs in [sum(cells, list[Run]())] if one_size else cells:
                values = of_sizes(metric, [store.columns(run)[0] for run in runs])
                for i, value in values.items():
                    found[runs[i].place][metric.name] = value
    return found


def finished_runs(runs: Iterable[Run], scores: Scores) -> Iterator[tuple[Score, Run]]:
    """The scores whose records are in a store, each with its run on the device that it was made on.

    Scores of other than these ``runs`` are left out.
    """
    known = {(run.task, run.method, run.seed) for run in runs}
    for score in scores:
        if score.made and (score.task, score.method, score.seed) in known:
            yield score, score.made.run


def to_csv(scores: Scores, metrics: Sequence[Metric]) -> bytes:
    """``scores.csv``: numbers in full, so that reading gives back the same."""
    names = [metric.name for metric in metrics]
    digest, no_value = _DIGEST_COLUMNS[scores.digest_of], _NO_VALUES[scores.digest_of]
    text = io.TextIOWrapper(data := io.BytesIO(), "utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*_FIXED, *(_RAW.get(n, n) for n in names), "run", digest, "content"))
    for cell in scores.cells:
        columns = [_cells(cell.values(name), cell.measured(name), no_value) for name in names]
        score = _cells(cell.score, np.isfinite(cell.score), "")
        named = repeat(cell.task), repeat(cell.method)
        about = cell.run, cell.digest, cell.content
        writer.writerows(
            zip(*named, cell.seeds, cell.status, cell.device, score, *columns, *about, strict=False)
        )
    return data.getvalue()


def _cells(values: Values, measured: NDArray[np.bool_], no_value: str) -> Iterable[float | str]:
    """A column of the file: empty where not measured, ``no_value`` where there is no number."""
    if not measured.any():
        return repeat("")
    column: list[float | str] = values.tolist()
    for i in np.flatnonzero(np.isnan(values)):
        column[i] = no_value if measured[i] else ""
    return column


def metric_names(columns: Iterable[str]) -> dict[str, str]:
    """The metrics by their columns of ``scores.csv``, in either form."""
    own = [c for c in columns if c not in (*_FIXED, "run", "content", *_DIGEST_COLUMNS.values())]
    return {c: c.removesuffix("_raw") if c in _RAW.values() else c for c in own}


def from_csv(text: str, where: str) -> Scores:
    """Read ``scores.csv``, in either form.

    Raises:
        UqbenchError: a column is missing or a value is not a number.
    """
    rows = csv.DictReader(io.StringIO(text))
    with reading(where, csv.Error, ValueError, TypeError, AttributeError):  # None in a cut row
        columns = rows.fieldnames or ()
        digest_of: DigestOf = "record" if "digest" in columns else "results"
        trace = ("run", _DIGEST_COLUMNS[digest_of], "content")
        missing = {*_FIXED, *trace} - set(columns)
        if missing:
            raise UqbenchError(f"{where}: expected the columns {', '.join(sorted(missing))}.")
        names = metric_names(columns)
        return Scores.of(
            Score(
                row["task"], row["method"], int(row["seed"]), row["status"], row["device"],
                _number(row["score"]),
                {
                    name: _number(row[column])
                    for column, name in names.items()
                    if row[column] or (digest_of == "record" and row["status"] == "finished")
                },
                row["run"], row[_DIGEST_COLUMNS[digest_of]], row["content"], digest_of,
            )
            for row in rows
        )  # fmt: skip


def is_finite(value: float | None) -> TypeGuard[float]:
    """Whether there is a value, and it is a number."""
    return value is not None and math.isfinite(value)


def _either_device(run: Run, store: Store) -> tuple[Run, StoredRun]:
    """The run as it is planned, or as it was finished on another kind of device."""
    planned = run, store.find(run)
    if planned[1].state is RunState.FINISHED:
        return planned
    others = ((one, store.find(one)) for one in run.on_any_device[1:])
    return next((of for of in others if of[1].state is RunState.FINISHED), planned)


def _check_definitions(
    run: Run, record: RunRecord, definitions: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse scores of a metric that has changed since they were computed."""
    scalars, theirs = record.scalars, record.metrics
    for name, definition in definitions.items():
        if theirs.get(name, definition) != definition:
            raise UqbenchError(
                f"{run.folder} was scored by another definition of {name!r}; give the changed "
                f"metric a new name, so that old and new scores are not mixed."
                f"{see('changed-metric')}"
            )
    if not scalars.keys() <= theirs.keys():
        unknown = ", ".join(sorted(scalars.keys() - theirs.keys()))
        raise UqbenchError(f"{run.folder} does not say how it was scored by {unknown}.")


def _number(text: str) -> float | None:
    return number(text) if text not in _NO_VALUES.values() else None
