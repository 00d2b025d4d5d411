"""Claims judged by stored runs: of one suite, or of all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from uqbench.boards.leaderboard import Board
from uqbench.boards.scores import gather
from uqbench.boards.stored import StoredBoard
from uqbench.claims.judge import Judgement, judge
from uqbench.errors import Say, UqbenchError
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.suites.plan import Plan
from uqbench.suites.reading import read_suites
from uqbench.suites.selection import Selection
from uqbench.suites.suite import Suite


class Judged(Protocol):
    """What judging asks of an experiment."""

    @property
    def selection(self) -> Selection:
        """The runs that are meant."""

    @property
    def say(self) -> Say:
        """Is told what stops nothing."""

    @property
    def host(self) -> Host:
        """The plugins."""

    @property
    def store(self) -> Store:
        """Of the runs."""

    def stored(
        self, plan: Plan, boards: Path | None, selection: Selection
    ) -> tuple[StoredBoard, Board]:
        """The stored board of a plan, and the board that its scores make."""


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


def judged(experiment: Judged, selection: Selection, boards: Path | None) -> tuple[Judgement, ...]:
    """The claims of the selected suite, judged by runs, or by a board below ``boards``.

    Where no budget is selected, that of :func:`budgets_with_runs` which comes first.
    """
    if selection.budget is None:
        suite = read_suites(experiment.host, check=()).suite(selection.suite)
        budgets = budgets_with_runs(suite, boards or experiment.store.root)
        selection = replace(selection, budget=budgets[0] if budgets else None)
    plan = selection.plan(experiment.host, "cpu", experiment.say)
    if boards is None:
        return judge(plan, gather(plan, experiment.store))
    _, board = experiment.stored(plan, boards, selection)
    return board.claims


def verdicts(experiment: Judged, boards: Path | None) -> list[SuiteVerdicts]:
    """The verdicts of each suite with claims, or of the selected one; an error is one of them."""
    wanted, judgements = experiment.selection, []
    suites = read_suites(experiment.host, check=())
    chosen = [suites.suite(wanted.suite)] if wanted.suite else suites.suites.values()
    for suite in chosen:
        if not suite.claims:
            continue
        budgets = budgets_with_runs(suite, boards or experiment.store.root)
        own = [name for name in budgets if wanted.budget in (None, name)]
        counts: Counter[str] = Counter()
        error = ""
        if own:
            try:
                selection = replace(wanted, suite=suite.name, budget=own[0])
                counts.update(one.verdict.value for one in judged(experiment, selection, boards))
            except UqbenchError as refused:
                error = str(refused)
        papers = sorted({claim.paper for claim in suite.claims})
        budget = own[0] if own else None
        judgements.append(
            SuiteVerdicts(suite.name, len(suite.claims), papers, budget, dict(counts), error)
        )
    return judgements


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
