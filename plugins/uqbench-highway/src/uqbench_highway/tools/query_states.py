"""Makes the query states: ``python -m uqbench_highway.tools.query_states FILE``.

Twelve trajectories are of the uniformly random policy, ten each of the planner that acts at random
with probability 0.3 and 0.02.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from uqbench.contract.agent import EnvironmentInfo
from uqbench.contract.environment import TimeLimit
from uqbench.contract.queries import trajectory_table
from uqbench.contract.seeding import derive_seed
from uqbench_highway.agents.config import PlannerConfig
from uqbench_highway.agents.planner import Planner
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.lanes import HighwayLanes

EPSILONS = (1.0,) * 12 + (0.3,) * 10 + (0.02,) * 10
STEPS, PLACES = 48, 8
LIMIT = TimeLimit(40, "terminal")


def trajectories() -> dict[str, object]:
    """The file's table."""
    rng = np.random.default_rng(derive_seed("query states", "highway"))
    seeds = [derive_seed("query states", "highway", i) for i in range(len(EPSILONS))]
    env = HighwayLanes(HighwayConfig(), seeds, LIMIT)
    info = EnvironmentInfo(env.observation_space, N_ACTIONS, discount=0.99, total_steps=STEPS)
    planner = Planner(info, seeds, PlannerConfig(), torch.device("cpu"))
    obs, _ = env.reset()
    taken = []
    for _ in range(STEPS):
        planned = planner.policy(obs[None])[0].numpy()
        random = rng.integers(N_ACTIONS, size=len(seeds))
        taken.append(np.where(rng.random(len(seeds)) < EPSILONS, random, planned))
        obs = env.step(torch.from_numpy(taken[-1])).obs
    return trajectory_table(seeds, np.stack(taken, 1), PLACES, rng)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    file.write_text(json.dumps(trajectories(), separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
