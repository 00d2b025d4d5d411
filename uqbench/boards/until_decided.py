"""More seeds for what is open, at a fixed number of looks: ``--until-decided``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from uqbench.boards.claims.sequential import Sequential, interim_schedule
from uqbench.boards.leaderboard import Board
from uqbench.boards.matrices import by_method
from uqbench.boards.scores import gather
from uqbench.boards.standings import ranges_by_task
from uqbench.contract.errors import Say, UqbenchError
from uqbench.contract.identity import Run
from uqbench.contract.wording import count
from uqbench.results.store import RunState, Store
from uqbench.suites.plan import Cell, Plan
from uqbench.suites.selection import Selection

DEFAULT_SEEDS = 40
"""Of a method, unless the user says otherwise."""


@dataclass(frozen=True)
class Decided:
    """What the looks decided.

    Attributes:
        analyses: what each interim analysis decided.
        board: of all runs that were made, with the verdicts and pairs of the analyses.
    """

    analyses: Sequential
    board: Board


def run_until_decided(
    selection: Selection,
    planned: Plan,
    most: int,
    plan: Callable[[Selection], Plan],
    store: Store,
    execute: Callable[[Plan], Mapping[Run, RunState]],
    say: Say,
) -> Decided | None:
    """Run looks of growing numbers of seeds; None where a run failed.

    Args:
        selection: without seeds.
        planned: its plan, with the budget's own seeds.
        most: seeds of the last look.
        plan: plans a selection.
        store: of the runs.
        execute: does what is missing of a plan and returns the states of its runs.
        say: called with a line for each analysis.

    Raises:
        UqbenchError: the budget cannot rank methods.
    """
    if not planned.budget.ranks:
        raise UqbenchError(
            f"--until-decided: the budget {planned.budget_name!r} cannot rank methods, so that "
            f"no number of seeds decides anything; choose a budget that can."
        )
    analyses = Sequential(interim_schedule(most))
    roles = planned.roles
    names = list(roles)
    cells: dict[tuple[str, str], Cell] = {}
    for number, seeds in enumerate(analyses.schedule, start=1):
        look = plan(replace(selection, methods=tuple(names), seeds=tuple(range(seeds))))
        say(
            f"Interim analysis {number} of {len(analyses.schedule)}: "
            f"{count(seeds, 'seed')} of {', '.join(names)}."
        )
        if set(execute(look).values()) != {RunState.FINISHED}:
            return None
        cells |= {(cell.task.name, cell.method.name): cell for cell in look.cells}
        scores = gather(look, store)
        analyses.judge(look, scores)
        ranked = {
            name: values
            for name, own in by_method(look.suite, scores).items()
            if roles[name] == "method" and (values := own.normalized_primary) is not None
        }
        tasks = sorted({cell.task.name for cell in look.cells})
        ranges = ranges_by_task(look.suite, look.suite.primary_metric(look.budget), tasks)
        analyses.compare(ranked, look.suite.ranks_by, paired=look.suite.paired, ranges=ranges)
        names = analyses.open_methods(planned)
        if not names:
            break
    whole = replace(planned, cells=tuple(cells.values()), standard=False)
    plain = Board.of(replace(whole, claims=()), gather(whole, store))
    judged = tuple(analyses.judgements.values())
    board = replace(plain, judged=judged, compared=analyses.merged(plain.pairs))
    return Decided(analyses, board)
