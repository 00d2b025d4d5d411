"""The interaction loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from uqbench.agent import Agent, Step
from uqbench.environment import LaneEnv, Outcome
from uqbench.errors import UqbenchError
from uqbench.lanes import Capturable
from uqbench.runner.train.compiling import Capture, CapturedSteps
from uqbench.runner.train.recorder import Recorder


class Position(NamedTuple):
    """Between two steps: how many were taken, and what to act on next.

    Attributes:
        step: steps taken.
        obs: ``[L, *obs]``.
        valid: ``[L, A]`` bool, valid actions in ``obs``; None where all are.
    """

    step: int
    obs: Tensor
    valid: Tensor | None


def interact(
    agent: Agent,
    env: LaneEnv,
    steps: int,
    recorder: Recorder,
    start: Position | None = None,
    capture: Capture | None = None,
) -> Iterator[Position]:
    """Let an agent act and learn in all lanes; yield after every step.

    Args:
        agent: as many lanes as ``env``.
        env: where it acts.
        steps: environment steps of each lane.
        recorder: takes in every outcome.
        start: where to resume, the other arguments being in the state of that moment; None resets
            ``env``.
        capture: records steps for replay, for an agent with phases and a clock; None runs every
            step from Python.

    Yields:
        The position after each step; its tensors are overwritten by the next.
    """
    first, begun, begun_valid = Position(0, *env.reset()) if start is None else start
    # copies: an environment may overwrite what it returned
    obs, valid = begun.clone(), _kept(None, begun_valid)
    t = first

    def take() -> Outcome:
        nonlocal valid
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
            )
        )
        obs.copy_(outcome.obs)
        valid = _kept(valid, outcome.valid)
        return outcome

    advance: Callable[[], Outcome] = take
    if capture is not None:
        assert isinstance(agent, Capturable)
        advance = CapturedSteps(take, agent, capture)
    for t in range(first, steps):
        recorder.step(advance())
        yield Position(t + 1, obs, valid)


def _kept(buffer: Tensor | None, valid: Tensor | None) -> Tensor | None:
    """The valid actions, in the buffer where there is one."""
    if buffer is None or valid is None:
        return None if valid is None else valid.clone()
    return buffer.copy_(valid)


def _check_form(action: Tensor, lanes: int) -> None:
    """Refuse actions of another shape or dtype; the environment checks their values."""
    if action.shape != (lanes,) or action.dtype != torch.int64:
        raise UqbenchError(
            f"the agent's act returned {action.dtype} of shape {tuple(action.shape)}; expected "
            f"torch.int64 of shape ({lanes},), an action for each lane"
        )
