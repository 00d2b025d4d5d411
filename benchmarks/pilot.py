"""What a night's budget should be: actors, batches, learning rates and target networks, weighed.

A way is `K,B,LR,SYNC`: actors, transitions a batch, Adam's learning rate, gradient steps between
syncs of the target network. All take one gradient step every vector step, so a way's environment
steps are `K` times its gradient steps. Each cell of game, method and way is one batch of seeds in a
process of its own, with a worker's settings. The minatar plugin's HISTORY.md has the criterion
and the results.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import ONE_THREAD, machine, positive

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process


@dataclass(frozen=True)
class Way:
    """How a run spends its gradient steps; its text is `K,B,LR,SYNC`."""

    actors: int
    batch_size: int
    learning_rate: float
    target_sync: int

    @classmethod
    def read(cls, text: str) -> Way:
        actors, batch, rate, sync = text.split(",")
        return cls(int(actors), int(batch), float(rate), int(sync))


GAMES = ["asterix", "breakout", "freeway", "seaquest", "space_invaders"]
METHODS = ["dqn", "qr-dqn", "ua-dqn", "bootstrapped-dqn"]
WAYS = [
    f"{actors},{batch},{rate},50"
    for actors, batch, rate in itertools.product((16, 64, 256), (32, 128), ("3e-4", "1e-3"))
]
EPSILON_SHARE = 0.25
"""ε decays over this share of a run …"""
PAPER_DECAY = 100_000
"""… and over this many steps where a budget's `schedule` is 1."""
METRICS = ("online_return", "q_error", "evaluation_return", "reward_per_step")
FREEWAY_EPISODE = 2_501
"""Steps of every episode of Freeway: hardly any ends in a short run."""


def measure(options: argparse.Namespace, game: str, method: str, way: str) -> dict[str, Any]:
    """Train a cell's seeds as lanes; their scores, and the processor time of a step."""
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.runner.batches import Batch
    from uqbench.runner.events import Event, Failed, Finished, Progress
    from uqbench.runner.interleaving import execute
    from uqbench.suites.plan import make_plan
    from uqbench.suites.reading import read_suites

    prepare_process()
    host = Host.load()
    suite = read_suites(host, check=["minatar"]).suite("minatar")
    spent = Way.read(way)
    steps = options.updates * spent.actors
    night = suite.budget("night")
    budget = night.model_copy(
        update={
            "steps": steps,
            "actors": spent.actors,
            "schedule": steps * EPSILON_SHARE / PAPER_DECAY,
            "config": {
                "learn_period": spent.actors,
                "batch_size": spent.batch_size,
                "learning_rate": spent.learning_rate,
                "target_sync_period": spent.target_sync * spent.actors,
            },
            "numerics": options.numerics,
            "tasks": None,
            "tuned": None,
        }
    )
    plan = make_plan(
        suite.model_copy(update={"budgets": {**suite.budgets, "pilot": budget}}),
        host,
        "pilot",
        device="cpu",
        methods=[method],
        tasks=[game],
        seeds=range(options.first_seed, options.first_seed + options.seeds),
    )
    scale = suite.normalization["online_return"].constants[game]
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
        "steps": steps,
        "updates": options.updates,
        "run_seconds": (ended - clock) * steps / (steps - first) / options.seeds,
        "core_seconds": sum(u.ru_utime + u.ru_stime for u in usage),
        "scale": [scale.zero, scale.one],
        **{name: [scalars[seed][name] for seed in sorted(scalars)] for name in METRICS},
    }


def normalized(cell: dict[str, Any]) -> list[float]:
    """A cell's returns on the board's scale: 0 random play, 1 the published DQN."""
    zero, one = cell["scale"]
    return [(value - zero) / (one - zero) for value in returns(cell)]


def returns(cell: dict[str, Any]) -> list[float]:
    """A cell's mean returns; of Freeway the rate of rewards in the second half, an episode long."""
    if cell["game"] == "freeway":
        return [rate * FREEWAY_EPISODE for rate in cell["reward_per_step"]]
    return cell["online_return"]


def table(cells: list[dict[str, Any]]) -> str:
    """Scores and times of all cells, then the criteria by way and length, in Markdown."""
    lines = ["| game | method | way | gradient steps | return: mean (seeds) | core-seconds a run |"]
    lines += ["| --- | --- | --- | ---: | --- | ---: |"]
    for cell in cells:
        runs = returns(cell)
        seeds = ", ".join(f"{value:.2f}" for value in runs)
        lines.append(
            f"| {cell['game']} | {cell['method']} | {cell['way']} | {cell['updates']:,} | "
            f"{statistics.mean(runs):.2f} ({seeds}) | {cell['run_seconds']:.0f} |"
        )
    lines += ["", "| way | gradient steps | cells | score | core-hours a run | score a core-hour |"]
    lines[-1] += " q_error |"
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault((cell["way"], cell["updates"]), []).append(cell)
    for (way, updates), some in sorted(groups.items(), key=lambda group: group[0][1]):
        score = statistics.mean(statistics.mean(normalized(cell)) for cell in some)
        hours = statistics.mean(cell["run_seconds"] for cell in some) / 3600
        error = statistics.mean(statistics.mean(cell["q_error"]) for cell in some)
        lines.append(
            f"| {way} | {updates:,} | {len(some)} | {score:.3f} | {hours:.4f} | "
            f"{score / hours:.1f} | {error:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="results; what is there is kept")
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--ways", nargs="+", default=WAYS, metavar="K,B,LR,SYNC")
    parser.add_argument("--seeds", type=positive, default=3)
    parser.add_argument("--first-seed", type=int, default=1_000, help="no seed of a board")
    parser.add_argument("--updates", type=positive, default=5_000, help="gradient steps of a run")
    parser.add_argument("--numerics", choices=["eager", "compiled"], default="eager")
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
                cell = (game, method, way, options.updates)
                if any((c["game"], c["method"], c["way"], c["updates"]) == cell for c in cells):
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
