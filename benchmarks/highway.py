"""How fast highway-v0 steps on one core: observations, random actions, new episodes included.

Five lanes, ten other vehicles, fifteen frames of the physics a step, actions drawn beforehand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from measure import Contestant, Ratio, arguments, positive, report, seconds, take_turns

from uqbench.runner.executors.local import ENVIRONMENT

ACTIONS = 5
BLOCK = 20  # steps between two looks at the clock


def timed(block: Callable[[], None], steps: int, options: argparse.Namespace) -> float:
    """Steps per second of a block of them, after one that warms up."""
    block()
    began, blocks = seconds(), 0
    while seconds() - began < options.seconds or blocks == 0:
        block()
        blocks += 1
    return blocks * steps / (seconds() - began)


def package(options: argparse.Namespace, turn: int) -> float:
    """highway-env, one environment: ``step``, and ``reset`` where an episode ended."""
    import gymnasium
    import highway_env  # noqa: F401 (registers its environments)
    import numpy as np

    config = {"lanes_count": 5, "vehicles_count": 10}
    env = gymnasium.make("highway-v0", config=config).unwrapped
    env.reset(seed=turn)
    actions = np.random.default_rng(turn).integers(ACTIONS, size=BLOCK).tolist()

    def block() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return timed(block, BLOCK, options)


def uqbench(options: argparse.Namespace, turn: int, *, lanes: int) -> float:
    """Our lanes, a call a step, as the runner makes it."""
    import torch
    from uqbench_highway.config import HighwayConfig
    from uqbench_highway.environment import make

    from uqbench.contract.environment import TimeLimit

    torch.set_num_threads(1)
    seeds = range(turn * lanes, (turn + 1) * lanes)
    env = make(HighwayConfig(), seeds, TimeLimit(40, "truncation"), torch.device("cpu"))
    env.reset()
    generator = torch.Generator().manual_seed(turn)
    actions = torch.randint(ACTIONS, (BLOCK, lanes), generator=generator).unbind()

    def block() -> None:
        for action in actions:
            env.step(action)

    return timed(block, BLOCK * lanes, options)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seconds", type=float, default=3.0, help="time of each measurement")
    parser.add_argument("--lanes", nargs="+", type=positive, default=(64,))
    options = parser.parse_args()
    theirs = "highway-env"
    contestants = {theirs: Contestant(package)}
    ratios = []
    for lanes in options.lanes:
        own = f"uqbench, {lanes} {'lane' if lanes == 1 else 'lanes'}"
        contestants[own] = Contestant(partial(uqbench, lanes=lanes), ENVIRONMENT)
        at_least = 100 if lanes == 64 else None
        ratios.append(Ratio(f"{own} ÷ {theirs}", own, [theirs], at_least=at_least))
    report(options, take_turns(options, contestants), ratios)


if __name__ == "__main__":
    main()
