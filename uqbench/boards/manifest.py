"""``manifest.json``: what a board is of, how it was computed, and the digest of each of its files.

The model is the schema, published as ``docs/manifest.schema.json``.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from typing_extensions import TypedDict

from uqbench.boards.planned import Planned
from uqbench.boards.scores import DigestOf
from uqbench.config import explain
from uqbench.errors import UqbenchError
from uqbench.suites.metrics import Group

MANIFEST = "manifest.json"
SCHEMA_VERSION: Literal[4] = 4
"""4 since every other file of the board has its digest."""

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
    """What a method was: an agent or an estimator, its version, its resolved config."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    name: str
    agent: str | None
    estimator: str | None
    version: str
    config: dict[str, Any]


class Manifest(BaseModel):
    """``manifest.json``.

    Attributes:
        schema_version: see :data:`SCHEMA_VERSION`.
        suite, budget: that were run, with the fields that they had then.
        standard: whether the runs are those of the budget, and no method of the suite is missing.
        primary_metric, ranks_by, paired, normalization: how rows are scored, and ranked.
        methods: what was run, by ``task/method``.
        planned: the suite's methods, and the seeds.
        runs: how many were in which state.
        content: the content hashes that each package had; mixed where one had several.
        devices: kinds of device that runs were made on.
        digests_of: what ``scores.csv`` has digests of.
        intervals: how they were computed.
        groups: the columns about return, risk and uncertainty; None where there are none.
        sha256: of each other file of the board.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    schema_version: Literal[4]
    suite: SuiteVersion
    budget: BudgetThen
    standard: bool
    primary_metric: MetricThen
    ranks_by: str
    paired: bool
    normalization: dict[str, Any]
    methods: dict[str, MethodThen]
    planned: Planned
    runs: dict[str, Count]
    content: dict[str, list[str]]
    mixes_content: bool
    devices: list[str]
    digests_of: DigestOf
    intervals: dict[str, int | float]
    groups: dict[Group, list[str]] | None = None
    sha256: dict[str, Digest]

    @property
    def text(self) -> str:
        """The file; the same manifest, the same bytes."""
        table = self.model_dump(mode="json", exclude_unset=True)
        return json.dumps(table, indent=1, sort_keys=True, allow_nan=False) + "\n"


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
        if version != SCHEMA_VERSION:
            raise UqbenchError(
                f"{where}: it has schema {version!s:.50}, this uqbench reads schema "
                f"{SCHEMA_VERSION}: write the board again from its runs"
            )
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise UqbenchError(f"{where} is damaged, because {explain(error):.500}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error!s:.300}"
        raise UqbenchError(f"{where} is damaged, because it cannot be read: {why}") from error
