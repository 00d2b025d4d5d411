"""Makes the tables of offline play: ``python -m uqbench_minatar.tools.offline_truth FOLDER``.

In each of 24 states, reached by the policies after 20 to 200 steps, every action is tried and then
every policy played, 400 times for 100 steps, after which a reward counts 3e-5 at γ = .9. Rollout r
of all states, actions and policies has the same random numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.seeding import derive_seed
from uqbench_minatar.config import N_ACTIONS
from uqbench_minatar.lanes import MinAtarLanes
from uqbench_minatar.offline.lanes import game_config
from uqbench_minatar.offline.policies import DISCOUNT, POLICIES, scripted, taken

STATES, STEPS, HORIZON = 24, (20, 200), 100
GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")


def reached(game: str) -> MinAtarLanes:
    """The states, as lanes that stand there; each has waited for its own step."""
    seeds = [derive_seed("offline states", game, i) for i in range(STATES)]
    rng = np.random.default_rng(derive_seed("offline states", game))
    playing, kept = (MinAtarLanes(game_config(game), seeds) for _ in range(2))
    playing.reset()
    kept.reset()
    policy, at = torch.arange(STATES) % POLICIES, torch.from_numpy(rng.integers(*STEPS, STATES))
    for t in range(STEPS[1]):
        explores, which = torch.from_numpy(rng.random((2, STATES)))
        action = taken(scripted(game, playing.outcome.obs), policy, explores, which)
        playing.step(action)
        (there,) = (at == t).nonzero(as_tuple=True)
        kept.copy_lanes(there, playing, there, random_numbers=True)
    return kept


def returns(states: MinAtarLanes, game: str, rollouts: int, stream: str = "table") -> Tensor:
    """Discounted returns from these random numbers, ``[S, K, A, R]`` float64."""
    copies = STATES * N_ACTIONS * rollouts
    number = torch.arange(copies)
    first, rollout = number // rollouts % N_ACTIONS, number % rollouts
    seeds = [derive_seed("offline rollout", game, stream, r) for r in range(rollouts)]
    found = []
    for policy in range(POLICIES):
        env = MinAtarLanes(game_config(game), [seeds[r] for r in rollout.tolist()])
        env.reset()
        env.copy_lanes(number, states, number // (N_ACTIONS * rollouts), random_numbers=False)
        rng = np.random.default_rng(derive_seed("offline policies", game, stream))
        total, running = torch.zeros(copies, dtype=torch.float64), torch.ones(copies)
        action, who = first, torch.full((copies,), policy)
        for t in range(HORIZON):
            out = env.step(action)
            total += DISCOUNT**t * running * out.reward
            running = running * ~out.terminated
            explores, which = torch.from_numpy(rng.random((2, rollouts)))[:, rollout]
            action = taken(scripted(game, out.obs), who, explores, which)
        found.append(total.view(STATES, N_ACTIONS, rollouts))
    return torch.stack(found, 1)


def main() -> None:
    """Write the games' tables into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rollouts", type=int, default=400)
    parser.add_argument("--games", nargs="+", choices=GAMES, default=GAMES)
    chosen = parser.parse_args()
    for game in chosen.games:
        states = reached(game)
        sampled = returns(states, game, chosen.rollouts)
        q, var = sampled.mean(-1), sampled.var(-1)
        numbers = {"q": q, "q_var": var / chosen.rollouts, "return_var": var}
        arrays = {name: x.numpy().astype(np.float32) for name, x in numbers.items()}
        frames = states.outcome.obs.numpy()
        np.savez_compressed(chosen.folder / f"{game}.npz", frames=frames, **arrays)


if __name__ == "__main__":
    main()
