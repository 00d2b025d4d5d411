"""What runs cost: speed and device time. Measured, so not part of byte checks."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from uqbench.boards.scores import DEVICES
from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.boards.tables import csv_text
from uqbench.errors import UqbenchError
from uqbench.results.files import reading, stored_text
from uqbench.results.folders import Folder
from uqbench.results.scores import Scores
from uqbench.runner.forecast import StepCosts
from uqbench.suites.plan import Plan

COLUMNS = ("task", "method", "device", "runs", "steps_per_s", "device_hours")


@dataclass(frozen=True)
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
    device: str
    runs: int
    steps_per_s: float
    device_hours: float


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
    rows = []
    with reading("cost.csv", csv.Error, ValueError):
        header, *lines = list(csv.reader(io.StringIO(text))) or [list(COLUMNS)]
        if header != list(COLUMNS):
            raise ValueError(f"expected the columns {', '.join(COLUMNS)}")
        for task, method, device, runs, speed, hours in lines:
            row = CellCost(task, method, device, int(runs), float(speed), float(hours))
            if not all(math.isfinite(n) and n >= 0 for n in (row.steps_per_s, row.device_hours)):
                raise ValueError(f"a row of {task[:50]!r} and {method[:50]!r} has no such numbers")
            if set(device.split("+")) - set(DEVICES):
                raise ValueError(f"a device {device[:50]!r}")
            rows.append(row)
    return rows


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
