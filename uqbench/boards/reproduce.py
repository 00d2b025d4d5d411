"""Runs of a stored board, made again and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from uqbench.amounts import count
from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.boards.agreement import Agreement
    from uqbench.boards.scores import Score
    from uqbench.boards.stored import StoredBoard
    from uqbench.runner.complete import Execution
    from uqbench.suites.plan import Plan


def sample(stored: StoredBoard, size: int, draw: str) -> list[Score]:
    """Finished runs of the CPU.

    Args:
        stored: the board.
        size: how many runs.
        draw: that they follow from: the same text gives the same runs.

    Raises:
        UqbenchError: there are none.
    """
    import numpy as np

    from uqbench.seeding import derive_seed

    usable = [score for score in stored.scores if score.digest and score.device == "cpu"]
    if not usable:
        raise UqbenchError(
            f"{stored.folder} has no finished runs of a CPU that could be run again."
        )
    generator = np.random.default_rng(derive_seed("verify", draw))
    drawn = generator.choice(len(usable), size=min(size, len(usable)), replace=False)
    return [usable[i] for i in sorted(drawn.tolist())]


def repeat(
    stored: StoredBoard, chosen: Sequence[Score], execution: Execution
) -> dict[str, Agreement]:
    """Make runs again on the CPU; return how each agrees with the stored one, by its folder.

    Raises:
        UqbenchError: one did not finish.
    """
    from uqbench.boards.agreement import agreement
    from uqbench.boards.scores import gather
    from uqbench.results.store import RunState
    from uqbench.runner.complete import complete

    store = execution.store
    part = _only(stored.plan, chosen)
    states = complete(part, execution)
    failed = [str(run.folder) for run, state in states.items() if state != RunState.FINISHED]
    if failed:
        raise UqbenchError(f"{count(len(failed), 'run')} did not finish: {', '.join(failed)}")
    again = {(s.task, s.method, s.seed): s for s in gather(part, store)}
    measured = [metric.name for metric in stored.plan.suite.metrics if metric.kind == "cost"]
    found = {}
    for score in chosen:
        fresh = again[score.task, score.method, score.seed]
        cell = [s for s in stored.scores if (s.task, s.method) == (score.task, score.method)]
        found[score.run] = agreement(score, fresh, cell, measured, len(chosen))
    return found


def _only(plan: Plan, scores: Sequence[Score]) -> Plan:
    """The part of a plan that is about these runs."""
    wanted = {(score.task, score.method, score.seed) for score in scores}
    cells = tuple(
        replace(cell, runs=runs)
        for cell in plan.cells
        if (runs := tuple(r for r in cell.runs if (r.task, r.method, r.seed) in wanted))
    )
    return replace(plan, cells=cells, standard=False, claims=())
