"""Scores: one row a planned run. All that a leaderboard is computed from.

A metric that a run was not measured by (an evaluation that its budget has not) has an empty cell; a
metric that gave no value says ``none``. In boards written before that, both are empty, and their
column ``digest`` is of ``run.json``, with its process and times, not ``results_digest``, of the
results. A board keeps its form when its tables are written anew.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from uqbench.errors import UqbenchError, see
from uqbench.identity import DeviceKind, Run
from uqbench.results.columns import columns_digest
from uqbench.results.records import Provenance, RunRecord
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite

DEVICES: tuple[DeviceKind, ...] = ("cpu", "cuda")
_FIXED = ("task", "method", "seed", "status", "device", "score")
DigestOf = Literal["results", "record"]
_DIGEST_COLUMNS: dict[DigestOf, str] = {"results": "results_digest", "record": "digest"}
_NO_VALUE = "none"


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
        record: of the run, where it is in the store; none of scores that are read from a board.
    """

    task: str
    method: str
    seed: int
    status: str
    device: str
    score: float | None
    values: dict[str, float | None]
    run: str
    digest: str
    content: str
    digest_of: DigestOf = "results"
    record: RunRecord | None = field(default=None, compare=False, repr=False)

    def same_result(self, other: Score, measured: Sequence[str] = ()) -> bool:
        """Whether another run came to the same, bit for bit.

        Metrics that are ``measured`` (of cost) differ from run to run and do not count; neither
        does the digest of a record, in which times are.
        """
        return self._result(measured) == other._result(measured) and (
            self.digest == other.digest or "record" in (self.digest_of, other.digest_of)
        )

    def _result(self, measured: Sequence[str]) -> tuple[object, ...]:
        """What two runs that are the same agree on; NaN equals NaN."""
        known = {
            name: repr(value)
            for name, value in self.values.items()
            # the older form does not tell what is missing from what has no value
            if name not in measured and value is not None
        }
        score = None if self.score is None else repr(self.score)
        return self.task, self.method, self.seed, self.status, self.device, score, self.run, known


def check_scores(scores: Sequence[Score], plan: Plan, where: str) -> None:
    """See that stored scores are those of a plan, and normalized as its suite says.

    Raises:
        UqbenchError: runs differ from the plan's, or a score does not follow from its raw value.
    """
    stored = sorted((s.task, s.method, s.seed) for s in scores)
    planned = sorted((run.task, run.method, run.seed) for run in plan.runs)
    if stored != planned:
        differing = sorted(set(stored).symmetric_difference(planned)) or stored
        raise UqbenchError(
            f"{where} has {len(stored)} runs, the plan {len(planned)}; they differ in "
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


def gather(plan: Plan, store: Store) -> list[Score]:
    """The scores of all planned runs, from the store; runs of either kind of device count."""
    primary = plan.suite.primary_metric(plan.budget)
    constants = plan.suite.normalization_constants(primary)
    definitions, scores = _Definitions(plan.suite), []
    for planned in plan.runs:
        run, stored = _either_device(planned, store)
        finished = stored.record if stored.state is RunState.FINISHED else None
        values = definitions.values(run, finished) if finished else {}
        raw = values.get(primary.name)
        scores.append(
            Score(
                task=run.task,
                method=run.method,
                seed=run.seed,
                status=stored.state.value,
                device=str(run.identity["device"]) if finished else "",
                score=constants[run.task].normalize(raw) if is_finite(raw) else None,
                values=values,
                run=run.place,
                digest=_results_digest(run, finished, store) if finished else "",
                content=_content(finished.provenance) if finished else "",
                record=finished,
            )
        )
    store.save_cache()
    return sorted(scores, key=lambda s: (s.task, s.method, s.seed))


def to_csv(scores: Sequence[Score], metrics: Sequence[Metric]) -> str:
    """``scores.csv``: numbers in full, so that reading gives back the same."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [metric.name for metric in metrics]
    digest_of = scores[0].digest_of if scores else "results"
    writer.writerow([*_FIXED, *names, "run", _DIGEST_COLUMNS[digest_of], "content"])
    writer.writerows(_row(s, names) for s in scores)
    return text.getvalue()


def from_csv(text: str, where: str) -> list[Score]:
    """Read ``scores.csv``, in either form.

    Raises:
        UqbenchError: a column is missing or a value is not a number.
    """
    rows = csv.DictReader(io.StringIO(text))
    try:
        columns = rows.fieldnames or ()
    except csv.Error as error:
        raise UqbenchError(f"{where} is damaged, because {error}") from None
    digest_of: DigestOf = "record" if "digest" in columns else "results"
    digest = _DIGEST_COLUMNS[digest_of]
    trace = ("run", digest, "content")
    missing = {*_FIXED, *trace} - set(columns)
    if missing:
        raise UqbenchError(f"{where}: expected the columns {', '.join(sorted(missing))}.")
    names = [name for name in columns if name not in (*_FIXED, *trace)]
    try:
        return [
            Score(
                task=row["task"],
                method=row["method"],
                seed=int(row["seed"]),
                status=row["status"],
                device=row["device"],
                score=_number(row["score"]),
                values={
                    name: _number(row[name])
                    for name in names
                    if row[name] or (digest_of == "record" and row["status"] == "finished")
                },
                run=row["run"],
                digest=row[digest],
                content=row["content"],
                digest_of=digest_of,
            )
            for row in rows
        ]
    except (ValueError, TypeError, csv.Error) as error:  # a cut row has None for a number
        raise UqbenchError(f"{where} is damaged, because {error}") from None


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


class _Definitions:
    """Holds the metrics of a suite against those that stored runs were scored by."""

    def __init__(self, suite: Suite) -> None:
        self._today = {metric.name: metric.definition() for metric in suite.metrics}
        self._seen: list[dict[str, dict[str, Any]]] = []

    def values(self, run: Run, record: RunRecord) -> dict[str, float | None]:
        """A run's scalars, refused where a metric has changed since they were computed."""
        scalars, theirs = record.scalars, record.metrics
        if not any(theirs is seen for seen in self._seen):  # the runs of a cell share them
            for name, definition in self._today.items():
                if name in theirs and theirs[name] != definition:
                    raise UqbenchError(
                        f"{run.folder} was scored by another definition of {name!r}; give the "
                        f"changed metric a new name, so that old and new scores are not mixed."
                        f"{see('changed-metric')}"
                    )
            self._seen = [theirs, *self._seen[:3]]
        if not scalars.keys() <= theirs.keys():
            unknown = ", ".join(sorted(scalars.keys() - theirs.keys()))
            raise UqbenchError(f"{run.folder} does not say how it was scored by {unknown}.")
        return {name: scalars[name] for name in self._today if name in scalars}


def _content(provenance: Provenance) -> str:
    return " ".join(f"{name}:{value[:8]}" for name, value in sorted(provenance.content.items()))


def _results_digest(run: Run, record: RunRecord, store: Store) -> str:
    """That of the numbers in the run's files."""
    return record.digests.get("results") or columns_digest(*store.columns(run))


def _row(score: Score, names: Sequence[str]) -> list[object]:
    """A line of ``scores.csv``; ``csv`` writes floats in full, and nothing for None."""
    cells: list[object] = [score.values.get(name) for name in names]
    if None in cells and score.digest_of == "results":
        said = zip(names, cells, strict=True)
        cells = [_NO_VALUE if c is None and name in score.values else c for name, c in said]
    fixed = [score.task, score.method, score.seed, score.status, score.device, score.score]
    return [*fixed, *cells, score.run, score.digest, score.content]


def _number(text: str) -> float | None:
    return float(text) if text not in ("", _NO_VALUE) else None
