"""Episodes of an agent's policy in fresh environments, all lanes and episodes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.environment import LaneEnv


class Policy(Protocol):
    """Something that acts: an ``Agent``, for one."""

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[L, M]`` for observations ``[L, M, *obs]``."""


@dataclass(frozen=True)
class Evaluated:
    """Undiscounted returns, lengths, and whether the episode ended by itself; each ``[L, M]``."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    ended: NDArray[np.bool_]


def evaluate(agent: Policy, env: LaneEnv, lanes: int, episodes: int, max_steps: int) -> Evaluated:
    """Play one episode in each of ``lanes * episodes`` environments, lane by lane.

    Args:
        agent: acts by its ``policy``.
        env: fresh, with ``lanes * episodes`` lanes of its own.
        lanes: L, the agent's lanes.
        episodes: M, episodes a lane.
        max_steps: an episode that is longer counts with what it collected so far.
    """
    obs, valid = env.reset()
    shape = (lanes, episodes)
    returns = torch.zeros(lanes * episodes, dtype=torch.float64)
    lengths = torch.zeros(lanes * episodes, dtype=torch.int64)
    running = torch.ones(lanes * episodes, dtype=torch.bool)
    for _ in range(max_steps):
        masks = None if valid is None else valid.unflatten(0, shape)
        outcome = env.step(agent.policy(obs.unflatten(0, shape), masks).flatten())
        returns += outcome.reward.cpu() * running
        lengths += running
        running &= ~(outcome.terminated | outcome.truncated).cpu()
        if not running.any():
            break
        obs, valid = outcome.obs, outcome.valid
    return Evaluated(
        returns.view(shape).numpy(), lengths.view(shape).numpy(), ~running.view(shape).numpy()
    )
