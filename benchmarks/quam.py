"""Adversarial model search: all searches stacked, and one search after another.

``python benchmarks/quam.py [--points 200] [--steps 70] [--device cuda]``: two moons, the network
and settings of the suite ``two-moons``. Three ways to make the same steps, timed by the process's
own seconds on a CPU and by the clock on a GPU:

- stacked: what the estimator does;
- one by one: the same code with one search at a time;
- modules: a ``torch.nn`` network, ``torch.optim.Adam`` and two forward passes a step, as such a
  search is written without a stack.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.update(OMP_NUM_THREADS="1", MKL_CBWR=os.environ.get("MKL_CBWR", "AVX2"))

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from uqbench_predictive.networks.architectures import rows
from uqbench_predictive.problems.two_moons import TwoMoons, TwoMoonsConfig
from uqbench_quam.methods.config import QuamConfig
from uqbench_quam.methods.quam import Quam
from uqbench_quam.methods.search import search, toward

SEED = 0
SEARCHES = 8
"""How many are timed one after another; all take the same time."""


def main() -> None:
    """Print milliseconds a search's step, and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--steps", type=int, default=70)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    device = torch.device(arguments.device)
    task = TwoMoons(TwoMoonsConfig())
    config = QuamConfig(search_steps=arguments.steps, period=10)
    estimator = Quam(task.problem, [SEED], config, device)
    estimator.fit(task.data([SEED]), task.reference_model([SEED]), steps=1)
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    generator = torch.Generator().manual_seed(SEED)
    points = torch.rand(arguments.points, 2, generator=generator) * 6 - 3

    estimator.predict(points[None, :8])
    began = clock()
    estimator.predict(points[None])
    stacked = (clock() - began) / (2 * len(points) * config.search_steps)

    began = clock()
    for point in points[:SEARCHES]:
        one_search(estimator, point.to(device), config)
    single = (clock() - began) / (SEARCHES * config.search_steps)

    began = clock()
    for point in points[:SEARCHES]:
        module_search(estimator, point.to(device), config)
    modules = (clock() - began) / (SEARCHES * config.search_steps)

    print(
        f"{arguments.points} points, {2 * arguments.points} searches, {device}, milliseconds a step"
    )
    for name, seconds in (("stacked", stacked), ("one by one", single), ("modules", modules)):
        print(f"{name:12} {1e3 * seconds:8.4f}   {seconds / stacked:6.1f} × stacked")


def one_search(estimator: Quam, point: Tensor, config: QuamConfig) -> None:
    """The estimator's search with a stack of one."""
    lane = torch.zeros(1, dtype=torch.long, device=point.device)
    search(
        estimator.searched,
        rows(estimator.start, lane),
        estimator.data,
        lane,
        point[None],
        toward(lane),
        estimator.reference_loss,
        config,
    )


def module_search(estimator: Quam, point: Tensor, config: QuamConfig) -> None:
    """A search as a plain training loop."""
    network = nn.Sequential(
        nn.Linear(2, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 2)
    ).to(point.device)
    with torch.no_grad():
        for parameter, start in zip(network.parameters(), estimator.start.values(), strict=True):
            parameter.copy_(start[0].T.reshape(parameter.shape))
    optimizer = torch.optim.Adam(
        network.parameters(), config.search_rate, weight_decay=config.search_decay
    )
    sought = torch.zeros(1, dtype=torch.long, device=point.device)
    inputs, targets = estimator.data.inputs[0], estimator.data.targets[0]
    for step in range(config.search_steps):
        optimizer.zero_grad()
        at_point = network(point[None])
        at_point.detach().softmax(-1).cpu()
        c = config.penalty * config.growth ** (step // config.period)
        loss = F.cross_entropy(at_point, sought) + c * F.cross_entropy(network(inputs), targets)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
