"""How an environment's episodes end, and how they resume."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Literal

import torch

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import TimeLimit
from uqbench.errors import CannotSaveError
from uqbench.testing.conformance.agent_runs import through_a_file
from uqbench.testing.conformance.check import Failed, Skipped, check
from uqbench.testing.conformance.environment_runs import (
    LANES,
    EnvironmentSubject,
    go_on,
    no_difference,
    play,
)
from uqbench.testing.conformance.environments import FORMS, SOUND

LIMIT = 3
SHORT_AND_LONG = 10, 40
"""Steps of the runs that are resumed."""


@check(EnvironmentSubject, "environment-limit", after=FORMS)
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


@check(EnvironmentSubject, "environment-state", level="checkpointable", after=SOUND)
def state(subject: EnvironmentSubject) -> None:
    """state_dict() holds all that another copy needs to continue; nothing is pickled.

    Through a file, in the middle of a run.

    Fix:
        Episodes under way, random streams and lengths, as tensors, numbers, strings and bytes.
    """
    stop = 37
    env, played = subject.make(LANES, subject.limit), subject.random_play
    before = play(env, LANES, stop)
    try:
        saved = through_a_file(env.state_dict())
    except CannotSaveError as error:
        raise Skipped(f"its runs have no checkpoints: {error}") from error
    resumed = subject.make(LANES, subject.limit)
    resumed.load_state_dict(saved)
    now = before[-1][-1].obs, before[-1][-1].valid
    rest = go_on(resumed, LANES, now, stop, len(played))
    no_difference(rest, played[stop:], f"resumed at step {stop} and uninterrupted")


@check(
    EnvironmentSubject,
    "environment-resumption",
    level="checkpointable",
    after=(*SOUND, "environment-state"),
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


def _steps_to_resume(subject: EnvironmentSubject, steps: int) -> int:
    env, resumed = subject.make(LANES, subject.limit), subject.make(LANES, subject.limit)
    if isinstance(env, GymnasiumLanes) and not env.has_state_dict:
        raise Skipped("it does not say has_state_dict=True: its actions are replayed")
    play(env, LANES, steps)
    try:
        saved = through_a_file(env.state_dict())
    except CannotSaveError as error:
        raise Skipped(f"its runs have no checkpoints: {error}") from error
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
