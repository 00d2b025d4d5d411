"""Claims judged by stored runs: of one suite, or of all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uqbench.suites.suite import Suite


@dataclass(frozen=True)
class SuiteVerdicts:
    """What became of a suite's claims.

    Attributes:
        claims: how many it has.
        papers: that they are of.
        budget: that they were judged under; None where no budget has runs.
        verdicts: how many claims have which verdict.
        error: why they could not be judged; empty where they were.
    """

    suite: str
    claims: int
    papers: list[str]
    budget: str | None
    verdicts: dict[str, int]
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        """As JSON values; without what there is not."""
        entry: dict[str, Any] = {"suite": self.suite, "claims": self.claims}
        if self.budget is not None:
            own = {"error": self.error} if self.error else {"verdicts": self.verdicts}
            entry |= {"budget": self.budget, **own}
        return entry | {"papers": self.papers}


def budgets_with_runs(suite: Suite, root: Path) -> list[str]:
    """The budgets with a folder of runs, or of a board.

    First are those that rank, then those that more claims need, then longer ones.
    """
    names = [name for name in suite.budgets if (root / suite.name / name).is_dir()]

    def weight(name: str) -> tuple[bool, int, int]:
        budget = suite.budgets[name]
        needed = sum(name in claim.budgets for claim in suite.claims)
        return budget.ranks, needed, budget.steps * budget.seeds * len(suite.tasks_of(budget))

    return sorted(names, key=weight, reverse=True)
