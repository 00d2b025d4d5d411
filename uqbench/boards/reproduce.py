"""Runs of a stored board, made again and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from uqbench.boards.agreement import Agreement, agreement
from uqbench.boards.scores import Score, gather
from uqbench.errors import UqbenchError
from uqbench.results.store import RunState
from uqbench.seeding import derive_seed
from uqbench.wording import count

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board
    from uqbench.runner.complete import Execution
    from uqbench.suites.plan import Plan


def sample(board: Board, size: int, draw: str) -> list[Score]:
    """Finished runs of the CPU.

    Args:
        board: of the stored scores.
        size: how many runs.
        draw: that they follow from: the same text gives the same runs.

    Raises:
        UqbenchError: there are none.
    """
    usable = [score for score in board.scores if score.digest and score.device == "cpu"]
    if not usable:
        raise UqbenchError(
            f"{board.suite}/{board.name} has no finished runs of a CPU that could be run again."
        )
    generator = np.random.default_rng(derive_seed("verify", draw))
    drawn = generator.choice(len(usable), size=min(size, len(usable)), replace=False)
    return [usable[i] for i in sorted(drawn.tolist())]


def reproduce(board: Board, chosen: Sequence[Score], execution: Execution) -> dict[str, Agreement]:
    """Make runs of a board again on the CPU; return how each agrees, by its folder.

    Raises:
        UqbenchError: one did not finish.
    """
    from uqbench.runner.complete import complete

    part = _only(board.plan, chosen)
    states = complete(part, execution)
    failed = [str(run.folder) for run, state in states.items() if state != RunState.FINISHED]
    if failed:
        raise UqbenchError(f"{count(len(failed), 'run')} did not finish: {', '.join(failed)}")
    repeated = {(s.task, s.method, s.seed): s for s in gather(part, execution.store)}
    measured = [metric.name for metric in board.plan.suite.metrics if metric.kind == "cost"]
    agreements = {}
    for score in chosen:
        own = repeated[score.task, score.method, score.seed]
        cell = [s for s in board.scores if (s.task, s.method) == (score.task, score.method)]
        agreements[score.run] = agreement(score, own, cell, measured, len(chosen))
    return agreements


def _only(plan: Plan, scores: Sequence[Score]) -> Plan:
    """The part of a plan that is about these runs."""
    wanted = {(score.task, score.method, score.seed) for score in scores}
    cells = tuple(
        replace(cell, runs=runs)
        for cell in plan.cells
        if (runs := tuple(r for r in cell.runs if (r.task, r.method, r.seed) in wanted))
    )
    return replace(plan, cells=cells, standard=False, claims=())
