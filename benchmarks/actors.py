"""What a gradient step costs, with its acting and its environment steps, by actors and batch.

Milliseconds of one run on one core: a vector step of K actors and one gradient step after it, as a
budget with ``actors = K`` and ``learn_period = K`` has them. ``sb3-dqn`` and ``sb3-qr-dqn`` are
measured the same way, with K as their ``n_envs``; ``jax-dqn`` and ``jax-qr-dqn`` are those of
``jax_dqn.py`` with K copies of the game.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from functools import partial
from pathlib import Path

from measure import Contestant, arguments, machine, positive, seconds, take_turns

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process

METHODS = ["dqn", "qr-dqn", "sb3-dqn", "sb3-qr-dqn", "jax-dqn", "jax-qr-dqn"]
WARM_UP = 20
"""Gradient steps before the clock starts: the first ones compile and allocate."""


def measure(
    options: argparse.Namespace, turn: int, *, method: str, actors: int, batch_size: int
) -> float:
    """Gradient steps per second of one run."""
    if method.startswith("jax-"):
        from jax_dqn import measure as of_jax

        return of_jax(method.removeprefix("jax-"), 1, options.steps, turn, actors, batch_size)

    import torch

    from uqbench.registry.plugins import Host
    from uqbench.runner.batches import Batch
    from uqbench.runner.train.agents import make_agent, make_loop_agent
    from uqbench.runner.train.compiling import execute_as
    from uqbench.runner.train.environments import TaskEnvironment
    from uqbench.runner.train.loop import interact
    from uqbench.runner.train.loop_agent import RecordedLanes, train
    from uqbench.runner.train.recorder import Recorder
    from uqbench.suites.plan import make_plan
    from uqbench.suites.reading import read_suites

    prepare_process()
    host = Host.load()
    suite = read_suites(host, check=()).suite("minatar")
    before = -(-2 * max(batch_size, actors) // actors)  # vector steps without a gradient step
    first, last = before + WARM_UP, before + WARM_UP + options.steps
    spent = {"batch_size": batch_size, "learn_period": actors, "learning_starts": before * actors}
    quick = suite.budget("quick")
    budget = quick.model_copy(
        update={
            "steps": last * actors,
            "actors": actors,
            "schedule": 1.0,
            "config": {**spent, "learning_rate": 1e-3, "target_sync_period": 50 * actors},
            "numerics": options.numerics,
        }
    )
    own = {"update_period": actors, "target_sync_updates": 50}  # SENTINEL's words for these
    methods = [
        one.model_copy(
            update={"budget_config": {"quick": own if one.agent == "sentinel-k" else {}}}
        )
        for one in suite.methods
    ]
    changed = {"budgets": {**suite.budgets, "quick": budget}, "methods": methods}
    plan = make_plan(
        suite.model_copy(update=changed),
        host,
        "quick",
        device="cpu",
        methods=[method],
        tasks=["breakout"],
        seeds=[0],
    )
    (cell,) = plan.cells
    batch, device = Batch(cell, budget, suite.metrics, "cpu"), torch.device("cpu")
    env = TaskEnvironment(batch, host, device).training_lanes()
    recorder = Recorder(1, budget.steps, (), device, 0.99, actors=actors)
    times: list[float] = []

    def after(step: int) -> None:
        if step in (first * actors, (last - 1) * actors):
            times.append(seconds())

    if cell.owns_loop:
        recorded = RecordedLanes(env, budget.steps, recorder, after)
        agent = make_loop_agent(batch, host, env).stands_for
        train(agent, recorded, budget.steps, 0, actors)
    else:
        learner = make_agent(batch, host, env, device)
        execute_as(learner, options.numerics, partial(print, file=sys.stderr))
        for position in interact(learner, env, budget.steps, recorder, actors=actors):
            after(position.step)
    began, ended = times
    rate: float = (options.steps - 1) / (ended - began)
    return rate


def main() -> None:
    parser = arguments(__doc__ or "", repeats=3)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--actors", nargs="+", type=positive, default=[1, 16, 64, 256])
    parser.add_argument("--batches", nargs="+", type=positive, default=[32, 128])
    parser.add_argument("--numerics", choices=("eager", "compiled", "native"), default="eager")
    parser.add_argument("--steps", type=positive, default=150, help="gradient steps timed")
    options = parser.parse_args()
    cells = {
        f"{method}, {actors}, {size}": (method, actors, size)
        for method in options.methods
        for actors in options.actors
        for size in options.batches
    }
    contestants = {
        name: Contestant(
            partial(measure, method=method, actors=actors, batch_size=size), ENVIRONMENT
        )
        for name, (method, actors, size) in cells.items()
    }
    rates = take_turns(options, contestants)
    print("| method | actors | batch | ms a gradient step | min | max | environment steps/s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, (method, actors, size) in cells.items():
        ms = [1000 / rate for rate in rates[name]]
        said = f"{statistics.median(ms):.2f} | {min(ms):.2f} | {max(ms):.2f}"
        frames = statistics.median(rates[name]) * actors
        print(f"| {method} | {actors} | {size} | {said} | {frames:,.0f} |")
    if options.json:
        found = {"command": [Path(sys.argv[0]).name, *sys.argv[1:]], "rates": rates}
        options.json.write_text(json.dumps(found | {"machine": machine()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
