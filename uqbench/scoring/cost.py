"""What runs cost: speed and device time. Measured, so not part of byte checks."""

from __future__ import annotations

import csv
import io
from statistics import median

from uqbench.results.store import Store
from uqbench.scoring.scores import Score
from uqbench.suites.plan import Plan


def cost_csv(plan: Plan, scores: tuple[Score, ...], store: Store) -> str:
    """``cost.csv``: a row for each task and method with finished runs.

    ``steps_per_s`` is the median over runs of environment steps per second of a device or core;
    ``device_hours`` the sum of their shares of it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "method", "device", "runs", "steps_per_s", "device_hours"])
    for cell in plan.cells:
        name = (cell.task.name, cell.method.name)
        own = [s for s in scores if (s.task, s.method) == name and s.digest]
        records = [store.read(score.run).record for score in own]
        timings = [r.timing for r in records if r is not None and r.timing is not None]
        if timings:
            speed = median(timing.steps_per_s for timing in timings)
            hours = sum(timing.seconds / timing.lanes for timing in timings) / 3600
            devices = "+".join(sorted({score.device for score in own}))
            writer.writerow([*name, devices, len(timings), f"{speed:.1f}", f"{hours:.4f}"])
    return text.getvalue()
