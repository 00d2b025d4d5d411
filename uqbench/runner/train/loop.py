"""The interaction loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from torch import Tensor

from uqbench.agent import Agent, Step
from uqbench.environment import LaneEnv, Outcome
from uqbench.lanes import Capturable
from uqbench.runner.train.compiling import Capture, CapturedSteps
from uqbench.runner.train.guards import check_action, check_outcome, check_range
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
        check_action(agent, action, (len(obs),), t, "act")
        if action.device.type == "cpu":  # elsewhere this would wait for the device
            check_range(agent, action, env.n_actions, t)
        outcome = env.step(action)
        check_outcome(env, outcome, obs, t, recorder.events)
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
