"""What runs cost: speed and device time. Measured, so not part of byte checks."""

from __future__ import annotations

import csv
import io
from statistics import median

from uqbench.boards.scores import Score
from uqbench.suites.plan import Plan


def cost_csv(plan: Plan, scores: tuple[Score, ...]) -> str:
    """``cost.csv``: a row for each task and method with finished runs.

    ``steps_per_s`` is the median over runs of environment steps per second of a device or core;
    ``device_hours`` the sum of their shares of it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "method", "device", "runs", "steps_per_s", "device_hours"])
    finished: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        if score.digest:
            finished.setdefault((score.task, score.method), []).append(score)
    for cell in plan.cells:
        name = (cell.task.name, cell.method.name)
        own = finished.get(name, [])
        timings = [s.record.timing for s in own if s.record is not None and s.record.timing]
        if timings:
            speed = median(timing.steps_per_s for timing in timings)
            hours = sum(timing.seconds / timing.lanes for timing in timings) / 3600
            devices = "+".join(sorted({score.device for score in own}))
            writer.writerow([*name, devices, len(timings), f"{speed:.1f}", f"{hours:.4f}"])
    return text.getvalue()
