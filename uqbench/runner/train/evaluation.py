"""Episodes of an agent's policy in new environments, all lanes and episodes at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.contract.agent import Policy
from uqbench.contract.environment import LaneEnv
from uqbench.runner.train.guards import GuardedLanes, chosen


@dataclass(frozen=True)
class Evaluated:
    """Results of the episodes.

    Attributes:
        counts: undiscounted and discounted returns, then how often each event occurred,
            ``[2 + events, L, M]``.
        lengths: in steps, ``[L, M]``.
        ended: whether the episode ended before ``max_steps``, ``[L, M]``.
    """

    counts: NDArray[np.float64]
    lengths: NDArray[np.int64]
    ended: NDArray[np.bool_]

    @property
    def returns(self) -> NDArray[np.float64]:
        """Undiscounted returns, ``[L, M]``."""
        returns: NDArray[np.float64] = self.counts[0]
        return returns


def evaluate(
    agent: Policy,
    env: LaneEnv,
    lanes: int,
    episodes: int,
    max_steps: int,
    discount: float = 1.0,
    events: Sequence[str] = (),
) -> Evaluated:
    """Play one episode in each of ``lanes * episodes`` environments, lane by lane.

    Args:
        agent: acts by its ``policy``.
        env: new, with ``lanes * episodes`` lanes of its own.
        lanes: L, the agent's lanes.
        episodes: M, episodes a lane.
        max_steps: a longer episode counts with what it collected so far.
        discount: γ of the discounted returns.
        events: names of the environment's event counters.
    """
    guarded = GuardedLanes(env, events, actors=episodes)
    obs, valid = guarded.reset()
    shape = (lanes, episodes)
    counts = torch.zeros(2 + len(events), lanes * episodes, dtype=torch.float64)
    lengths = torch.zeros(lanes * episodes, dtype=torch.int64)
    running = torch.ones(lanes * episodes, dtype=torch.bool)
    for t in range(max_steps):
        masks = None if valid is None else valid.unflatten(0, shape)
        action = chosen(agent, obs.unflatten(0, shape), masks, env.n_actions, t)
        outcome = guarded.step(action.flatten(), t)
        reward = outcome.reward.cpu().double()
        occurred = [outcome.events[name].cpu().double() for name in events]
        counts += torch.stack([reward, discount**t * reward, *occurred]) * running
        lengths += running
        running &= ~(outcome.terminated | outcome.truncated).cpu()
        if not running.any():
            break
        obs, valid = outcome.obs, outcome.valid
    return Evaluated(
        counts.unflatten(1, shape).numpy(),
        lengths.view(shape).numpy(),
        ~running.view(shape).numpy(),
    )
