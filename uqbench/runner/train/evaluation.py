"""Episodes of an agent's policy in new environments, all lanes and episodes at once.

Everything is summed where the environment is. Whether an episode still runs is looked at in every
step on a CPU, and elsewhere, where a look waits for the device, in one of :data:`STRIDE`: what is
stepped once more has ended, and counts nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.contract.agent import Policy
from uqbench.contract.environment import LaneEnv
from uqbench.runner.train.compiling import Capture, replayed
from uqbench.runner.train.guards import GuardedLanes, chosen, copied, in_place
from uqbench.uncertainty.rollouts import steps_between_looks


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
    capture: Capture | None = None,
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
        capture: records a step for replay, of what can be captured; None plays from Python.
    """
    guarded = GuardedLanes(env, events, actors=episodes)
    first, first_valid = guarded.reset()
    obs, valid, device, shape = first.clone(), copied(first_valid), first.device, (lanes, episodes)
    weights = torch.tensor([discount**t for t in range(max_steps)], dtype=torch.float64).to(device)
    counts = torch.zeros(2 + len(events), lanes * episodes, dtype=torch.float64, device=device)
    lengths = torch.zeros(lanes * episodes, dtype=torch.int64, device=device)
    running = torch.ones_like(lengths, dtype=torch.bool)
    now, t = torch.zeros(1, dtype=torch.int64, device=device), 0

    def take() -> None:
        nonlocal valid
        masks = None if valid is None else valid.unflatten(0, shape)
        action = chosen(agent, obs.unflatten(0, shape), masks, env.n_actions, t)
        outcome = guarded.step(action.flatten(), t)
        reward = outcome.reward.double()
        occurred = [outcome.events[name].to(device).double() for name in events]
        counts.add_(torch.stack([reward, weights[now] * reward, *occurred]) * running)
        lengths.add_(running)
        running.logical_and_(~(outcome.terminated | outcome.truncated))
        now.add_(1)
        obs.copy_(outcome.obs)
        valid = in_place(valid, outcome.valid)

    advance = take if capture is None else replayed(take, capture)
    stride = steps_between_looks(device)
    for t in range(max_steps):
        advance()
        if (t + 1) % stride == 0 and not running.any():
            break
    return Evaluated(
        counts.cpu().unflatten(1, shape).numpy(),
        lengths.cpu().view(shape).numpy(),
        ~running.cpu().view(shape).numpy(),
    )
