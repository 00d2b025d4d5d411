"""Claims judged by stored runs: of one suite, or of all."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.boards.scores import gather
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.suites.reading import read_suites
from uqbench.suites.selection import Selection
from uqbench.suites.suite import Suite
from uqbench_claims.judge import Judgement, judge, judged
from uqbench_claims.verdict import Verdict


@dataclass(frozen=True)
class SuiteVerdicts:
    """The verdicts on a suite's claims.

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
        """JSON values, without those that are missing."""
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


def judge_claims(
    options: Options, boards: Path | None = None, say: Say = warn
) -> tuple[Judgement, ...]:
    """Judge a suite's claims by the runs, or by a stored board.

    Where no budget is selected: the longest that has runs.

    Args:
        options: which runs.
        boards: folder of leaderboards; None for the runs of the results folder.
        say: called with what stops nothing.

    Returns:
        A judgement a claim: its verdict, and the comparisons that it follows from.

    Raises:
        UqbenchError: there is no such suite or board, or it is damaged.

    Example:
        >>> import uqbench
        >>> uqbench.judge_claims(uqbench.Options.of("windy-cliff", None))  # doctest: +SKIP
    """
    session = Session(options, say=say)
    return _judged(session, session.selection, boards)


def verdicts(options: Options, boards: Path | None = None, say: Say = warn) -> list[SuiteVerdicts]:
    """Count how many claims of each suite have which verdict, an error being one of them.

    Args:
        options: which runs; of all suites where none is named.
        boards: folder of leaderboards; None for the runs of the results folder.
        say: called with what stops nothing.

    Returns:
        An entry a suite with claims; that of the selected suite alone, if one is.

    Raises:
        UqbenchError: there is no such suite.

    Example:
        >>> import pathlib, uqbench
        >>> uqbench.verdicts(uqbench.Options(""), pathlib.Path("leaderboards"))  # doctest: +SKIP
    """
    session, judgements = Session(options, say=say), []
    wanted, suites = session.selection, read_suites(session.host, check=())
    chosen = [suites.suite(wanted.suite)] if wanted.suite else suites.suites.values()
    for suite in (suite for suite in chosen if suite.claims):
        budgets = budgets_with_runs(suite, boards or session.store.root)
        budget = next((name for name in budgets if wanted.budget in (None, name)), None)
        counted: Counter[Verdict] = Counter()
        error = ""
        try:
            if budget is not None:
                selection = replace(wanted, suite=suite.name, budget=budget)
                counted.update(one.verdict for one in _judged(session, selection, boards))
        except UqbenchError as refused:
            error = str(refused)
        counts = {verdict.value: counted[verdict] for verdict in Verdict if counted[verdict]}
        papers, number = sorted({claim.paper for claim in suite.claims}), len(suite.claims)
        judgements.append(SuiteVerdicts(suite.name, number, papers, budget, counts, error))
    return judgements


def _judged(session: Session, selection: Selection, boards: Path | None) -> tuple[Judgement, ...]:
    if selection.budget is None:
        suite = read_suites(session.host, check=()).suite(selection.suite)
        budgets = budgets_with_runs(suite, boards or session.store.root)
        selection = replace(selection, budget=budgets[0] if budgets else None)
    plan = selection.plan(session.host, "cpu", session.say)
    if boards is None:
        return judge(plan, gather(plan, session.store))
    return judged(session.stored(plan, boards, selection)[1])
