"""The interaction loop."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from uqbench.agent import Agent, Step
from uqbench.environment import LaneEnv
from uqbench.errors import UqbenchError
from uqbench.runner.recorder import Recorder


def interact(
    agent: Agent, env: LaneEnv, steps: int, recorder: Recorder
) -> Iterator[tuple[int, Tensor]]:
    """Let an agent act and learn in all lanes; yield after every step.

    Args:
        agent: as many lanes as ``env``.
        env: where it acts.
        steps: environment steps of each lane.
        recorder: takes in every outcome.

    Yields:
        The number of steps taken, and the observations ``[L, *obs]`` to act on next.
    """
    obs, valid = env.reset()
    for t in range(steps):
        action = agent.act(obs, valid)
        _check_form(action, lanes=len(obs))
        outcome = env.step(action)
        agent.observe(
            Step(
                t=t,
                obs=obs,
                action=action,
                reward=outcome.reward,
                terminated=outcome.terminated,
                truncated=outcome.truncated,
                next_obs=outcome.next_obs,
                valid_actions=outcome.next_valid,
                events=outcome.events,
            )
        )
        recorder.step(outcome)
        obs, valid = outcome.obs, outcome.valid
        yield t + 1, obs


def _check_form(action: Tensor, lanes: int) -> None:
    """Refuse actions of another shape or dtype; the environment checks their values."""
    if action.shape != (lanes,) or action.dtype != torch.int64:
        raise UqbenchError(
            f"the agent's act returned {action.dtype} of shape {tuple(action.shape)}; expected "
            f"torch.int64 of shape ({lanes},), an action for each lane"
        )
