"""Events that an executor reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from uqbench.runner.batching.batches import Batch


@dataclass(frozen=True)
class Started:
    """A batch began, or resumed from a checkpoint after ``step`` steps.

    ``seconds`` were taken before, by all ``lanes`` that execute: the runs, and any others that the
    checkpoint holds.
    """

    batch: Batch
    step: int = 0
    seconds: float = 0.0
    lanes: int = 1


@dataclass(frozen=True)
class Progress:
    """A batch has taken ``step`` steps in every lane; ``metrics`` holds the latest by seed.

    ``seconds`` have passed since this process began or resumed it.
    """

    batch: Batch
    step: int
    seconds: float
    metrics: Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Finished:
    """A batch is stored; ``scalars`` holds each run's final metrics by seed.

    ``seconds`` are those of all processes that worked on it.
    """

    batch: Batch
    seconds: float
    scalars: Mapping[int, Mapping[str, float | None]]


@dataclass(frozen=True)
class Failed:
    """A batch failed; its runs are marked with the reason; the next ``uqbench run`` retries them.

    ``full``: because the disk is full, which affects the others too.
    """

    batch: Batch
    reason: str
    full: bool = False


@dataclass(frozen=True)
class Split:
    """A batch of several runs failed and is retried in parts of at most ``size`` runs.

    Alone, so that only the culprit fails; or in halves, where they were too many for the memory.
    """

    batch: Batch
    reason: str
    size: int = 1

    @property
    def parts(self) -> list[Batch]:
        """The batches that take its place."""
        runs, size = self.batch.runs, self.size
        return [self.batch.of(runs[at : at + size]) for at in range(0, len(runs), size)]


@dataclass(frozen=True)
class Taken:
    """Another process works on these runs, or has just finished them."""

    batch: Batch


@dataclass(frozen=True)
class SetAside:
    """A damaged run of the batch was moved aside, and is run again."""

    batch: Batch
    kept_as: str


@dataclass(frozen=True)
class Notice:
    """A message for the user about a batch, which continues."""

    batch: Batch
    text: str


Event = Started | Progress | Finished | Failed | Split | Taken | SetAside | Notice
