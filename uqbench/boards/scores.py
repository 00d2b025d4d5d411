"""Scores: one row a planned run. All that a leaderboard is computed from.

A metric that a run was not measured by (an evaluation that its budget has not) has an empty cell; a
metric that gave no value says ``none``. In boards written before that, both are empty, and their
column ``digest`` is of ``run.json``, with its process and times, not ``results_digest``, of the
results. A board keeps its form when its tables are written anew.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, repeat
from sys import intern
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.errors import UqbenchError, see
from uqbench.contract.identity import DeviceKind, Run
from uqbench.contract.wording import count
from uqbench.registry.plugins import Host
from uqbench.results.files import reading
from uqbench.results.numbers import number
from uqbench.results.records import RunRecord
from uqbench.results.scores import CellScores, DigestOf, Making, Score, Scores, Values
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.results.tables import PREDICTIONS, columns_digest
from uqbench.suites.controls import SIZED, follows, of_other_runs
from uqbench.suites.metrics import Metric, NormalizationConstants
from uqbench.suites.plan import Cell, Plan

DEVICES: tuple[DeviceKind, ...] = ("cpu", "cuda")
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
    """The scores of all planned runs, from the store; runs of either kind of device count."""
    rows = _rows(plan, store)
    scores = Scores(
        CellScores(cell.task.name, cell.method.name, _with_stored(own, cell, plan, store))
        for cell in plan.cells
        for own in ([*islice(rows, len(cell.runs))],)
    )
    store.save_index()
    return scores


def _rows(plan: Plan, store: Store) -> Iterator[Score]:
    """The scores in the order of the plan's runs."""
    primary = plan.suite.primary_metric(plan.budget)
    constants = plan.suite.normalization_constants(primary)
    definitions = {metric.name: metric.definition() for metric in plan.suite.metrics}
    known: RunRecord | None = None  # of the last run, with which others of its cell share much
    content = ""
    for planned in plan.runs:
        run, stored = _either_device(planned, store)
        record = stored.record if stored.state is RunState.FINISHED else None
        if record is None:
            yield Score(run.task, run.method, run.seed, stored.state.value, "", None, {}, run.place)
            continue
        if known is None or known.metrics is not record.metrics:
            _check_definitions(run, record, definitions)
        if known is None or known.provenance is not record.provenance:
            packages = sorted(record.provenance.content.items())
            content = " ".join(f"{name}:{value[:8]}" for name, value in packages)
        known, digest = record, record.digests.get("results")
        digest = digest or columns_digest(*store.columns(run))
        scale = constants[run.task]
        yield score_of(record, run.place, definitions, primary.name, scale, digest, content)


def _with_stored(rows: list[Score], cell: Cell, plan: Plan, store: Store) -> list[Score]:
    """The scores of a cell, with those of what its runs store, of some of all runs together."""
    suited = [metric for metric in plan.suite.metrics if metric.suits(cell.task)]
    later = {metric.name: metric for metric in suited if follows(metric)}
    made = [i for i, row in enumerate(rows) if row.made]
    together = any(map(of_other_runs, later.values()))
    if not (together or any(later.keys() - rows[i].values.keys() for i in made)):
        return rows
    from uqbench.uncertainty.controls import of_sizes, stored_scores  # they import torch
    from uqbench.uncertainty.predicted_controls import predicted_scores

    runs = [cell.runs[i].on_device("cuda" if rows[i].device == "cuda" else "cpu") for i in made]
    tables = [store.table(run, PREDICTIONS) for run in runs]
    found: list[dict[str, float | None]] = stored_scores(tables)
    if any(tables) and not any(found):
        host = Host.load()
        found = [predicted_scores(suited, table, host) for table in tables]
    for metric in (m for m in later.values() if m.statistic.startswith(SIZED)):
        for i, value in of_sizes(metric, [store.columns(run)[0] for run in runs]).items():
            found[i][metric.statistic] = value
    primary = plan.suite.primary_metric(plan.budget)
    scale = plan.suite.normalization_constants(primary)[cell.task.name]
    for i, own in zip(made, found, strict=True):
        told = {name: own[m.statistic] for name, m in later.items() if m.statistic in own}
        raw = (values := {**rows[i].values, **told}).get(primary.name)
        score = scale.normalize(raw) if is_finite(raw) else None
        rows[i] = replace(rows[i], values=values, score=score)
    return rows


def score_of(
    record: RunRecord, place: str, metrics: Iterable[str], primary: str,
    scale: NormalizationConstants, digest: str, content: str = "",
) -> Score:  # fmt: skip
    """The score of a finished run in a folder, by those of some metrics that it has."""
    values = {name: record.scalars[name] for name in metrics if name in record.scalars}
    (_, _, task, method, _), raw = place.split("/"), values.get(primary)
    when = intern(record.began), intern(record.updated)
    return Score(
        task, method, record.identity["seed"], record.status, str(record.identity["device"]),
        scale.normalize(raw) if is_finite(raw) else None, values, place, digest, content,
        made=Making(record.timing, *when, record.provenance, record.metrics, record.learning),
    )  # fmt: skip


def finished_runs(runs: Iterable[Run], scores: Scores) -> Iterator[tuple[Score, Run]]:
    """The scores whose records are in a store, each with its run on the device that it was made on.

    Scores of other than these ``runs`` are left out.
    """
    known = {(run.task, run.method, run.seed): run for run in runs}
    for cell in scores.cells:
        for i, seed in enumerate(cell.seeds):
            run = known.get((cell.task, cell.method, seed))
            if run is not None and cell.made[i] is not None:
                yield cell[i], run.on_device("cuda" if cell.device[i] == "cuda" else "cpu")


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
    planned = store.find(run)
    if planned.state is not RunState.FINISHED:
        for device in DEVICES:
            other = run.on_device(device)
            stored = store.find(other) if other != run else planned
            if stored.state is RunState.FINISHED:
                return other, stored
    return run, planned


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
