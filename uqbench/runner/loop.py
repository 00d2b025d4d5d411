"""The interaction loop."""

from __future__ import annotations

from collections.abc import Callable

from uqbench.agent import Agent, Step
from uqbench.environment import LaneEnv
from uqbench.runner.recorder import Recorder


def interact(
    agent: Agent,
    env: LaneEnv,
    steps: int,
    recorder: Recorder,
    after_step: Callable[[int], None],
) -> None:
    """Let an agent act and learn in all lanes for a number of steps.

    Args:
        agent: as many lanes as ``env``.
        env: where it acts.
        steps: environment steps of each lane.
        recorder: takes in every outcome.
        after_step: called with the number of steps taken, after each.
    """
    obs, valid = env.reset()
    for t in range(steps):
        action = agent.act(obs, valid)
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
        after_step(t + 1)
