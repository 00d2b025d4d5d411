"""What a board was planned to hold, as its manifest lists it, and what of it is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from pydantic import BaseModel, ConfigDict

from uqbench.boards.scores import Score
from uqbench.suites.plan import Plan

SHOWN = 12
"""Cells that a page names; of the others it gives the number."""


class Planned(BaseModel):
    """Methods and runs.

    Attributes:
        methods: all that the suite had under the budget, on the board or not.
        runs: seeds such as ``0-4,7`` of each ``task/method`` of the board.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    methods: tuple[str, ...]
    runs: dict[str, str]

    @classmethod
    def of(cls, plan: Plan) -> Planned:
        """Of a plan, and the plugins that are installed."""
        return cls(
            methods=tuple(sorted(m.name for m in plan.suite.methods_of(plan.budget_name))),
            runs={
                f"{cell.task.name}/{cell.method.name}": _spans(run.seed for run in cell.runs)
                for cell in plan.cells
            },
        )

    def absent(self, scores: Sequence[Score]) -> list[str]:
        """Methods of the suite that have no row."""
        shown = {score.method for score in scores}
        return [name for name in self.methods if name not in shown]

    def without_rows(self, scores: Sequence[Score]) -> list[str]:
        """The planned cells whose rows are not those of the scores, as ``task/method``.

        Those without any row, or else those of other seeds, which are named.
        """
        seeds: dict[str, list[int]] = {}
        for score in scores:
            seeds.setdefault(f"{score.task}/{score.method}", []).append(score.seed)
        return sorted(self.runs.keys() - seeds) or [
            f"{name} (seeds {planned})"
            for name, planned in sorted(self.runs.items())
            if _spans(seeds[name]) != planned
        ]


def missing_note(scores: Sequence[Score], planned: Planned) -> str:
    """What a board lacks: planned runs without a score, methods without runs; empty if nothing."""
    states: dict[str, Counter[str]] = {}
    for score in scores:
        if score.score is None:
            word = "without a value" if score.status == "finished" else score.status
            states.setdefault(f"{score.task}/{score.method}", Counter())[word] += 1
    parts = []
    if states:
        named = [
            f"`{name}` ({', '.join(f'{n} {word}' for word, n in sorted(counts.items()))})"
            for name, counts in sorted(states.items())
        ]
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        total = sum(counts.total() for counts in states.values())
        parts.append(
            f"{total:,} of {len(scores):,} planned runs have no score: "
            f"{', '.join(named[:SHOWN])}{more}"
        )
    absent = [f"`{name}`" for name in planned.absent(scores)]
    if absent:
        parts.append(f"methods of the suite without runs here: {', '.join(absent)}")
    return f"**Missing:** {'; '.join(parts)}." if parts else ""


def _spans(seeds: Iterable[int]) -> str:
    """``0-4,7`` for 0, 1, 2, 3, 4 and 7."""
    groups = groupby(enumerate(sorted(seeds)), key=lambda placed: placed[1] - placed[0])
    spans = [[seed for _, seed in span] for _, span in groups]
    return ",".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)
