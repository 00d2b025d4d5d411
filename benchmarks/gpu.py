"""How fast one GPU trains: updates of all seeds together per second, one update a step.

Needs CUDA. The games take turns within one process, a step each, on a stream each;
``--games breakout --seeds 50`` is one batch of fifty lanes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from measure import machine, positive
from ours import make_agent, minatar_lanes
from stepping import GAMES
from work import LEARNING_STARTS, PLANNED_STEPS, WARM_UP

from uqbench.runner.train.compiling import cuda_graphs
from uqbench.runner.train.loop import Position, interact
from uqbench.runner.train.recorder import Recorder

TARGETS = {"qr-dqn": 70_000, "ua-dqn": 26_000}
MOST_GIB = 16
CHUNK = 500  # steps between two looks at the clock


def advance(batches: list[tuple[torch.cuda.Stream, Iterator[Position]]], steps: int) -> float:
    """Advance every batch by so many steps; returns the clock, in seconds, when all are done."""
    for _ in range(steps):
        for stream, batch in batches:
            with torch.cuda.stream(stream):
                next(batch)
    torch.cuda.synchronize()
    return time.perf_counter()


def measure(options: argparse.Namespace) -> tuple[list[float], float]:
    """Seed-updates per second, minute by minute, and the most memory in GiB."""
    device = torch.device("cuda")
    batches = []
    for game in options.games:
        env = minatar_lanes(game, range(options.seeds), device)
        agent = make_agent(options.method, env, range(options.seeds), options.numerics, device)
        recorder = Recorder(options.seeds, PLANNED_STEPS, (), device)
        capture = cuda_graphs() if options.numerics == "compiled" else None
        steps = interact(agent, env, PLANNED_STEPS, recorder, capture=capture)
        batches.append((torch.cuda.Stream(), steps))
    lanes = len(batches) * options.seeds
    start = advance(batches, LEARNING_STARTS + WARM_UP + CHUNK)
    rates: list[float] = []
    while len(rates) < options.minutes:
        taken, now = 0, start
        while now - start < 60:
            now = advance(batches, CHUNK)
            taken += CHUNK
        rates.append(taken * lanes / (now - start))
        print(f"minute {len(rates)}: {rates[-1]:,.0f} seed-updates/s", file=sys.stderr, flush=True)
        start = now
    free, total = torch.cuda.mem_get_info(device)
    return rates, (total - free) / 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--method", choices=tuple(TARGETS), default="qr-dqn")
    parser.add_argument("--games", nargs="+", choices=GAMES, default=GAMES)
    parser.add_argument("--seeds", type=positive, default=10, help="lanes of each game")
    parser.add_argument("--minutes", type=positive, default=5)
    parser.add_argument("--numerics", choices=("eager", "compiled"), default="compiled")
    parser.add_argument("--json", type=Path, help="a file for all numbers and versions")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("error: this benchmark needs a CUDA device and a torch built for it; none found")
    rates, memory = measure(options)
    rate = sum(rates) / len(rates)
    name, target = torch.cuda.get_device_name(), TARGETS[options.method]
    print(f"{name}, {options.method}, {len(options.games)} games × {options.seeds} seeds:")
    print(f"{rate:,.0f} seed-updates/s over {len(rates)} minutes (target ≥ {target:,})")
    print(f"{memory:.1f} GiB in use on the device (target ≤ {MOST_GIB})")
    if options.json:
        found = {"device": name, "rates": rates, "memory_gib": memory, "machine": machine()}
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
