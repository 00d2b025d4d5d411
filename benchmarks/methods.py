"""What a step of each of a suite's methods takes on one core, as a budget runs it.

Milliseconds of one run's environment step, gradient steps included; lanes are runs beside each
other in one process. From these a budget's core-hours follow: steps × runs × milliseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from functools import partial
from pathlib import Path

from measure import Contestant, arguments, machine, positive, take_turns

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process


def measure(options: argparse.Namespace, _turn: int, *, method: str, lanes: int) -> float:
    """Steps per second of all lanes of a method on the task."""
    from timed_steps import time_steps

    from uqbench.registry.plugins import Host
    from uqbench.runner.batches import Batch
    from uqbench.suites.plan import make_plan
    from uqbench.suites.reading import read_suites

    prepare_process()
    host = Host.load()
    suite = read_suites(host, check=()).suite(options.suite)
    budget = suite.budget(options.budget)
    if options.numerics:
        budget = budget.model_copy(update={"numerics": options.numerics})
    suite = suite.model_copy(update={"budgets": {**suite.budgets, options.budget: budget}})
    plan = make_plan(
        suite,
        host,
        options.budget,
        device="cpu",
        methods=[method],
        tasks=[options.task] if options.task else [suite.tasks_of(budget)[0].name],
        seeds=range(lanes),
    )
    (cell,) = plan.cells
    batch = Batch(cell, budget.on(cell.task), suite.metrics, "cpu")
    return time_steps(batch, host, options.seconds)


def main() -> None:
    parser = arguments(__doc__ or "", repeats=3)
    parser.add_argument("--suite", default="minatar")
    parser.add_argument("--budget", default="night")
    parser.add_argument("--task")
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--lanes", nargs="+", type=positive, default=[5])
    parser.add_argument(
        "--numerics", choices=("eager", "compiled", "native"), help="not the budget's"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="timed, at least")
    options = parser.parse_args()
    cells = {f"{m}, {n}": (m, n) for m in options.methods for n in options.lanes}
    contestants = {
        name: Contestant(partial(measure, method=method, lanes=lanes), ENVIRONMENT)
        for name, (method, lanes) in cells.items()
    }
    rates = take_turns(options, contestants)
    print("| method | lanes | ms a step | min | max |\n| --- | ---: | ---: | ---: | ---: |")
    table = {name: [1000 / rate for rate in values] for name, values in rates.items()}
    for name, (method, lanes) in cells.items():
        ms = table[name]
        said = f"{statistics.median(ms):.3f} | {min(ms):.3f} | {max(ms):.3f}"
        print(f"| {method} | {lanes} | {said} |")
    if options.json:
        found = {"command": [Path(sys.argv[0]).name, *sys.argv[1:]], "ms": table}
        options.json.write_text(json.dumps(found | {"machine": machine()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
