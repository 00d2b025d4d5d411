"""What a night's budget should be: gradient steps, environment steps and batches, weighed.

Three ways to spend the same number of gradient steps on MinAtar: one every environment step; one
every fourth of four times as many; the same with batches of 128. Each cell of game, method and way
is one batch of lanes in a process of its own, with a worker's settings. docs/protocols.md has
what came out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from measure import ONE_THREAD, machine, positive

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process


@dataclass(frozen=True)
class Way:
    """A way to spend gradient steps: environment steps for each, and transitions a batch.

    Schedules are the same share of a run in all: the target network is synced after the same
    number of gradient steps.
    """

    learn_period: int
    batch_size: int


WAYS = {"every step": Way(1, 32), "every 4th": Way(4, 32), "every 4th, 128": Way(4, 128)}
SCHEDULE = 0.05
"""Of 20,000 steps: learning from step 250, ε decays over 5,000."""
UPDATES = 20_000
METRICS = ("online_return", "reward_per_step")


def measure(options: argparse.Namespace, game: str, method: str, way: str) -> dict[str, Any]:
    """Train a cell's seeds as lanes; their scores, and the processor time of a step."""
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.runner.batching.batches import Batch
    from uqbench.runner.events import Event, Failed, Finished, Progress
    from uqbench.runner.interleaving import execute
    from uqbench.suites.plan import make_plan
    from uqbench.suites.reading import read_suites

    prepare_process()
    host = Host.load()
    suite = read_suites(host, check=["minatar"]).suite("minatar")
    spent = WAYS[way]
    budget = suite.budget("cpu").model_copy(
        update={
            "steps": options.updates * spent.learn_period,
            "schedule": SCHEDULE * spent.learn_period * options.updates / UPDATES,
            "numerics": "compiled",
            "evaluation": None,
            "tasks": None,
        }
    )
    plan = make_plan(
        suite.model_copy(update={"budgets": {**suite.budgets, "cpu": budget}}),
        host,
        "cpu",
        device="cpu",
        methods=[method],
        tasks=[game],
        seeds=range(options.seeds),
        settings={method: {"learn_period": spent.learn_period, "batch_size": spent.batch_size}},
    )
    store = Store(options.out)
    store.prepare()
    batch = Batch(plan.cells[0], budget, plan.suite.metrics, "cpu")
    began: tuple[int, float] | None = None
    scalars: dict[int, Any] = {}
    ended = 0.0

    def hear(event: Event) -> None:
        nonlocal began, ended
        if isinstance(event, Failed):
            raise RuntimeError(event.reason)
        if isinstance(event, Progress) and began is None and event.step >= budget.steps / 10:
            began = event.step, time.process_time()
        if isinstance(event, Finished):
            ended = time.process_time()
            scalars.update(event.scalars)

    execute((batch,), store, host, hear, checkpoint_seconds=0)
    assert began is not None, "too few steps to measure: take more --updates"
    first, clock = began
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "game": game,
        "method": method,
        "way": way,
        "steps": budget.steps,
        "ms_a_step": 1000 * (ended - clock) / (budget.steps - first) / options.seeds,
        "core_seconds": sum(u.ru_utime + u.ru_stime for u in usage),
        **{name: [scalars[seed][name] for seed in sorted(scalars)] for name in METRICS},
    }


def separation(cells: list[dict[str, Any]], metric: str) -> float:
    """How far apart methods are on a game, in standard deviations between a method's seeds.

    The standard deviation of the methods' means over the pooled one within methods: Cohen's f.
    """
    means = [statistics.mean(cell[metric]) for cell in cells]
    within = sqrt(statistics.mean(statistics.variance(cell[metric]) for cell in cells))
    return statistics.pstdev(means) / within if within else float("inf")


def table(cells: list[dict[str, Any]]) -> str:
    """Scores and times of all cells, and separation by way, in Markdown."""
    lines = ["| game | method | way | return: mean (seeds) | ms a step | core-seconds a run |"]
    lines += ["| --- | --- | --- | --- | ---: | ---: |"]
    for cell in cells:
        runs = cell["online_return"]
        seeds = ", ".join(f"{value:.2f}" for value in runs)
        seconds = cell["ms_a_step"] * cell["steps"] / 1000
        lines.append(
            f"| {cell['game']} | {cell['method']} | {cell['way']} | "
            f"{statistics.mean(runs):.2f} ({seeds}) | {cell['ms_a_step']:.2f} | {seconds:.0f} |"
        )
    lines += ["", "| game | way | separation f | core-hours | f² a core-hour |"]
    lines += ["| --- | --- | ---: | ---: | ---: |"]
    for game in dict.fromkeys(cell["game"] for cell in cells):
        for way in WAYS:
            some = [cell for cell in cells if (cell["game"], cell["way"]) == (game, way)]
            if len(some) < 2:
                continue
            f = separation(some, "online_return")
            runs = sum(len(c["online_return"]) * c["ms_a_step"] * c["steps"] for c in some)
            hours = runs / 1000 / 3600
            lines.append(f"| {game} | {way} | {f:.2f} | {hours:.3f} | {f * f / hours:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="results; what is there is kept")
    parser.add_argument("--games", nargs="+", default=["breakout", "asterix"])
    parser.add_argument("--methods", nargs="+", default=["dqn", "qr-dqn", "ua-dqn"])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--seeds", type=positive, default=3)
    parser.add_argument("--updates", type=positive, default=UPDATES, help="gradient steps of a run")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # a cell: measure it here
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options, *options.one)))
        return
    file = options.out / "pilot.json"
    cells = json.loads(file.read_text())["cells"] if file.exists() else []
    for way in options.ways:
        for game in options.games:
            for method in options.methods:
                if any((c["game"], c["method"], c["way"]) == (game, method, way) for c in cells):
                    continue
                command = [sys.executable, *sys.argv, "--one", game, method, way]
                environment = os.environ | ONE_THREAD | ENVIRONMENT
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
                if done.returncode:
                    sys.exit(f"error: {way}, {game}, {method} failed, see above")
                cells.append(json.loads(done.stdout.splitlines()[-1]))
                options.out.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps({"cells": cells, "machine": machine()}, indent=2) + "\n")
    print(table(cells))


if __name__ == "__main__":
    main()
