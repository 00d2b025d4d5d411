"""Claims over all tasks at once, or on each task by itself."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from uqbench.contract.claim import ClaimKind


@dataclass(frozen=True, kw_only=True)
class TaskwiseKind(ClaimKind):
    """A kind that compares over all tasks, or task by task.

    Attributes:
        per_task: whether each task is looked at by itself.
        at_least: on how many of the tasks the claim must be true; None for all of them.
    """

    per_task: bool = False
    at_least: int | None = None

    def __post_init__(self) -> None:
        if self.at_least is not None and not self.per_task:
            raise ValueError("at_least counts tasks: it needs per_task = true")
        if self.at_least is not None and self.at_least < 1:
            raise ValueError(f"at_least: expected 1 or more, got {self.at_least}")

    def check(self, tasks: Sequence[str], normalized: Container[str]) -> None:
        """Raise where there are fewer tasks than ``at_least``."""
        if self.at_least is not None and self.at_least > len(tasks):
            raise ValueError(f"at_least = {self.at_least}, of {len(tasks)} tasks")

    def groups(self, tasks: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
        """The tasks of each comparison, with its group's name."""
        if self.per_task:
            yield from ((task, (task,)) for task in tasks)
        else:
            yield "", tasks


def check_normalized(
    normalized: Container[str], metric: str, tasks: Sequence[str], why: str
) -> None:
    """Raise ``ValueError`` where a metric is not normalized on a task."""
    without = [task for task in tasks if task not in normalized]
    if without:
        raise ValueError(
            f"{why} compares normalized scores, and {metric!r} has no normalization constants "
            f"for {', '.join(without)}"
        )
