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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeGuard

from uqbench.boards.tables import csv_text
from uqbench.errors import UqbenchError, see
from uqbench.identity import DeviceKind, Run
from uqbench.results.columns import columns_digest
from uqbench.results.files import reading
from uqbench.results.records import Provenance, RunRecord, Timing
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Plan

DEVICES: tuple[DeviceKind, ...] = ("cpu", "cuda")
_FIXED = ("task", "method", "seed", "status", "device", "score")
DigestOf = Literal["results", "record"]
_DIGEST_COLUMNS: dict[DigestOf, str] = {"results": "results_digest", "record": "digest"}
_NO_VALUE = "none"


class Making(NamedTuple):
    """How a finished run was made: what its record has beside its scores."""

    timing: Timing | None
    began: str
    updated: str
    provenance: Provenance
    metrics: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, record: RunRecord) -> Making:
        """What a record says."""
        return cls(*(getattr(record, name) for name in cls._fields))


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
    digest: str
    content: str
    digest_of: DigestOf = "results"
    made: Making | None = field(default=None, compare=False, repr=False)

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
    definitions = {metric.name: metric.definition() for metric in plan.suite.metrics}
    scores = []
    for planned, found in zip(plan.runs, store.find_all(plan.runs), strict=True):
        run, stored = _either_device(planned, found, store)
        values, device, digest, content = {}, "", "", ""
        finished = stored.record if stored.state is RunState.FINISHED else None
        if finished is not None:
            values, device = _values(run, finished, definitions), str(run.identity["device"])
            digest = finished.digests.get("results") or columns_digest(*store.columns(run))
            packages = sorted(finished.provenance.content.items())
            content = " ".join(f"{name}:{value[:8]}" for name, value in packages)
        raw = values.get(primary.name)
        score = constants[run.task].normalize(raw) if is_finite(raw) else None
        scores.append(
            Score(
                run.task, run.method, run.seed, stored.state.value, device, score, values,
                run.place, digest, content, made=None if finished is None else Making.of(finished),
            )
        )  # fmt: skip
    store.save_cache()
    return sorted(scores, key=lambda s: (s.task, s.method, s.seed))


def finished_runs(runs: Iterable[Run], scores: Iterable[Score]) -> Iterator[tuple[Score, Run]]:
    """The scores whose records are in a store, each with its run on the device that it was made on.

    Scores of other than these ``runs`` are left out.
    """
    known = {(run.task, run.method, run.seed): run for run in runs}
    for score in scores:
        run = known.get((score.task, score.method, score.seed))
        if run is not None and score.made is not None:
            yield score, run.on_device("cuda" if score.device == "cuda" else "cpu")


def to_csv(scores: Sequence[Score], metrics: Sequence[Metric]) -> str:
    """``scores.csv``: numbers in full, so that reading gives back the same."""
    names = [metric.name for metric in metrics]
    digest_of = scores[0].digest_of if scores else "results"
    digest, no_value = _DIGEST_COLUMNS[digest_of], _NO_VALUE if digest_of == "results" else None
    rows = []
    for score in scores:
        row = {name: getattr(score, name) for name in (*_FIXED, "run", "content")}
        values = {name: score.values[name] for name in names if name in score.values}
        row |= {name: no_value if value is None else value for name, value in values.items()}
        rows.append(row | {digest: score.digest})
    return csv_text(rows, (*_FIXED, *names, "run", digest, "content"))


def from_csv(text: str, where: str) -> list[Score]:
    """Read ``scores.csv``, in either form.

    Raises:
        UqbenchError: a column is missing or a value is not a number.
    """
    rows = csv.DictReader(io.StringIO(text))
    with reading(where, csv.Error, ValueError, TypeError):  # a cut row has None for a number
        columns = rows.fieldnames or ()
        digest_of: DigestOf = "record" if "digest" in columns else "results"
        trace = ("run", _DIGEST_COLUMNS[digest_of], "content")
        missing = {*_FIXED, *trace} - set(columns)
        if missing:
            raise UqbenchError(f"{where}: expected the columns {', '.join(sorted(missing))}.")
        names = [name for name in columns if name not in (*_FIXED, *trace)]
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
                digest=row[_DIGEST_COLUMNS[digest_of]],
                content=row["content"],
                digest_of=digest_of,
            )
            for row in rows
        ]


def is_finite(value: float | None) -> TypeGuard[float]:
    """Whether there is a value, and it is a number."""
    return value is not None and math.isfinite(value)


def _either_device(run: Run, planned: StoredRun, store: Store) -> tuple[Run, StoredRun]:
    """The run as it is planned, or as it was finished on another kind of device."""
    if planned.state is not RunState.FINISHED:
        for device in DEVICES:
            other = run.on_device(device)
            stored = store.find(other) if other != run else planned
            if stored.state is RunState.FINISHED:
                return other, stored
    return run, planned


def _values(
    run: Run, record: RunRecord, definitions: Mapping[str, Mapping[str, Any]]
) -> dict[str, float | None]:
    """A run's scalars, refused where a metric has changed since they were computed."""
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
    return {name: scalars[name] for name in definitions if name in scalars}


def _number(text: str) -> float | None:
    return float(text) if text not in ("", _NO_VALUE) else None
