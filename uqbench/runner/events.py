"""Reports of executing batches: a tagged union, in memory and in the log of an order.

On disk a batch is the list of its runs' folders; who reads it knows the batches of the order, and
gives them as the context: ``EVENT.validate_python(table, context=runs_by_folder(group))``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic

from uqbench.contract.identity import Run
from uqbench.results.records import Count, Seconds
from uqbench.runner.batches import Batch, BatchGroup

Runs = Mapping[str, tuple[Batch, Run]]


def runs_by_folder(group: BatchGroup) -> Runs:
    """The runs of a group, each with its batch, by their folders in the store."""
    return {str(run.folder): (batch, run) for batch in group for run in batch.runs}


def folders(batch: Batch) -> list[str]:
    """The folders of a batch's runs in the store."""
    return [str(run.folder) for run in batch.runs]


def _batch_of(given: object, info: pydantic.ValidationInfo) -> Batch:
    known: Runs = info.context or {}
    if not (isinstance(given, list) and given and all(str(name) in known for name in given)):
        raise ValueError("expected folders of runs of the order")
    batches, runs = zip(*(known[str(name)] for name in given), strict=True)
    if any(batch is not batches[0] for batch in batches):
        raise ValueError("expected runs of one batch")
    whole: Batch = batches[0]
    return whole.of(runs)


Lanes = Annotated[Batch, pydantic.PlainValidator(_batch_of), pydantic.PlainSerializer(folders)]
Text = Annotated[
    str, pydantic.PlainSerializer(lambda text: text.encode("utf-8", "backslashreplace").decode())
]
"""A log is UTF-8; names of files need not be."""


@dataclass(frozen=True)
class Started:
    """A batch began, or resumed from a checkpoint after ``step`` steps.

    ``seconds`` were taken before, by all ``lanes`` that execute: the runs, and any others that the
    checkpoint holds.
    """

    batch: Lanes
    step: Count = 0
    seconds: Seconds = 0.0
    lanes: pydantic.PositiveInt = 1
    kind: Literal["started"] = "started"


@dataclass(frozen=True)
class Progress:
    """A batch has taken ``step`` steps in every lane; ``metrics`` holds the latest by seed.

    ``seconds`` were computed since this process began or resumed it, after step ``first``: of the
    process on its cores, or by the clock on a GPU.
    """

    batch: Lanes
    step: Count
    seconds: Seconds
    metrics: Mapping[int, Mapping[str, float]]
    first: Count = 0
    kind: Literal["progress"] = "progress"


@dataclass(frozen=True)
class Finished:
    """A batch is stored; ``scalars`` holds each run's final metrics by seed; none if trained only.

    ``seconds`` are those of all processes that worked on it.
    """

    batch: Lanes
    seconds: Seconds
    scalars: Mapping[int, Mapping[str, float | None]]
    kind: Literal["finished"] = "finished"


@dataclass(frozen=True)
class Failed:
    """A batch failed; its runs are marked with the reason; the next ``uqbench run`` retries them.

    ``full``: because the disk is full, which affects the others too.
    """

    batch: Lanes
    reason: Text
    full: bool = False
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True)
class Split:
    """A batch of several runs failed and is retried in parts of at most ``size`` runs.

    Alone, so that only the culprit fails; in halves, where they were too many for the memory; or
    as a whole, where other batches of its process may be the culprit.
    """

    batch: Lanes
    reason: Text
    size: pydantic.PositiveInt = 1
    kind: Literal["split"] = "split"

    @property
    def parts(self) -> list[Batch]:
        """The batches that take its place."""
        runs, size = self.batch.runs, self.size
        return [self.batch.of(runs[at : at + size]) for at in range(0, len(runs), size)]


@dataclass(frozen=True)
class Taken:
    """Another process works on these runs, or has just finished them."""

    batch: Lanes
    kind: Literal["taken"] = "taken"


@dataclass(frozen=True)
class Notice:
    """A message for the user about a batch, which continues."""

    batch: Lanes
    text: Text
    kind: Literal["notice"] = "notice"


Event = Started | Progress | Finished | Failed | Split | Taken | Notice
EVENT: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(
    Annotated[Event, pydantic.Field(discriminator="kind")]
)
"""Encodes an event as a table of JSON values, and decodes one, or raises a ``ValidationError``."""
END = Finished | Failed | Taken
"""Events after which an executor is done with the runs of the batch."""
