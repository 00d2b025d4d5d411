"""``run.json``: what is known about a run, in a versioned schema."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from uqbench.identity import digest_of

SCHEMA_VERSION: Literal[2] = 2

_SINCE_2 = frozenset({"checkpoint", "resumed"})
"""Fields that a record of schema 1 does not have."""

MOST_BYTES = 64 << 20
"""Of a record; a larger file is none. One of a hundred metrics has some ten thousand."""


def _moment(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("expected a time with its offset from UTC")
    return text


Count = Annotated[int, Field(ge=0, le=2**53)]
Moment = Annotated[str, AfterValidator(_moment)]
"""A time in ISO 8601, with its offset from UTC."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Speed = Annotated[float, Field(ge=1e-12, le=1e15, allow_inf_nan=False)]


class Process(BaseModel):
    """Who works, or worked, on the run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str
    pid: Count


class Provenance(BaseModel):
    """What the run was made with; not part of its identity.

    Attributes:
        versions: Python, and every distribution that took part.
        content: sha256 of the installed files of uqbench and the plugins that took part.
        git_revision: of uqbench's checkout, where it is one; with ``+changes`` where edited.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    platform: str
    device: str
    versions: dict[str, str]
    content: dict[str, str]
    git_revision: str | None


class Saved(BaseModel):
    """Where an unfinished run goes on from.

    Attributes:
        folder: of the checkpoint, below the store's root: that of a run of the same suite, budget,
            task and method; runs that execute together share one.
        step: steps taken when it was written.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str
    step: Count


class Resumed(BaseModel):
    """A run went on from a checkpoint.

    Attributes:
        step: steps taken before.
        when: UTC time.
        host: the machine that went on.
        device: what it computes on, in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: Count
    when: Moment
    host: str
    device: str


class Timing(BaseModel):
    """Cost of the run.

    Attributes:
        seconds: wall time of the training steps and evaluations of all lanes of the batch,
            before and after it was resumed, without the turns of other batches.
        lanes: how many runs shared the batch.
        steps_per_s: environment steps of this run per second of a core, ``steps·lanes/seconds``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: Seconds
    lanes: Annotated[Count, Field(ge=1)]
    steps_per_s: Speed


class RunRecord(BaseModel):
    """The contents of ``run.json``.

    Attributes:
        identity: what makes the run this run; its sha256 names the folder.
        status: ``running`` until the last file is written.
        reason: why it failed, in one line; ``traceback`` where Python gave one.
        step: steps taken when the record was written.
        began: UTC time at which work on it began.
        updated: UTC time of writing.
        process: who works on it, or did so last.
        provenance: of the process that began it.
        checkpoint: where it goes on from, while it is unfinished; None: from the first step.
        resumed: where it went on from, and on what.
        scalars: final value of each metric; None where the run gives none.
        metrics: definitions of the metrics that the scalars were computed by.
        digests: sha256 of each data file, and of the numbers in them under ``results``.
        digest: sha256 of this record without this field.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1, 2] = SCHEMA_VERSION
    identity: dict[str, Any]
    status: Literal["running", "finished", "failed"]
    reason: str | None = None
    traceback: str | None = None
    step: Count
    began: Moment
    updated: Moment
    process: Process
    provenance: Provenance
    checkpoint: Saved | None = None
    resumed: tuple[Resumed, ...] = ()
    timing: Timing | None = None
    scalars: dict[str, Finite | None] = {}
    metrics: dict[str, dict[str, Any]] = {}
    digests: dict[str, str] = {}
    digest: str = ""

    def sealed(self) -> RunRecord:
        """The same record with its digest."""
        return self.model_copy(update={"digest": self.compute_digest()})

    def compute_digest(self) -> str:
        """The sha256 that ``digest`` should hold."""
        without = {"digest"} | (_SINCE_2 if self.schema_version == 1 else set())
        return digest_of(self.model_dump(mode="json", exclude=without))
