"""What a gradient step costs, with its acting and environment steps, by actors, batch, numerics.

Milliseconds of one run on one core: a vector step of K actors and one gradient step after it, as a
budget with ``actors = K`` and ``learn_period = K`` has them. ``sb3-dqn`` and ``sb3-qr-dqn`` are
measured the same way, with K as their ``n_envs``; ``jax-dqn`` and ``jax-qr-dqn`` are those of
``jax_dqn.py`` with K copies of the game. Numerics are not theirs: they are measured once.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from itertools import product

from measure import Contestant, Ratio, arguments, positive, report, seconds, take_turns

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process

METHODS = ["dqn", "qr-dqn", "sb3-dqn", "sb3-qr-dqn", "jax-dqn", "jax-qr-dqn"]
NEEDED = {"sb3": ["uqbench-sb3"], "jax": ["jax", "flax", "gymnax", "optax"]}
"""Packages that the other libraries' methods need, by the beginning of their names."""
TARGETS = {
    ("dqn", "sb3-dqn"): 4.0,
    ("dqn", "jax-dqn"): 2.0,
    ("qr-dqn", "sb3-qr-dqn"): 4.0,
    ("qr-dqn", "jax-qr-dqn"): 2.0,
    ("ua-dqn", "ua-dqn"): 2.0,
    ("sentinel-4-support", "sentinel-4-support"): 2.0,
    ("bootstrapped-dqn-masks", "bootstrapped-dqn-masks"): 2.5,
}
"""How many times as fast native steps are to be as another library's, or as compiled ones."""
WARM_UP = 20
"""Gradient steps before the clock starts: the first ones compile and allocate."""


def measure(
    options: argparse.Namespace, turn: int, *, method: str, numerics: str, actors: int,
    batch_size: int, seeds: int = 1,
) -> float:  # fmt: skip
    """Gradient steps per second of one run; of all ``seeds`` of JAX together."""
    if method.startswith("jax-"):
        from jax_dqn import measure as of_jax

        own = method.removeprefix("jax-")
        return of_jax(own, seeds, options.steps, turn, actors, batch_size, WARM_UP)

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
            "numerics": numerics,
        }
    )
    sentinel = {"update_period": actors, "target_sync_updates": 50}  # its words for these
    methods = [
        one.model_copy(
            update={"budget_config": {"quick": sentinel if one.agent == "sentinel-k" else {}}}
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
    task = TaskEnvironment(batch, host, device)
    env = task.lanes(task.training_seeds)
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
        execute_as(learner, numerics, partial(print, file=sys.stderr))
        for position in interact(learner, env, budget.steps, recorder, actors=actors):
            after(position.step)
    began, ended = times
    rate: float = (options.steps - 1) / (ended - began)
    return rate


def missing(methods: Iterable[str]) -> list[str]:
    """Packages that methods need and that are not installed."""
    needed = {name for method in methods for name in NEEDED.get(method.partition("-")[0], ())}
    return sorted(name for name in needed if not find_spec(name.replace("-", "_")))


def against_targets(options: argparse.Namespace) -> None:
    """Measure what :data:`TARGETS` names, by turns, and print the ratios."""
    contestants, ratios = {}, []
    for (own, other), least in TARGETS.items():
        if missing([other]):
            continue
        library, compared = other.partition("-")[0], []
        numbers = options.jax_seeds if library == "jax" else (1,)
        said = other if library in NEEDED else f"{other} compiled"
        sides = [(f"{own} native", own, "native", 1)]
        for seeds in numbers:
            compared.append(f"{said}, {seeds} seeds" if library == "jax" else said)
            sides.append((compared[-1], other, "compiled", seeds))
        for name, method, numerics, seeds in sides:
            timed = partial(
                measure, method=method, numerics=numerics, actors=64, batch_size=128, seeds=seeds
            )
            contestants[name] = Contestant(timed, ENVIRONMENT)
        ratios.append(Ratio(f"{own} native over {said}", f"{own} native", compared, least))
    report(options, take_turns(options, contestants), ratios)


def main() -> None:
    parser = arguments(__doc__ or "", repeats=3)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--actors", nargs="+", type=positive, default=[1, 16, 64, 256])
    parser.add_argument("--batches", nargs="+", type=positive, default=[32, 128])
    parser.add_argument(
        "--numerics", nargs="+", choices=("eager", "compiled", "native"), default=["eager"]
    )
    parser.add_argument("--steps", type=positive, default=150, help="gradient steps timed")
    parser.add_argument(
        "--targets", action="store_true", help="native steps of 64 actors, batches of 128, alone"
    )
    parser.add_argument(
        "--jax-seeds", nargs="+", type=positive, default=[1, 10, 30],
        help="JAX's seeds at once, of which the fastest of a round counts",
    )  # fmt: skip
    options = parser.parse_args()
    asked = [name for pair in TARGETS for name in pair] if options.targets else options.methods
    lacking = ", ".join(missing(asked))
    how = "pip install -r benchmarks/requirements.txt plugins/uqbench-sb3"
    if options.targets:
        if lacking:
            print(f"without {lacking}, whose ratios are left out: {how}", file=sys.stderr)
        against_targets(options)
        return
    if lacking:
        parser.error(f"{lacking} missing: {how}, or leave the methods of that library out")
    cells = {}
    for actors, size, method in product(options.actors, options.batches, options.methods):
        other = method.partition("-")[0] in NEEDED
        for numerics in options.numerics[:1] if other else options.numerics:
            said = method if other else f"{method} {numerics}"
            cells[f"{said}, {actors}, {size}"] = method, numerics, actors, size
    contestants = {
        name: Contestant(
            partial(measure, method=method, numerics=numerics, actors=actors, batch_size=size),
            ENVIRONMENT,
        )
        for name, (method, numerics, actors, size) in cells.items()
    }
    rates = take_turns(options, contestants)
    print("| method, actors, batch | ms a gradient step | min | max | environment steps/s |")
    print("| --- | ---: | ---: | ---: | ---: |")
    firsts: dict[tuple[str, int, int], str] = {}
    ratios = []
    for name, (method, _, actors, size) in cells.items():
        ms = [1000 / rate for rate in rates[name]]
        said = f"{statistics.median(ms):.2f} | {min(ms):.2f} | {max(ms):.2f}"
        print(f"| {name} | {said} | {statistics.median(rates[name]) * actors:,.0f} |")
        alike = method.removeprefix("sb3-").removeprefix("jax-"), actors, size
        if (first := firsts.setdefault(alike, name)) != name:
            ratios.append(Ratio(f"{first} over {name}", first, [name]))
    report(options, rates, ratios)


if __name__ == "__main__":
    main()
