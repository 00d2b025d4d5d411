"""What an environment returns: forms, seeds, lanes, events and masks."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from gymnasium.utils.env_checker import check_env
from torch.utils._pytree import tree_map

from uqbench.environment import LaneEnv, Outcome
from uqbench.registry.side_effects import watched
from uqbench.testing.conformance.check import Failed, Skipped, check
from uqbench.testing.conformance.environment_runs import (
    LANES,
    STEPS,
    EnvironmentSubject,
    check_forms,
    no_difference,
    play,
    played_singly,
)


@check(EnvironmentSubject, "environment-gymnasium")
def gymnasium_check(subject: EnvironmentSubject) -> None:
    """A Gymnasium environment passes Gymnasium's own check_env.

    Without rendering.

    Fix:
        Follow the message of gymnasium.utils.env_checker.check_env.
    """
    if subject.single is None:
        raise Skipped("it is written for lanes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice, such as on spaces without bounds
        try:
            check_env(subject.single(), skip_render_check=True)
        except Exception as error:
            raise Failed(f"{type(error).__name__}: {error}") from error


@check(EnvironmentSubject, "environment-forms", after=("environment-gymnasium",))
def forms(subject: EnvironmentSubject) -> None:
    """Observations are of the space, rewards finite float32 [L], ends bool [L].

    Shapes and dtypes for one lane and three.

    Fix:
        Return one value a lane; obs and next_obs of the observation space's shape and dtype.
    """
    for seeds in ([1], [1, 2, 3]):
        env = subject.make(seeds, subject.limit)
        if not isinstance(env, LaneEnv):
            raise Failed(f"the factory made a {type(env).__name__}, not a LaneEnv")
        for met in play(env, seeds, 20):
            check_forms(env, met)


@check(EnvironmentSubject, "environment-global-state", after=("environment-forms",))
def global_state(subject: EnvironmentSubject) -> None:
    """An environment leaves global random states, threads and default dtypes alone.

    Nothing global changes during a run.

    Fix:
        Draw from self.np_random, or from generators made of the lanes' seeds.
    """
    changed: list[str] = []
    with watched(changed):
        subject.memory["played"] = subject.played(LANES)  # not what another check met before
    if changed:
        raise Failed(f"a run changed {', '.join(changed)}")


@check(EnvironmentSubject, "environment-seeds", after=("environment-global-state",))
def seeds(subject: EnvironmentSubject) -> None:
    """The same seeds and actions make the same run.

    Twice.

    Fix:
        reset(seed=…) sets everything; draw from self.np_random alone.
    """
    no_difference(subject.played(LANES), subject.random_play, "two runs of the same seeds")


@check(EnvironmentSubject, "environment-lanes", after=("environment-seeds",))
def lanes(subject: EnvironmentSubject) -> None:
    """A lane does the same alone, among others and in any order, bit for bit.

    Lane 1 of three.

    Fix:
        Derive a lane's random numbers from its own seed, and mix nothing between lanes.
    """
    among = [
        (_lane(obs), _lane(valid), _lane(action), Outcome(**tree_map(_lane, vars(outcome))))
        for obs, valid, action, outcome in subject.random_play
    ]
    no_difference(subject.played(LANES[1:2]), among, "alone and among others")


@check(EnvironmentSubject, "environment-events", after=("environment-forms",))
def events(subject: EnvironmentSubject) -> None:
    """Events are those that the plugin declares, each counted with a finite number >= 0.

    Through the lanes, and in the info of a single environment.

    Fix:
        Name every event in EnvironmentSpec(events=…); info['events'] holds counts of this step.
    """
    for *_, outcome in subject.random_play:
        if set(outcome.events) != set(subject.events):
            raise Failed(f"it counts {sorted(outcome.events)}; declared: {sorted(subject.events)}")
        for name, count in outcome.events.items():
            if not count.isfinite().all() or (count < 0).any():
                raise Failed(f"the event {name!r} was counted {count.tolist()} times")
    if subject.single is None:
        return
    for *_, info in played_singly(subject.single(), 1, STEPS):
        unknown = set(info.get("events", {})) - set(subject.events)
        if unknown:
            raise Failed(f"info['events'] has {sorted(unknown)}; declared: {subject.events}")


@check(EnvironmentSubject, "environment-masks", after=("environment-forms",))
def masks(subject: EnvironmentSubject) -> None:
    """Masks are bool [L, A], always or never there, and leave at least one action.

    At every step.

    Fix:
        Give info['action_mask'] (or Outcome.valid and next_valid) at every step, or at none.
    """
    env = subject.make(LANES, subject.limit)
    shape = (len(LANES), env.n_actions)
    played = subject.random_play
    if len({valid is None for _, valid, *_ in played}) > 1:
        raise Failed("there is a mask at some steps and none at others")
    for _, valid, *_ in played:
        if valid is None:
            raise Skipped("all its actions are always valid")
        if valid.dtype != torch.bool or tuple(valid.shape) != shape:
            raise Failed(f"a mask is {valid.dtype} {tuple(valid.shape)}; expected bool {shape}")
        if not valid.any(-1).all():
            raise Failed("a mask leaves no action")


def _lane(tensor: Any) -> Any:
    return None if tensor is None else tensor[1:2]
