"""Measure the uniformly random policy on every game: the zero of the suite's normalized scores.

    python -m uqbench_minatar.tools.random_policy --steps 2000000 --seed 0

prints, per game, the mean return of an episode and the mean reward of a step, with their standard
errors (of the reward by batch means, since rewards of neighboring steps are correlated).
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes

BATCHES = 100


def measure(game: str, steps: int, seed: int) -> tuple[float, float, float, float]:
    """Mean return and its standard error, mean reward per step and its standard error."""
    env = MinAtarLanes(GameConfig(game=game), [seed])
    actions = torch.from_numpy(np.random.default_rng(seed).integers(N_ACTIONS, size=(steps, 1)))
    rewards = np.zeros(steps)
    returns = []
    collected = 0.0
    env.reset()
    for t, action in enumerate(actions):
        outcome = env.step(action)
        rewards[t] = outcome.reward[0]
        collected += rewards[t]
        if outcome.terminated[0]:
            returns.append(collected)
            collected = 0.0
    batches = rewards.reshape(BATCHES, -1).mean(1)
    return (
        float(np.mean(returns)),
        float(np.std(returns, ddof=1) / len(returns) ** 0.5),
        float(batches.mean()),
        float(batches.std(ddof=1) / BATCHES**0.5),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2_000_000, help=f"a multiple of {BATCHES}")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("game            return      se        reward/step  se")
    for game in GAMES:
        figures = measure(game, arguments.steps, arguments.seed)
        print("{:15} {:<11.5g} {:<9.2g} {:<12.6g} {:.2g}".format(game, *figures), flush=True)


if __name__ == "__main__":
    main()
