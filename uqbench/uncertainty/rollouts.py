"""Returns of an agent's evaluated policy from given states, by rollouts in copies of them.

Shapes: ``L`` lanes of the agent, ``M`` states, ``A`` actions, ``R`` rollouts.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import Policy
from uqbench.contract.environment import LaneEnv

SLAB, GPU_SLAB = 64, 1_024
"""Observations of a lane that the policy is asked about at once: always as many, so that a lane's
actions have the same bits whatever the others' rollouts do. A GPU is busy with more."""

STRIDE = 64
"""Steps between two looks at what still runs, where a look waits for the device."""

Make = Callable[[Sequence[int]], LaneEnv]
"""Makes an environment with one lane a seed."""


def steps_between_looks(device: torch.device) -> int:
    """The number of steps from one look at what still runs to the next."""
    return 1 if device.type == "cpu" else STRIDE


def rollout_returns(
    agent: Policy,
    states: LaneEnv,
    place: Tensor,
    make: Make,
    seeds: Sequence[Sequence[int]],
    discount: float,
    tail: float,
) -> Tensor:
    """Discounted returns ``[L, M, A, R]`` float64 of each action, and then the policy's.

    A rollout goes on until its episode ends or ``γ^t < tail``. Lanes of rollouts that are over are
    dropped as soon as half of them are, which is looked at in every step on a CPU, and elsewhere in
    one of :data:`STRIDE`. All actions must be available everywhere.

    Args:
        agent: acts by its ``policy``.
        states: an environment that stands in the states.
        place: its lanes that stand in those of each lane of the agent, ``[L, M]``.
        make: makes the same environment with other lanes.
        seeds: of every rollout, ``[L, M · A · R]``.
        discount: γ.
        tail: what a reward counts that is not waited for.

    Raises:
        CannotSaveError: the environment's lanes cannot be copied.
    """
    lanes, total, actions, count = len(seeds), len(seeds[0]), states.n_actions, place.shape[1]
    each = total // (count * actions)
    env = make([seed for lane in seeds for seed in lane])
    obs, _ = env.reset()
    device = obs.device
    slab, stride = SLAB if device.type == "cpu" else GPU_SLAB, steps_between_looks(device)
    number = torch.arange(total, device=device)
    state, action = number // (actions * each), number // each % actions
    into = torch.arange(lanes * total, device=device)
    env.copy_lanes(into, states, place.to(device)[:, state].flatten(), random_numbers=False)
    action = action.expand(lanes, -1)
    own = number.expand(lanes, -1)  # [L, n]: which rollout a lane of the environment is
    running = torch.ones_like(own, dtype=torch.bool)
    returns = torch.zeros(lanes, total, dtype=torch.float64, device=device)
    t = 0
    while True:
        outcome = env.step(action.flatten())
        reward = outcome.reward.double().unflatten(0, own.shape)
        returns.scatter_add_(1, own, discount**t * reward * running)
        running = running & ~(outcome.terminated | outcome.truncated).unflatten(0, own.shape)
        t += 1
        look = t % stride == 0
        most = int(running.sum(1).max()) if look else own.shape[1]
        if most == 0 or discount**t < tail:
            grouped: Tensor = returns.unflatten(1, (count, actions, each))
            return grouped
        obs = outcome.obs.unflatten(0, own.shape)
        order = (~running).to(torch.uint8).argsort(dim=1, stable=True)  # those that run come first
        width = -(-most // slab) * slab
        if 2 * width <= own.shape[1]:
            kept = order[:, :width]
            smaller = make([0] * kept.numel())
            at = kept + own.shape[1] * torch.arange(lanes, device=device)[:, None]
            into = torch.arange(kept.numel(), device=device)
            smaller.copy_lanes(into, env, at.flatten(), random_numbers=True)
            env, obs = smaller, _rows(obs, kept)
            own, running = own.gather(1, kept), running.gather(1, kept)
            order = torch.arange(width, device=device).expand(lanes, -1)
        action = _actions(agent, obs, order, most, slab)


def _actions(agent: Policy, obs: Tensor, order: Tensor, most: int, slab: int) -> Tensor:
    """The policy's actions ``[L, n]`` in the first ``most`` of each lane's ``order`` ``[L, n]``."""
    action = torch.zeros_like(order)
    for first in range(0, most, slab):
        chosen = order[:, first : first + slab]
        missing = slab - chosen.shape[1]
        filled = torch.cat([chosen, chosen[:, :1].expand(-1, missing)], 1)
        picked = agent.policy(_rows(obs, filled))
        action.scatter_(1, chosen, picked[:, : chosen.shape[1]])
    return action


def _rows(obs: Tensor, columns: Tensor) -> Tensor:
    """``[L, k, *obs]``: of each lane of ``[L, n, *obs]`` the rows ``columns`` ``[L, k]``."""
    return obs[torch.arange(len(obs), device=obs.device)[:, None], columns]
