"""What the harness costs: a batch as a worker executes it, against its bare loop.

Both have the same agent, environment and steps. Bare is ``act``, ``step`` and ``observe``; the
harness adds recording, checks, progress, heartbeats, checkpoints and, within the time, storing
what came out. The clock starts after a share of the steps, so that neither compilation nor an
empty replay is measured.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Contestant, Ratio, arguments, positive, report, seconds, take_turns
from work import DISCOUNT, GAME

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host
    from uqbench.runner.batches import Batch

BARE, HARNESS = "bare loop", "as a worker executes it"
WARM_UP = 0.2
"""Share of the steps before the clock starts."""


def batch_of(options: argparse.Namespace) -> tuple[Host, Batch]:
    """One batch of the ``minatar`` suite, as ``uqbench run`` makes it, without an evaluation."""
    from uqbench.registry.plugins import Host
    from uqbench.runner.batches import Batch
    from uqbench.suites.plan import make_plan
    from uqbench.suites.reading import read_suites

    host = Host.load()
    plan = make_plan(
        read_suites(host).suite("minatar"),
        host,
        "smoke",
        device="cpu",
        methods=[options.method],
        tasks=[GAME],
        seeds=range(options.lanes),
        steps=options.steps,
        settings={options.method: {"learning_starts": 100}},
    )
    update = {"numerics": options.numerics, "evaluation": None}
    budget = plan.budget.model_copy(update=update)
    return host, Batch(plan.cells[0], budget, plan.suite.metrics, "cpu")


def bare(options: argparse.Namespace, _turn: int) -> float:
    """Steps per second of all lanes, by the loop alone."""
    import torch
    from ours import bare_loop, minatar_lanes, with_numerics

    from uqbench.contract.agent import EnvironmentInfo

    prepare_process()
    device = torch.device("cpu")
    host, batch = batch_of(options)
    env = minatar_lanes(GAME, [run.environment_seed for run in batch.runs], device)
    spec = EnvironmentInfo(
        env.observation_space, env.n_actions, DISCOUNT, total_steps=options.steps
    )
    make = host.agents[str(batch.cell.method.agent)].load_factory()
    agent = make(spec, [run.agent_seed for run in batch.runs], batch.cell.config, device)
    agent = with_numerics(agent, options.numerics)
    began, first = 0.0, int(options.steps * WARM_UP)
    for taken in bare_loop(agent, env, options.steps):
        if taken == first:
            began = seconds()
    return options.lanes * (options.steps - first) / (seconds() - began)


def harness(options: argparse.Namespace, _turn: int) -> float:
    """Steps per second of all lanes, from the first progress after the warm-up to the end."""

    from uqbench.results.store import Store
    from uqbench.runner.events import Event, Failed, Progress
    from uqbench.runner.interleaving import execute

    prepare_process()
    host, batch = batch_of(options)
    first, began = options.steps, 0.0

    def hear(event: Event) -> None:
        nonlocal first, began
        pickle.dumps(event)  # as if to send it to another process
        if isinstance(event, Failed):
            raise RuntimeError(event.reason)
        if isinstance(event, Progress) and not began and event.step >= options.steps * WARM_UP:
            first, began = event.step, seconds()

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        store.prepare()
        execute((batch,), store, host, hear, options.checkpoint_seconds)
        took = seconds() - began
    if not began:
        raise RuntimeError("too few steps to measure; take more --steps")
    return options.lanes * (options.steps - first) / took


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--method", choices=("dqn", "qr-dqn", "ua-dqn"), default="qr-dqn")
    parser.add_argument("--steps", type=positive, default=20_000, help="steps of each lane")
    parser.add_argument("--lanes", type=positive, default=5)
    parser.add_argument("--numerics", choices=("eager", "compiled"), default="compiled")
    parser.add_argument("--checkpoint-seconds", type=float, default=60.0)
    options = parser.parse_args()
    contestants = {BARE: Contestant(bare, ENVIRONMENT), HARNESS: Contestant(harness, ENVIRONMENT)}
    ratio = Ratio(f"{BARE} ÷ {HARNESS}", BARE, [HARNESS], at_most=1.03)
    report(options, take_turns(options, contestants), [ratio])


if __name__ == "__main__":
    main()
