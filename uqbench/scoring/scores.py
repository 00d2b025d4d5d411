"""Scores: one row a planned run. All that a leaderboard is computed from."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from uqbench.errors import UqbenchError
from uqbench.identity import DeviceKind, Run
from uqbench.results.records import Provenance
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.suites.plan import Plan
from uqbench.suites.tables import Metric, Suite

DEVICES: tuple[DeviceKind, ...] = ("cpu", "cuda")
_FIXED = ("task", "method", "seed", "status", "device", "score")
_TRACE = ("run", "digest", "content")


@dataclass(frozen=True)
class Score:
    """A planned run's outcome.

    Attributes:
        status: the run's state; values are there only where it is ``finished``.
        score: the primary metric, normalized; None where there is none.
        values: raw metrics by name.
        run: folder of the run, below the store's root.
        digest: sha256 of the run's record.
        content: first digits of the content hash of each package that took part,
            ``"uqbench:1a2b3c4d uqbench_dqn:…"``.
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
        if s.score != (None if raw is None else constants[s.task].normalize(raw)):
            raise UqbenchError(
                f"{where}: the score of {s.run} does not follow from its {primary.name}."
            )


def gather(plan: Plan, store: Store) -> list[Score]:
    """The scores of all planned runs, from the store; runs of either kind of device count."""
    primary = plan.suite.primary_metric(plan.budget)
    constants = plan.suite.normalization_constants(primary)
    scores = []
    for planned in plan.runs:
        run, found = _either_device(planned, store)
        finished = found.record if found.state is RunState.FINISHED else None
        values = _values(plan.suite, run, finished.metrics, finished.scalars) if finished else {}
        raw = values.get(primary.name)
        scores.append(
            Score(
                task=run.task,
                method=run.method,
                seed=run.seed,
                status=found.state.value,
                device=str(run.identity["device"]) if finished else "",
                score=None if raw is None else constants[run.task].normalize(raw),
                values=values,
                run=str(run.folder),
                digest=finished.digest if finished else "",
                content=_content(finished.provenance) if finished else "",
            )
        )
    return sorted(scores, key=lambda s: (s.task, s.method, s.seed))


def to_csv(scores: Sequence[Score], metrics: Sequence[Metric]) -> str:
    """``scores.csv``: numbers in full, so that reading gives back the same."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [metric.name for metric in metrics]
    writer.writerow([*_FIXED, *names, *_TRACE])
    for s in scores:
        values = [_exact(s.values.get(name)) for name in names]
        fixed = [s.task, s.method, s.seed, s.status, s.device, _exact(s.score)]
        writer.writerow([*fixed, *values, s.run, s.digest, s.content])
    return text.getvalue()


def from_csv(text: str, where: str) -> list[Score]:
    """Read ``scores.csv``.

    Raises:
        UqbenchError: a column is missing or a value is not a number.
    """
    rows = csv.DictReader(io.StringIO(text))
    missing = {*_FIXED, *_TRACE} - set(rows.fieldnames or ())
    if missing:
        raise UqbenchError(f"{where}: expected the columns {', '.join(sorted(missing))}.")
    names = [name for name in rows.fieldnames or () if name not in (*_FIXED, *_TRACE)]
    try:
        return [
            Score(
                task=row["task"],
                method=row["method"],
                seed=int(row["seed"]),
                status=row["status"],
                device=row["device"],
                score=_number(row["score"]),
                values={name: _number(row[name]) for name in names},
                run=row["run"],
                digest=row["digest"],
                content=row["content"],
            )
            for row in rows
        ]
    except (ValueError, TypeError, csv.Error) as error:  # a cut row has None for a number
        raise UqbenchError(f"{where} is damaged, because {error}") from None


def _either_device(run: Run, store: Store) -> tuple[Run, StoredRun]:
    """The run as it is planned, or as it was finished on another kind of device."""
    planned = store.find(run)
    if planned.state is not RunState.FINISHED:
        for device in DEVICES:
            other = run.on_device(device)
            found = store.find(other) if other != run else planned
            if found.state is RunState.FINISHED:
                return other, found
    return run, planned


def _values(
    suite: Suite,
    run: Run,
    definitions: dict[str, dict[str, object]],
    scalars: dict[str, float | None],
) -> dict[str, float | None]:
    """A run's scalars, refused where the suite's metric has changed since they were computed."""
    for metric in suite.metrics:
        if metric.name in scalars and definitions[metric.name] != metric.definition():
            raise UqbenchError(
                f"{run.folder} was scored by another definition of {metric.name!r}; give the "
                f"changed metric a new name, so that old and new scores are not mixed."
            )
    return {m.name: scalars[m.name] for m in suite.metrics if m.name in scalars}


def _content(provenance: Provenance) -> str:
    return " ".join(f"{name}:{value[:8]}" for name, value in sorted(provenance.content.items()))


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


def _number(text: str) -> float | None:
    return float(text) if text else None
