"""Learning curves of native steps beside eager ones: the same schedule, games and seeds.

A run is one of MinAtar's budget ``quick`` without its questions, with seeds that no board has. Its
curve is the mean return of the training episodes that end in each tenth of it. Printed are the last
tenth and the area, which is the mean of all tenths, over seeds; and the difference, native less
eager, with its standard error. Both draw the same numbers, but begin with other weights.
"""

from __future__ import annotations

import argparse
import math
import sys
from functools import partial
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch
from uqbench.runner.executors.local import prepare_process
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.compiling import execute_as
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

TENTHS = 10


def curves(
    host: Host, method: str, game: str, numerics: str, seeds: list[int]
) -> NDArray[np.float64]:
    """Mean returns by seed and tenth of the run, ``[seeds, 10]``."""
    suite = read_suites(host, check=()).suite("minatar")
    budget = suite.budget("quick").model_copy(update={"numerics": numerics, "queries": None})
    suite = suite.model_copy(update={"budgets": {**suite.budgets, "quick": budget}})
    (cell,) = make_plan(
        suite, host, "quick", device="cpu", methods=[method], tasks=[game], seeds=seeds
    ).cells
    batch, device = Batch(cell, budget, suite.metrics, "cpu"), torch.device("cpu")
    task = TaskEnvironment(batch, host, device)
    env = task.lanes(task.training_seeds)
    recorder = Recorder(len(seeds), budget.steps, (), device, actors=budget.actors)
    agent = make_agent(batch, host, env, device)
    execute_as(agent, numerics, partial(print, file=sys.stderr))
    for _ in interact(agent, env, budget.steps, recorder, actors=budget.actors):
        pass
    found = []
    for _, episodes in recorder.finish():
        tenth = (episodes["step"] - 1) * TENTHS // budget.steps
        found.append([episodes["return"][tenth == k].mean() for k in range(TENTHS)])
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--methods", nargs="+", default=["dqn", "qr-dqn"])
    parser.add_argument("--games", nargs="+", default=["breakout", "space_invaders"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    options = parser.parse_args()
    prepare_process()
    host = Host.load()
    print("| method, game | of the curve | native | eager | difference ± standard error |")
    print("| --- | --- | ---: | ---: | ---: |")
    for method, game in product(options.methods, options.games):
        native, eager = (
            curves(host, method, game, numerics, options.seeds) for numerics in ("native", "eager")
        )
        for said, of in ("last tenth", slice(-1, None)), ("area", slice(None)):
            ours, theirs = native[:, of].mean(1), eager[:, of].mean(1)
            error = math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / len(ours))
            means = ours.mean(), theirs.mean()
            cells = f"{means[0]:.2f} | {means[1]:.2f} | {means[0] - means[1]:.2f} ± {error:.2f}"
            print(f"| {method}, {game} | {said} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
