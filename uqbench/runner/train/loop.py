"""The interaction loop.

An environment has a lane for each actor of each run, run by run, ``[L · K, …]``; agents see
``[L, K, …]``. What an agent is given is a copy: whatever it writes there, at once or later, reaches
neither what is recorded, nor the environment, nor what it is given next.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, overload

from torch import Tensor

from uqbench.contract.agent import Agent, Step
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.lanes import Capturable
from uqbench.runner.train.compiling import Capture, CapturedSteps
from uqbench.runner.train.guards import GuardedLanes, check_action, check_range, copied, in_place
from uqbench.runner.train.recorder import Recorder

TOLD = ("reward", "terminated", "truncated", "next_obs", "next_valid", "obs", "valid")
"""The parts of an outcome that an agent is told, in the order of a ``Step``, and acts on next."""


class Position(NamedTuple):
    """Between two steps: how many were taken, and what to act on next.

    Attributes:
        step: steps of each run, of all its actors.
        obs: ``[L, K, *obs]``.
        valid: ``[L, K, A]`` bool, valid actions in ``obs``; None where all are.
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
    actors: int = 1,
) -> Iterator[Position]:
    """Let an agent act and learn in all lanes; yield after every vector step.

    Args:
        agent: L lanes, with ``actors`` each.
        env: where it acts, L · K lanes.
        steps: environment steps of each run, a multiple of K.
        recorder: takes in every outcome.
        start: where to resume, the other arguments being in the state of that moment; None resets
            ``env``.
        capture: records steps for replay, for an agent with phases and a clock; None runs every
            step from Python.
        actors: K.

    Yields:
        The position after each vector step; its tensors are overwritten by the next.
    """
    guarded = GuardedLanes(env, recorder.events, actors)
    if start is None:
        start = Position(0, *reset_by_actor(guarded, actors))
    first, begun, begun_valid = start
    # the loop's own: an environment may overwrite what it returned, an agent what it is given
    obs, valid = begun.clone(), copied(begun_valid)
    latest: Outcome | None = None  # which most environments return again and again: its views last
    views: list[Any] = []
    t = first

    def take() -> Outcome:
        nonlocal valid, latest, views
        action = agent.act(obs.clone(), copied(valid))
        check_action(agent, action, tuple(obs.shape[:2]), t, "act")
        if action.device.type == "cpu":  # elsewhere this would wait for the device
            check_range(agent, action, env.n_actions, t, valid)
        outcome = guarded.step(action.flatten().clone(), t)
        if outcome is not latest:
            latest, views = outcome, [by_actor(getattr(outcome, name), actors) for name in TOLD]
        *told, following, following_valid = views
        agent.observe(Step(obs.clone(), action, *[copied(values) for values in told]))
        in_place(obs, following)
        valid = in_place(valid, following_valid)
        return outcome

    advance: Callable[[], Outcome] = take
    if capture is not None:
        assert isinstance(agent, Capturable)
        advance = CapturedSteps(take, agent, capture)
    for t in range(first, steps, actors):
        outcome = advance()
        recorder.step(outcome)
        guarded.look(outcome, t)
        yield Position(t + actors, obs, valid)


@overload
def by_actor(values: Tensor, actors: int) -> Tensor: ...


@overload
def by_actor(values: None, actors: int) -> None: ...


def by_actor(values: Tensor | None, actors: int) -> Tensor | None:
    """An environment's ``[L · K, …]`` as ``[L, K, …]``, a view."""
    return None if values is None else values.unflatten(0, (-1, actors))


def reset_by_actor(env: LaneEnv | GuardedLanes, actors: int) -> tuple[Tensor, Tensor | None]:
    """The first observations ``[L, K, *obs]`` of an environment, and the valid actions."""
    obs, valid = env.reset()
    return by_actor(obs, actors), by_actor(valid, actors)
