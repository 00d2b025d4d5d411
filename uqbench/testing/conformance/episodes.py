"""How an environment's episodes end, and how they resume."""

import sys
from types import FrameType
from typing import Any, Literal

import gymnasium
import numpy as np
import torch
from torch import Tensor

from uqbench.contract.environment import LaneEnv, TimeLimit
from uqbench.contract.errors import CannotSaveError
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.testing.conformance.agent_runs import same, through_a_file
from uqbench.testing.conformance.check import Failed, Skipped, check
from uqbench.testing.conformance.environments import (
    LANES,
    STEPS,
    EnvironmentSubject,
    check_forms,
    go_on,
    no_difference,
    play,
    played_singly,
)

LIMIT = 3
SEED, USED, LONG = 11, 1_000, 5_000
SHORT_AND_LONG = 10, 40
"""Steps of the runs that are resumed."""


@check(EnvironmentSubject, "environment-limit", after=("environment-forms",))
def limit(subject: EnvironmentSubject) -> None:
    """Lanes end at the time limit: as terminal, or as a truncation, as the task says.

    Episodes of three steps, both ways.

    Fix:
        Count steps per lane; at TimeLimit.steps set terminated or truncated by TimeLimit.kind.
    """
    kinds: tuple[Literal["terminal", "truncation"], ...] = ("terminal", "truncation")
    for kind in kinds:
        env = subject.make(LANES, TimeLimit(LIMIT, kind))
        length = torch.zeros(len(LANES), dtype=torch.int64)
        for *_, outcome in play(env, LANES, 4 * LIMIT):
            length += 1
            ended = outcome.terminated | outcome.truncated
            due = length >= LIMIT
            if (due & ~ended).any():
                raise Failed(f"an episode went on after {LIMIT} steps, its limit ({kind})")
            if kind == "terminal" and (due & ~outcome.terminated).any():
                raise Failed("an episode at its limit was truncated; the task says terminal")
            if kind == "truncation" and (due & outcome.terminated & outcome.truncated).any():
                raise Failed("an episode both terminated and was truncated")
            early = ended & ~due
            if kind == "truncation" and (early & outcome.truncated).any():
                raise Failed("an episode was truncated before its limit")
            length[ended] = 0
        if kind == "truncation":
            _truncates(subject)


def _truncates(subject: EnvironmentSubject) -> None:
    """At a limit of one step, not every ending is terminal unless it is without a limit, too."""
    free = play(subject.make(LANES, None), LANES, 1)[0][-1]
    cut = play(subject.make(LANES, TimeLimit(1, "truncation")), LANES, 1)[0][-1]
    if (cut.terminated & ~free.terminated).any():
        raise Failed("an episode at its limit terminated; the task says truncation")


@check(EnvironmentSubject, "environment-long", after=("environment-seeds",))
def long(subject: EnvironmentSubject) -> None:
    """In 5,000 steps, too, observations are of the space, and an end has a reason that is seen.

    Random play without the task's time limit. Where the same step sometimes terminates, always
    after so many steps, and no episode is longer, a time limit is reported as terminal.

    Fix:
        Bound what grows with time; report a limit of your own as truncated, or let the task set
        `time_limit`, or show the time that is left in the observation.
    """
    env, length, longest = subject.make([SEED], None), 0, 0
    went_on, ended = set[int](), dict[int, int]()
    for met in go_on(env, [SEED], env.reset(), 0, LONG):
        check_forms(env, met)
        obs, _, action, outcome = met
        length += 1
        key = hash((*map(_bytes, (obs, action, outcome.next_obs)), float(outcome.reward)))
        if outcome.terminated:
            ended[key] = length
        elif not outcome.truncated:
            went_on.add(key)
        longest = max(length, longest)
        length = 0 if outcome.terminated or outcome.truncated else length
    unseen = [length for key, length in ended.items() if key in went_on]
    if unseen and set(unseen) == {longest}:
        raise Failed(
            f"episodes terminate after {longest} steps, and none is longer; the same steps go on "
            f"at other times: this is a time limit, reported as terminal"
        )


@check(EnvironmentSubject, "environment-reset", after=("environment-seeds",))
def reset(subject: EnvironmentSubject) -> None:
    """After `reset(seed=…)` a used environment does as a new one; without a seed it goes on.

    After 1,000 steps of random play, of a single Gymnasium environment.

    Fix:
        Set everything that a step changes in reset, not in the constructor; seed the generator
        with `super().reset(seed=seed)`, which does nothing where that is None.
    """
    if subject.single is None:
        raise Skipped("it is written for lanes, which are reset once")
    used, new = subject.single(), subject.single()
    for _ in played_singly(used, SEED, USED):
        pass
    both = (played_singly(env, SEED, STEPS) for env in (used, new))
    for t, (mine, theirs) in enumerate(zip(*both, strict=True)):
        if not same(list(mine[:-1]), list(theirs[:-1])):
            raise Failed(f"reset with a seed after {USED} steps, it differs at step {t}")
    states = []
    for _ in range(2):
        before = _generator(used)
        _, info = used.reset()
        states.append(_generator(used))
        used.step(int(info.get("action_mask", np.ones(1)).argmax()))
    if states[0] == states[1] != before:
        raise Failed("reset without a seed begins its random numbers anew")


def _generator(env: gymnasium.Env[Any, Any]) -> Any:
    return env.unwrapped.np_random.bit_generator.state


def _bytes(tensor: Tensor) -> bytes:
    data: bytes = tensor.cpu().numpy().tobytes()
    return data


@check(
    EnvironmentSubject, "environment-state", level="checkpointable", after=("environment-seeds",)
)
def state(subject: EnvironmentSubject) -> None:
    """state_dict() holds all that another copy needs to continue; nothing is pickled.

    Through a file, in the middle of a run.

    Fix:
        Episodes under way, random streams and lengths, as tensors, numbers, strings and bytes.
    """
    stop = 37
    env, played = subject.make(LANES, subject.limit), subject.random_play
    before = play(env, LANES, stop)
    saved = _saved(env)
    resumed = subject.make(LANES, subject.limit)
    resumed.load_state_dict(saved)
    now = before[-1][-1].obs, before[-1][-1].valid
    rest = list(go_on(resumed, LANES, now, stop, len(played)))
    no_difference(rest, played[stop:], f"resumed at step {stop} and uninterrupted")


@check(
    EnvironmentSubject,
    "environment-resumption",
    level="checkpointable",
    after=("environment-state",),
)
def resumption(subject: EnvironmentSubject) -> None:
    """One that can be saved resumes in a number of steps that does not grow with its run.

    Calls of any ``step`` while a short and a long run are restored.

    Fix:
        load_state_dict() sets the state; it does not replay the actions that led there.
    """
    few, many = (_steps_to_resume(subject, steps) for steps in SHORT_AND_LONG)
    if many > few:
        short, long = SHORT_AND_LONG
        raise Failed(
            f"load_state_dict() called step {few} times after {short} steps, {many} after {long}"
        )


def _saved(env: LaneEnv) -> dict[str, Any]:
    try:
        return through_a_file(env.state_dict())
    except CannotSaveError as error:
        raise Skipped(f"its runs have no checkpoints: {error}") from error


def _steps_to_resume(subject: EnvironmentSubject, steps: int) -> int:
    env, resumed = subject.make(LANES, subject.limit), subject.make(LANES, subject.limit)
    if isinstance(env, GymnasiumLanes) and not env.has_state_dict:
        raise Skipped("it does not say has_state_dict=True: its actions are replayed")
    play(env, LANES, steps)
    saved = _saved(env)
    called = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal called
        called += event == "call" and frame.f_code.co_name == "step"

    before = sys.getprofile()
    sys.setprofile(count)  # wherever a step is called: by the lanes or by what they hold
    try:
        resumed.load_state_dict(saved)
    finally:
        sys.setprofile(before)
    return called
