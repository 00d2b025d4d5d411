"""``uqbench run --until-decided``: more seeds for what is open, at a fixed number of looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.cli.options import Selection, count
from uqbench.cli.terminal import say
from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.identity import DeviceKind, Run
    from uqbench.registry.plugins import Host
    from uqbench.results.store import RunState, Store
    from uqbench.scoring.sequential import Sequential
    from uqbench.suites.plan import Cell, Plan

DEFAULT_SEEDS = 40
"""Of a method, unless ``--max-seeds`` says otherwise."""


def run_until_decided(
    selection: Selection,
    most: int,
    host: Host,
    kind: DeviceKind,
    store: Store,
    execute: Callable[..., Mapping[Run, RunState]],
) -> int:
    """Run looks of growing numbers of seeds, and print what they decided; return the exit code.

    Args:
        selection: without seeds.
        most: seeds of the last look.
        host: the plugins.
        kind: of the device.
        store: of the runs.
        execute: does what is missing of a plan and returns the states of its runs.
    """
    from uqbench.results.store import RunState
    from uqbench.scoring.scores import gather
    from uqbench.scoring.sequential import Sequential, looks
    from uqbench.scoring.standings import matrix, primary_score

    planned = selection.plan(host, kind)
    if not planned.budget.ranks:
        raise UqbenchError(
            f"--until-decided: the budget {planned.budget_name!r} cannot rank methods, so that "
            f"no number of seeds decides anything; choose a budget that can."
        )
    found = Sequential(looks(most))
    roles = planned.roles
    names = list(roles)
    cells: dict[tuple[str, str], Cell] = {}
    for number, seeds in enumerate(found.schedule, start=1):
        chosen = replace(selection, methods=tuple(names), seeds=tuple(range(seeds)))
        plan = chosen.plan(host, kind)
        say(
            f"Look {number} of {len(found.schedule)}: {count(seeds, 'seed')} of "
            f"{', '.join(names)}.",
            err=True,
        )
        if set(execute(plan).values()) != {RunState.FINISHED}:
            return 1
        cells |= {(cell.task.name, cell.method.name): cell for cell in plan.cells}
        scores = gather(plan, store)
        found.look(plan, scores)
        ranked = {
            name: values
            for name in names
            if roles[name] == "method"
            and (values := matrix(scores, name, primary_score)) is not None
        }
        ranking = plan.suite.ranking_statistic(plan.budget)
        found.compare(ranked, ranking, paired=plan.suite.paired)
        names = found.open_methods(planned)
        if not names:
            break
    _show(replace(planned, cells=tuple(cells.values()), standard=False), found, store, host)
    return 0


def _show(plan: Plan, found: Sequential, store: Store, host: Host) -> None:
    """Write and print the board, and what was decided at which look."""
    from uqbench.cli.leaderboard import board_folder, write_board
    from uqbench.cli.table import print_board
    from uqbench.scoring.leaderboard import Board
    from uqbench.scoring.scores import gather

    plain = Board.of(replace(plan, claims=()), gather(plan, store))
    claims = tuple(found.judgements.values())
    board = replace(plain, claims=claims, compared=found.merged(plain.pairs))
    folder: Path = board_folder(plan, store.root / "leaderboards")
    write_board(board, store, folder, host)
    print_board(board)
    looks = ", ".join(map(str, found.schedule))
    say(f"Looks at {looks} seeds, 5 % of error over all of them (docs/claims.md).")
    for judged in claims:
        at = found.decided_at.get(judged.claim.id)
        end = f" at {at} seeds" if at is not None else f": {judged.reason}"
        say(f"{judged.claim.id}: {judged.verdict.value}{end}")
    fixed = sum(len(cell.runs) for cell in plan.cells)
    all_seeds = found.schedule[-1] * len(plan.cells)
    say(f"{fixed:,} runs; {found.schedule[-1]} seeds of every method would be {all_seeds:,}.")
    say(str(folder / "leaderboard.csv"))
