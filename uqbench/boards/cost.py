"""What runs cost: speed and device time. Measured, so not part of byte checks."""

from __future__ import annotations

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

COLUMNS = ("task", "method", "device", "runs", "steps_per_s", "device_hours")

_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, config={"extra": "forbid"})
class CellCost:
    """What the finished runs of a task and method cost.

    Attributes:
        device: ``cpu``, ``cuda`` or ``cpu+cuda``.
        runs: how many.
        steps_per_s: the median over runs of environment steps per second of a device or core.
        device_hours: the sum of their shares of it.
    """

    task: str
    method: str
    device: Annotated[str, StringConstraints(pattern=r"^(cpu|cuda)(\+(cpu|cuda))*$")]
    runs: Count
    steps_per_s: _Amount
    device_hours: _Amount


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
            hours = sum(timing.seconds / timing.lanes for timing in timings) / 3600
            devices = "+".join(sorted({*own.device} - {""}))
            rows.append(CellCost(*name, devices, len(timings), speed, hours))
    return to_csv(rows)


def to_csv(rows: Sequence[CellCost]) -> str:
    """The file."""
    shown = [
        vars(row)
        | {"steps_per_s": f"{row.steps_per_s:.1f}", "device_hours": f"{row.device_hours:.4f}"}
        for row in rows
    ]
    return csv_text(shown, COLUMNS)


def read_cost(text: str) -> list[CellCost]:
    """Read ``cost.csv`` from anywhere; no rows where it is empty.

    Raises:
        UqbenchError: it is damaged.
    """
    with reading("cost.csv", csv.Error, ValueError):
        return _ROWS.validate_python([*csv.DictReader(io.StringIO(text))])


def step_costs(plan: Plan, roots: Iterable[Folder]) -> StepCosts:
    """What a step of the runs of a budget's stored board cost.

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
        timed = [row for row in rows if row.steps_per_s]
        return {(r.task, r.method, r.device): (1 / r.steps_per_s, f"{where}") for r in timed}
    return {}
