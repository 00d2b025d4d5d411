"""Tabular agents on DeepSea: hundreds of lanes in one process against one lane after another.

Both run the suite's protocol with the suite's settings: environment, agent and, as often as the
suite recomputes it, the plan. One lane after another takes as long, per step, as one lane alone.
"""

from __future__ import annotations

import argparse
from functools import partial

from measure import Contestant, Ratio, arguments, positive, report, seconds, take_turns

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process

METHODS = ("q-learning", "bql", "psrl", "ube", "mm")
ALONE = "one lane after another"


def rate(options: argparse.Namespace, _turn: int, lanes: int) -> float:
    """Steps per second of ``lanes`` lanes together, after the first tenth of the steps."""
    import torch
    from ours import bare_loop

    from uqbench.registry.plugins import Host
    from uqbench.runner.batches import Batch
    from uqbench.runner.train.agents import make_agent
    from uqbench.runner.train.environments import TaskEnvironment
    from uqbench.suites.plan import make_plan
    from uqbench.suites.reading import read_suites

    prepare_process()
    host, device = Host.load(), torch.device("cpu")
    suite = read_suites(host).suite("deepsea-deep")
    task = f"deepsea-{options.states}"
    plan = make_plan(
        suite,
        host,
        "paper",
        device="cpu",
        methods=[options.method],
        tasks=[task],
        seeds=range(lanes),
        steps=options.steps,
    )
    batch = Batch(plan.cells[0], plan.budget, suite.metrics, "cpu")
    env = TaskEnvironment(batch, host, device).lanes([run.environment_seed for run in batch.runs])
    agent = make_agent(batch, host, env, device)
    began, first = 0.0, options.steps // 10
    for taken in bare_loop(agent, env, options.steps):
        if taken == first:
            began = seconds()
    return lanes * (options.steps - first) / (seconds() - began)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--method", choices=METHODS, default="psrl")
    parser.add_argument("--states", type=int, choices=(4, 8, 12, 16, 20, 30, 40), default=8)
    parser.add_argument("--lanes", type=positive, default=500)
    parser.add_argument("--steps", type=positive, default=1_000, help="steps of each lane")
    options = parser.parse_args()
    together = f"{options.lanes} lanes"
    contestants = {
        ALONE: Contestant(partial(rate, lanes=1), ENVIRONMENT),
        together: Contestant(partial(rate, lanes=options.lanes), ENVIRONMENT),
    }
    target = 20 if (options.method, options.lanes) == ("psrl", 500) else None
    ratio = Ratio(f"{options.method}: {together} ÷ {ALONE}", together, [ALONE], at_least=target)
    report(options, take_turns(options, contestants), [ratio])


if __name__ == "__main__":
    main()
