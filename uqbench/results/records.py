"""``run.json``: the record of a run, in a versioned schema; and the states of stored runs."""

import dataclasses
import enum
import os
import socket
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass

SCHEMA_VERSION: Literal[4] = 4

MOST_BYTES = 64 << 20
"""The most bytes of a record; one of a hundred metrics has some ten thousand."""


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


class _Part(BaseModel):
    """Immutable, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_STRICT = ConfigDict(extra="forbid")
"""The same for dataclasses: what every run has of its own takes a fifth of the memory as one."""


@dataclass(frozen=True, slots=True, config=_STRICT)
class Process:
    """The process that works, or worked, on the run."""

    host: str
    pid: Count


class Provenance(_Part):
    """Versions, contents and machine that made the run; not part of its identity.

    Attributes:
        versions: of Python and every distribution involved.
        content: sha256 of the installed files of uqbench and the plugins involved.
        git_revision: of uqbench's checkout, if it is one; with ``+changes`` if edited.
    """

    platform: str
    device: str
    versions: dict[str, str]
    content: dict[str, str]
    git_revision: str | None


class Saved(_Part):
    """The checkpoint that an unfinished run resumes from.

    Attributes:
        folder: of the checkpoint, below the store's root: that of a run of the same suite, budget
            and method; runs that execute together share one.
        step: steps taken when it was written.
    """

    folder: str
    step: Count


@dataclass(frozen=True, slots=True, config=_STRICT)
class Resumed:
    """The run resumed from a checkpoint.

    Attributes:
        step: steps taken before.
        when: UTC time.
        host: the machine that resumed it.
        device: description of the device that computes.
    """

    step: Count
    when: Moment
    host: str
    device: str


@dataclass(frozen=True, slots=True, config=_STRICT)
class Timing:
    """Cost of the run.

    Attributes:
        seconds: wall time of the training steps and evaluations of all lanes of the batch,
            before and after it was resumed, without the steps of other batches.
        lanes: number of runs that shared the batch.
        steps_per_s: environment steps of this run per second of a core or GPU,
            ``steps·lanes/device_seconds``.
        cpu_seconds: process time of the same, of child processes too, where a CPU computed; None on
            a GPU, and in records before schema 3.
    """

    seconds: Seconds
    lanes: Annotated[Count, Field(ge=1)]
    steps_per_s: Speed
    cpu_seconds: Seconds | None = None

    @property
    def device_seconds(self) -> float:
        """Time that cores worked, or that a GPU was taken; wall time where no other is known."""
        return self.seconds if self.cpu_seconds is None else self.cpu_seconds


class RunRecord(_Part):
    """The contents of ``run.json``.

    Attributes:
        identity: what defines the run; its sha256 names the folder.
        status: ``running`` until the last file is written.
        reason: why it failed, in one line; ``traceback`` where Python raised one.
        step: steps taken when the record was written.
        began: UTC time at which work on it began.
        updated: UTC time of writing.
        process: the process that works on it, or did so last.
        provenance: of the process that began it.
        checkpoint: what it resumes from while it is unfinished; None: it starts over.
        resumed: each resumption: after which step, when, and where.
        scalars: final value of each metric; None where the run has none.
        metrics: definitions of the metrics behind the scalars.
        score_versions: of the scores behind them, by statistic, where it is not the first.
        learning: proof that a run learned: ``gradient_steps`` by the method's own schedule, or as
            its optimizers took them; ``moved``, how far weights or other parameters went relative
            to where they began; and, under a budget that ranks nothing, mean returns of evaluations
            ``trained``, ``untrained`` and ``random``.
        digests: sha256 of each data file, and of the numbers in them under ``results``; of a run
            that is not finished, of the files of its training.
        digest: sha256 of the file without this field; a record that is made has none.
    """

    schema_version: Literal[1, 2, 3, 4] = SCHEMA_VERSION
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
    score_versions: dict[str, str] = {}
    learning: dict[str, Finite] = {}
    digests: dict[str, str] = {}
    digest: str = ""

    @property
    def trained(self) -> bool:
        """Whether its training is stored, and nothing but that."""
        return self.status != "finished" and bool(self.digests)


def this_process() -> Process:
    """This process."""
    return Process(host=socket.gethostname(), pid=os.getpid())


def now() -> str:
    """UTC time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class RunState(enum.Enum):
    """A run's state, and what ``uqbench run`` does with it.

    MISSING: nothing stored; run it.
    RUNNING: another live process works on it; leave it.
    ABANDONED: the process that worked on it is gone; resume from its checkpoint, or start over.
    TRAINED: its training is stored, and nobody works on it; judge it.
    FAILED: it ended with an error, or its worker died; resume from its checkpoint if there is one
        (an error removes it, the death of a worker does not), or start over; judge it if its
        training is stored.
    FINISHED: stored and complete; never run again.
    DAMAGED: stored, but a file is missing or its digest differs; set aside and run again.
    NEWER: stored by a newer uqbench; left alone, and the command is refused.
    """

    MISSING = "missing"
    RUNNING = "running"
    ABANDONED = "abandoned"
    TRAINED = "trained"
    FAILED = "failed"
    FINISHED = "finished"
    DAMAGED = "damaged"
    NEWER = "newer"

    @property
    def said(self) -> str:
        """As it is told; manifests of boards count by the values, which stay as they are."""
        return "interrupted" if self is RunState.ABANDONED else self.value


TO_DO = (
    RunState.MISSING, RunState.ABANDONED, RunState.TRAINED, RunState.FAILED, RunState.DAMAGED,
)  # fmt: skip
"""States of runs that ``uqbench run`` runs."""


@dataclasses.dataclass(frozen=True, slots=True)
class StoredRun:
    """A run's state, its record if it can be read, and the reason for the state if there is one.

    ``provenance``: that of the record, where the record is left out, too.
    ``unreadable``: the disk failed; the files may be intact, and are neither moved nor overwritten.
    """

    state: RunState
    record: RunRecord | None = dataclasses.field(default=None, repr=False)
    reason: str | None = None
    unreadable: bool = False
    provenance: Provenance | None = dataclasses.field(default=None, repr=False)
