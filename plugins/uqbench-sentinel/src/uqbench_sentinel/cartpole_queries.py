"""Where agents are asked about CartPole: 256 states of random policies."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.queries import QueryStates
from uqbench.contract.seeding import derive_seed
from uqbench.contract.truth import Climatology
from uqbench_sentinel.cartpole import CartPoleConfig

TRAJECTORIES, STEPS, PARTS = 64, 32, 4
CLIMATOLOGY = Climatology(mean=42.645, std=36.5819, return_std=37.1383)
"""With γ = 0.99 (``benchmarks/climatology.py cartpole paper lqr --rollouts 2 --tail 0.01``)."""
TILT = 2
"""Which of the four numbers of an observation it is."""
SHARES = (0.5, 0.3)
"""How often a policy pushes to the right: the second tilts the pole much faster."""


def query_states(_: CartPoleConfig) -> QueryStates:
    """Four states of each of 64 policies, half of either kind, within 32 steps.

    What happens after them is deterministic, but for the agent: two rollouts show that.
    """
    rng = np.random.default_rng(2022)
    shares = np.resize(SHARES, TRAJECTORIES)[:, None]
    actions = (rng.random((TRAJECTORIES, STEPS)) < shares).astype(int)
    places = [
        (i, int(((part + i) % PARTS + rng.random()) * STEPS / PARTS))
        for part in range(PARTS)
        for i in range(TRAJECTORIES)
    ]
    seeds = [derive_seed("query states", "cartpole", i) for i in range(TRAJECTORIES)]
    return QueryStates(tuple(seeds), tuple(map(tuple, actions.tolist())), tuple(places), fallen)


def fallen(obs: Tensor) -> Tensor:
    """Poles ``[*, 4]`` whose tilt is exchanged for the largest of their four numbers.

    They have the same norm; beyond 12°, where every episode has ended, but for the first few steps.
    """
    largest = obs.abs().argmax(-1, keepdim=True)
    tilt = torch.full_like(largest, TILT)
    return obs.scatter(-1, largest, obs.gather(-1, tilt)).scatter(-1, tilt, obs.gather(-1, largest))
