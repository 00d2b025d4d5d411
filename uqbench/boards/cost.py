"""What runs cost: speed and device time. Measured, so not part of byte checks."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from statistics import median

from uqbench.boards.scores import DEVICES, Score
from uqbench.boards.tables import Row, csv_text
from uqbench.errors import UqbenchError
from uqbench.suites.plan import Plan

COLUMNS = ("task", "method", "device", "runs", "steps_per_s", "device_hours")


def cost_csv(plan: Plan, scores: Sequence[Score]) -> str:
    """``cost.csv``: a row for each task and method with finished runs.

    ``device`` is ``cpu``, ``cuda`` or ``cpu+cuda``, ``runs`` how many have a time; ``steps_per_s``
    is the median over runs of environment steps per second of a device or core, ``device_hours``
    the sum of their shares of it.
    """
    finished: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        if score.digest:
            finished.setdefault((score.task, score.method), []).append(score)
    rows = []
    for cell in plan.cells:
        name = (cell.task.name, cell.method.name)
        own = finished.get(name, [])
        timings = [s.record.timing for s in own if s.record is not None and s.record.timing]
        if timings:
            speed = median(timing.steps_per_s for timing in timings)
            hours = sum(timing.seconds / timing.lanes for timing in timings) / 3600
            devices = "+".join(sorted({score.device for score in own}))
            row = (*name, devices, str(len(timings)), f"{speed:.1f}", f"{hours:.4f}")
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    return csv_text(rows, COLUMNS)


def read_cost(text: str) -> list[Row]:
    """The rows of a ``cost.csv`` from anywhere; none where it is empty.

    Raises:
        UqbenchError: it is damaged.
    """
    try:
        header, *lines = list(csv.reader(io.StringIO(text))) or [list(COLUMNS)]
        if header != list(COLUMNS):
            raise ValueError(f"expected the columns {', '.join(COLUMNS)}")
        rows = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
        for row in rows:
            numbers = [float(row[name]) for name in COLUMNS[3:]]
            if not all(math.isfinite(n) and n >= 0 for n in numbers):
                where = f"{row['task'][:50]!r} and {row['method'][:50]!r}"
                raise ValueError(f"a row of {where} has no such numbers")
            if set(row["device"].split("+")) - set(DEVICES):
                raise ValueError(f"a device {row['device'][:50]!r}")
    except (ValueError, csv.Error) as error:
        raise UqbenchError(f"cost.csv is damaged, because {error!s:.300}") from error
    return rows
