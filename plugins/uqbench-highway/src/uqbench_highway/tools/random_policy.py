"""Measure the uniformly random policy on the suite's road: the zero of its normalized value.

    python -m uqbench_highway.tools.random_policy --episodes 50000 --seed 0

prints the mean discounted return, its CVaR 0.25, the mean length and the share of episodes with a
crash, each but the second with its standard error.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.contract.environment import TimeLimit
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.lanes import HighwayLanes

DISCOUNT = 0.99
LIMIT = TimeLimit(40, "terminal")


def measure(episodes: int, seed: int) -> NDArray[np.float64]:
    """Discounted return, length and crash ``[episodes, 3]``, one lane per episode."""
    env = HighwayLanes(HighwayConfig(), range(seed, seed + episodes), LIMIT)
    generator = torch.Generator().manual_seed(seed)
    found = torch.zeros(3, episodes, dtype=torch.float64)
    going = torch.ones(episodes, dtype=torch.bool)
    env.reset()
    for t in range(LIMIT.steps):
        outcome = env.step(torch.randint(N_ACTIONS, (episodes,), generator=generator))
        found[0] += going * DISCOUNT**t * outcome.reward
        found[1] += going
        found[2] += going * outcome.events["crashes"]
        going &= ~outcome.terminated
    return found.T.numpy()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = measure(arguments.episodes, arguments.seed)
    means, errors = found.mean(0), found.std(0, ddof=1) / len(found) ** 0.5
    worst = np.sort(found[:, 0])[: len(found) // 4].mean()
    print(f"discounted return  {means[0]:.4f} ({errors[0]:.4f})")
    print(f"its CVaR 0.25      {worst:.4f}")
    print(f"steps              {means[1]:.3f} ({errors[1]:.3f})")
    print(f"crashes            {means[2]:.4f} ({errors[2]:.4f})")


if __name__ == "__main__":
    main()
