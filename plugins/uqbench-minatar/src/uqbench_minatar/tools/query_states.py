"""Makes the query states of every game: ``python -m uqbench_minatar.tools.query_states FOLDER``.

Twelve trajectories are of the uniformly random policy, ten each of a planner that acts at random
with probability 0.3 and 0.02. The planner tries every action eight times in copies of the game,
goes on at random for twelve steps, and takes the action that collected most.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.queries import trajectory_table
from uqbench.contract.seeding import derive_seed
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes

EPSILONS = (1.0,) * 12 + (0.3,) * 10 + (0.02,) * 10
STEPS, PLACES = 150, 8
ROLLOUTS, HORIZON, LOSS = 8, 12, 1.0
"""Constants of the planner; ``LOSS`` is what the end of an episode costs."""


class Planner:
    """Flat Monte Carlo search in copies of a game's lanes."""

    def __init__(self, config: GameConfig, lanes: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._copies = lanes * N_ACTIONS * ROLLOUTS
        seeds = [derive_seed("planner", config.game, n) for n in range(self._copies)]
        self._env = MinAtarLanes(config, seeds)
        self._env.reset()

    def choose(self, env: MinAtarLanes) -> Tensor:
        """The action ``[L]`` that collects most."""
        number = torch.arange(self._copies)
        source = number // (N_ACTIONS * ROLLOUTS)
        self._env.copy_lanes(number, env, source, random_numbers=False)
        action = number // ROLLOUTS % N_ACTIONS
        collected = torch.zeros(self._copies)
        running = torch.ones(self._copies, dtype=torch.bool)
        for _ in range(HORIZON):
            out = self._env.step(action)
            collected += running * (out.reward - LOSS * out.terminated)
            running = running & ~out.terminated
            action = torch.from_numpy(self._rng.integers(N_ACTIONS, size=self._copies))
        return collected.view(-1, N_ACTIONS, ROLLOUTS).mean(-1).argmax(-1)


def trajectories(game: str) -> dict[str, object]:
    """The table of one game's file."""
    rng = np.random.default_rng(derive_seed("query states", game))
    config = GameConfig(game=game)
    seeds = [derive_seed("query states", game, i) for i in range(len(EPSILONS))]
    env, planner = MinAtarLanes(config, seeds), Planner(config, len(seeds), rng)
    env.reset()
    taken = []
    for _ in range(STEPS):
        planned = planner.choose(env).numpy()
        random = rng.integers(N_ACTIONS, size=len(seeds))
        taken.append(np.where(rng.random(len(seeds)) < EPSILONS, random, planned))
        env.step(torch.from_numpy(taken[-1]))
    return trajectory_table(seeds, np.stack(taken, 1), PLACES, rng)


def main() -> None:
    """Write every game's file into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for game in GAMES:
        text = json.dumps(trajectories(game), separators=(",", ":"))
        (folder / f"{game}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
