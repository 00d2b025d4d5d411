"""Costs of runs: speed and device time. Measured, so not part of byte checks."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Annotated

from pydantic import Field, StringConstraints, TypeAdapter
from pydantic.dataclasses import dataclass

from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.boards.tables import csv_text
from uqbench.contract.errors import UqbenchError
from uqbench.results.files import reading, stored_text
from uqbench.results.folders import Folder
from uqbench.results.records import Count
from uqbench.results.scores import Scores
from uqbench.runner.forecast import StepCosts
from uqbench.suites.plan import Plan

COLUMNS = ("task", "method", "device", "runs", "steps_per_s", "device_hours", "clock")

_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, config={"extra": "forbid"})
class CellCost:
    """The cost of the finished runs of a task and method.

    Attributes:
        device: ``cpu``, ``cuda`` or ``cpu+cuda``.
        runs: how many.
        steps_per_s: the median over runs of environment steps per second of a device or core.
        device_hours: the sum of their shares of it: hours of CPU time, or that a GPU was taken.
        clock: by which hours and speed were measured: ``cpu`` for process time; ``wall`` on a GPU,
            and of runs before uqbench kept process time, which count a busy machine's waiting.
    """

    task: str
    method: str
    device: Annotated[str, StringConstraints(pattern=r"^(cpu|cuda)(\+(cpu|cuda))*$")]
    runs: Count
    steps_per_s: _Amount
    device_hours: _Amount
    clock: Annotated[str, StringConstraints(pattern=r"^(cpu|wall|cpu\+wall)$")] = "wall"


_ROWS = TypeAdapter(list[CellCost])


def cost_csv(plan: Plan, scores: Scores) -> str:
    """``cost.csv``: a row for each task and method with finished runs."""
    cells, rows = {(cell.task, cell.method): cell for cell in scores.cells}, []
    for planned in plan.cells:
        name = (planned.task.name, planned.method.name)
        own = cells.get(name)
        timings = [] if own is None else [m.timing for m in own.made if m is not None and m.timing]
        if own is not None and timings:
            speed = median(timing.steps_per_s for timing in timings)
            hours = sum(timing.device_seconds / timing.lanes for timing in timings) / 3600
            devices = "+".join(sorted({*own.device} - {""}))
            clocks = {"wall" if timing.cpu_seconds is None else "cpu" for timing in timings}
            clock = "+".join(sorted(clocks))
            rows.append(CellCost(*name, devices, len(timings), speed, hours, clock))
    return to_csv(rows)


def to_csv(rows: Sequence[CellCost]) -> str:
    """The file."""
    import pandas as pd

    shown = [
        vars(row)
        | {"steps_per_s": f"{row.steps_per_s:.1f}", "device_hours": f"{row.device_hours:.4f}"}
        for row in rows
    ]
    return csv_text(pd.DataFrame(shown, columns=list(COLUMNS)))


def read_cost(text: str) -> list[CellCost]:
    """Read ``cost.csv`` from anywhere; no rows where it is empty.

    Raises:
        UqbenchError: it is damaged.
    """
    with reading("cost.csv", csv.Error, ValueError):
        return _ROWS.validate_python([*csv.DictReader(io.StringIO(text))])


def step_costs(plan: Plan, roots: Iterable[Folder]) -> StepCosts:
    """The cost of a step of the runs of a budget's stored board.

    Args:
        plan: runs of the budget.
        roots: folders of leaderboards; the first that has the budget's board counts.
    """
    for root in roots:
        stored = StoredBoard(board_folder(replace(plan, standard=True), root))
        where = stored.folder / "cost.csv"
        try:
            rows = read_cost(stored_text(stored.checked(where.name), where))
        except UqbenchError:  # there is none, or it is damaged: the run goes on
            continue
        return {
            (r.task, r.method, r.device): (1 / r.steps_per_s, str(where))
            for r in rows
            if r.steps_per_s
        }
    return {}
