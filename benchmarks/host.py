"""Host time of a GPU's training loop: everything but what the graphs replay.

Steps are captured by graphs that replay nothing, so that no GPU is needed: what is left is drawing
replay indices and random numbers, the clock, and the recorder. Launching the recorder's copies on a
GPU is not in it. The GPU waits for the loop's thread; another one draws ahead.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import cycle, product
from typing import Any

import torch
from measure import positive
from ours import make_agent, minatar_lanes
from work import LEARNING_STARTS, PLANNED_STEPS, WARM_UP

from uqbench.lanes import random
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder

TARGETS = {10: 3.0, 50: 1.5}  # µs a seed-update, by lanes
CHUNK = 1024
EPISODE = 100  # steps, in every lane


def measure(method: str, seeds: int, actors: int, chunks: int) -> tuple[float, float]:
    """The least µs of a seed-update, over so many chunks: of the loop's thread, of all threads."""
    device = torch.device("cpu")
    env: Any = minatar_lanes("breakout", range(seeds * actors), device)
    agent = make_agent(method, env, range(seeds), "eager", device, actors)
    ends = cycle(
        (torch.arange(seeds * actors) % EPISODE == torch.arange(EPISODE)[:, None]).unbind()
    )

    def replays_nothing(step: Callable[[], None]) -> Callable[[], None]:
        """A capture: the step is taken once, and its outcome stays but for the ends of episodes."""
        step()

        def replay() -> None:
            env.outcome.terminated.copy_(next(ends))

        return replay

    recorder = Recorder(seeds, PLANNED_STEPS, (), device, actors=actors)
    steps = interact(agent, env, PLANNED_STEPS, recorder, actors=actors, capture=replays_nothing)
    for _ in range(LEARNING_STARTS + WARM_UP):
        next(steps)
    found = []
    for _ in range(chunks):
        began = time.thread_time(), time.process_time()
        for _ in range(CHUNK):
            next(steps)
        found.append((time.thread_time() - began[0], time.process_time() - began[1]))
    loop, both = (min(seconds) / CHUNK / seeds * 1e6 for seconds in zip(*found, strict=True))
    return loop, both


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=positive, default=5, help=f"of {CHUNK} steps")
    parser.add_argument("--actors", nargs="+", type=positive, default=[1], help="of a run")
    options = parser.parse_args()
    torch.set_num_threads(1)
    random.DRAWN_AHEAD = frozenset({"cpu"})  # as on a GPU
    for method in ("dqn", "qr-dqn", "ua-dqn"):
        for actors, (seeds, target) in product(options.actors, TARGETS.items()):
            loop, both = measure(method, seeds, actors, options.chunks)
            what = f"{method}, {seeds} lanes of {actors} {'actor' if actors == 1 else 'actors'}"
            print(
                f"{what}: {loop:.2f} µs a seed-update in the loop's thread (target ≤ {target:.1f})",
                f"{both:.2f} in all",
                sep=", ",
                flush=True,
            )


if __name__ == "__main__":
    main()
