"""``manifest.json``: what a board is of, how it was computed, and the digest of each of its files.

The model is the schema, published as ``docs/manifest.schema.json``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from typing_extensions import TypedDict

from uqbench.contract.config import explain
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import spans
from uqbench.results.scores import DigestOf, Scores
from uqbench.suites.metrics import Group
from uqbench.suites.plan import Plan

MANIFEST = "manifest.json"
SCHEMA_VERSION: Literal[4] = 4
"""4 since every other file of the board has its digest; those of 3 list the tables' alone."""
READ = (3, SCHEMA_VERSION)
SHOWN, WITHOUT = 12, "without a value"
"""Cells that a page names as missing; of the others it gives the number."""

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


class SuiteVersion(TypedDict):
    """A suite, as it was."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: str
    version: str


class BudgetThen(TypedDict):
    """A budget as it was: its name, and the fields that budgets had."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    name: str
    ranks: bool


class MetricThen(TypedDict):
    """A metric as it was: its name, and the fields that metrics had."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    name: str


class MethodThen(TypedDict):
    """A method as it was: an agent or an estimator, its version, its resolved config."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: str
    agent: str | None
    estimator: str | None
    version: str
    config: dict[str, Any]


class Planned(BaseModel):
    """The methods and runs that a board was planned to hold.

    Attributes:
        methods: all that the suite had under the budget, on the board or not.
        runs: seeds such as ``0-4,7`` of each ``task/method`` of the board.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    methods: tuple[str, ...]
    runs: dict[str, str]

    @classmethod
    def of(cls, plan: Plan) -> Planned:
        """The contents of a plan, and of the plugins that are installed."""
        return cls(
            methods=tuple(sorted(m.name for m in plan.suite.methods_of(plan.budget_name))),
            runs={
                f"{cell.task.name}/{cell.method.name}": spans(run.seed for run in cell.runs)
                for cell in plan.cells
            },
        )

    def absent(self, scores: Scores) -> list[str]:
        """Methods of the suite that have no row."""
        shown = {cell.method for cell in scores.cells}
        return [name for name in self.methods if name not in shown]

    def without_rows(self, scores: Scores) -> list[str]:
        """The planned cells whose rows are not those of the scores, as ``task/method``.

        Those without any row, or else the seeds that are missing, or that nobody planned.
        """
        there = {f"{cell.task}/{cell.method}": set(cell.seeds) for cell in scores.cells}
        cells = [(name, _seeds(own), there.get(name)) for name, own in sorted(self.runs.items())]
        return [name for name, _, seeds in cells if seeds is None] or [
            f"{name} (seed {spans(known - seeds) or f'beyond {spans(known)}'})"
            for name, known, seeds in cells
            if seeds is not None and seeds != known
        ]


class Manifest(BaseModel):
    """``manifest.json``.

    Attributes:
        schema_version: see :data:`SCHEMA_VERSION`.
        suite, budget: that were run, with the fields that they had then.
        standard: whether the runs are those of the budget, and no method of the suite is missing.
        primary_metric, ranks_by, paired, normalization: how rows are scored, and ranked; true is
            by seeds with all their tasks.
        methods: what was run, by ``task/method``.
        planned: the suite's methods, and the seeds.
        runs: how many were in which state.
        content: the content hashes that each package had; mixed where one had several.
        devices: kinds of device that runs were made on.
        digests_of: what ``scores.csv`` has digests of.
        intervals: how they were computed; ``rliable`` of boards of schema 3, too.
        groups: the columns about return, risk and uncertainty; None where there are none.
        task_versions: of the environments or data sets of the tasks; None of boards that were
            written before manifests had them.
        score_versions: of the metrics' scores, by statistic; None where all are the first.
        tuning_table: sha256 of the rows about its methods of the table that settings are from;
            None where the budget is not tuned.
        imported: digests by name of the files that the scores were read from; None where uqbench
            made the runs.
        sha256: of each other file of the board.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    schema_version: Literal[3, 4]
    suite: SuiteVersion
    budget: BudgetThen
    standard: bool
    primary_metric: MetricThen
    ranks_by: str
    paired: bool | Literal["runs"]
    normalization: dict[str, Any]
    methods: dict[str, MethodThen]
    planned: Planned
    runs: dict[str, Count]
    content: dict[str, list[str]]
    mixes_content: bool
    devices: list[str]
    digests_of: DigestOf
    intervals: dict[str, int | float]
    rliable: dict[str, int | float] | None = None
    groups: dict[Group, list[str]] | None = None
    task_versions: dict[str, str] | None = None
    score_versions: dict[str, str] | None = None
    tuning_table: Digest | None = None
    imported: dict[str, Digest] | None = None
    sha256: dict[str, Digest]

    @property
    def text(self) -> str:
        """The file; the same manifest, the same bytes."""
        table = self.model_dump(mode="json", exclude_unset=True)
        return json.dumps(table, indent=1, sort_keys=True, allow_nan=False) + "\n"


def missing_note(scores: Scores, planned: Planned) -> str:
    """Sentences on planned runs without a score and methods without runs; empty without any.

    A cell all of whose runs ended without a value is not missing: its method does not state it.
    """
    states = {
        f"`{cell.task}/{cell.method}`": Counter(cell.without_score(WITHOUT if cell.scored else ""))
        for cell in scores.cells
        if cell.scored < len(cell)
    }
    lacking = {name: of for name, of in sorted(states.items()) if any(of)}
    parts = []
    if lacking:
        named = [
            f"{name} ({', '.join(f'{n} {word or WITHOUT}' for word, n in sorted(counts.items()))})"
            for name, counts in lacking.items()
        ]
        total = sum(counts.total() for counts in lacking.values())
        parts.append(f"{total:,} of {len(scores):,} planned runs have no score: {_some(named)}")
    absent = [f"`{name}`" for name in planned.absent(scores)]
    parts += [f"methods of the suite without runs here: {', '.join(absent)}"] * bool(absent)
    unsaid = f"**No statement:** {_some(sorted(states.keys() - lacking.keys()))}."
    missing = f"**Missing:** {'; '.join(parts)}." if parts else ""
    return " ".join(filter(None, [missing, unsaid * (len(states) > len(lacking))]))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + f" and {len(names) - SHOWN} more" * (len(names) > SHOWN)


def read_manifest(data: bytes, where: str) -> Manifest:
    """Read a ``manifest.json`` from anywhere.

    Args:
        data: the file.
        where: what errors call it.

    Raises:
        UqbenchError: it is damaged, or of an earlier or newer uqbench.
    """
    try:
        version = json.loads(data)["schema_version"]
        if version not in READ:
            raise UqbenchError(
                f"{where}: it has schema {version!s:.50}, this uqbench reads {READ[0]} and "
                f"{SCHEMA_VERSION}: write the board again from its runs"
            )
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise UqbenchError(f"{where} is damaged, because {explain(error):.500}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error!s:.300}"
        raise UqbenchError(f"{where} is damaged, because it cannot be read: {why}") from error


def _seeds(listed: str) -> set[int]:
    """0, 1, 2, 3, 4 and 7 for ``0-4,7``."""
    ends = [span.partition("-") for span in listed.split(",")]
    return {seed for low, _, high in ends for seed in range(int(low), int(high or low) + 1)}
