"""Host time of a GPU's training loop: everything but what the graphs replay.

Steps are captured by graphs that replay nothing, so that no GPU is needed: what is left is drawing
replay indices and random numbers, the clock, and the recorder. Launching the recorder's copies on a
GPU is not in it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from measure import positive
from ours import make_agent, minatar_lanes
from work import LEARNING_STARTS, PLANNED_STEPS, WARM_UP

from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder

TARGETS = {10: 3.0, 50: 1.5}  # µs a seed-update, by lanes
CHUNK = 1024


def replays_nothing(step: Callable[[], None]) -> Callable[[], None]:
    """A capture: the step is taken once."""
    step()
    return lambda: None


def measure(method: str, seeds: int, chunks: int) -> float:
    """The least µs of process time of a seed-update, over so many chunks of steps."""
    device = torch.device("cpu")
    env = minatar_lanes("breakout", range(seeds), device)
    agent = make_agent(method, env, range(seeds), "eager", device)
    recorder = Recorder(seeds, PLANNED_STEPS, (), device)
    steps = interact(agent, env, PLANNED_STEPS, recorder, capture=replays_nothing)
    for _ in range(LEARNING_STARTS + WARM_UP):
        next(steps)
    found = []
    for _ in range(chunks):
        began = time.process_time()
        for _ in range(CHUNK):
            next(steps)
        found.append(time.process_time() - began)
    return min(found) / CHUNK / seeds * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=positive, default=5, help=f"of {CHUNK} steps")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for method in ("dqn", "qr-dqn", "ua-dqn"):
        for seeds, target in TARGETS.items():
            taken = measure(method, seeds, options.chunks)
            print(f"{method}, {seeds} lanes: {taken:.2f} µs a seed-update (target ≤ {target:.1f})")


if __name__ == "__main__":
    main()
