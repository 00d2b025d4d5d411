"""Rules of every environment, but for the truths that it states."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import gymnasium
import numpy as np
import torch
from gymnasium.utils.env_checker import check_env
from torch import Tensor
from torch.utils._pytree import tree_map_only

from uqbench.contract.environment import LaneEnv, OptimalQ, Outcome, TimeLimit
from uqbench.contract.errors import CannotSaveError
from uqbench.lanes import Uniform
from uqbench.lanes.random import random_action
from uqbench.runner.train.guards import GuardedLanes, copied
from uqbench_testing.conformance.agent_runs import copy_of, through_a_file
from uqbench_testing.conformance.check import Failed, Subject, applies, check, expect, unchanged
from uqbench_testing.same_bits import difference, same

STEPS = 100
LANES = (3, 8, 5)
LIMIT = 3
SEED, USED, LONG = 11, 1_000, 5_000
STOP = 37
"""Steps of the runs that are resumed."""

Seen = tuple[Tensor, Tensor | None]
"""Observations ``[L, *obs]``, and the valid actions, None where all are."""
Choose = Callable[[int, Tensor, Tensor | None], Tensor | None]
"""Actions ``[L]`` at a step, for these observations, among the valid ones; None to end."""
Met = tuple[Tensor, Tensor | None, Tensor, Outcome]
"""Observations and valid actions that were acted on, the actions, and the outcome."""


@dataclass(kw_only=True)
class EnvironmentSubject(Subject, kind="environment"):
    """An environment of one task.

    Attributes:
        make: makes lanes, one per seed, with a time limit or none.
        single: makes one Gymnasium environment; None where the environment is written for lanes.
        events: names of the events that its plugin declares.
        discount: γ of the task.
        limit: the task's own time limit.
        optimal_q: the exact Q*, where known.
        optimal_return: of an episode, where known.
    """

    make: Callable[[Sequence[int], TimeLimit | None], LaneEnv]
    single: Callable[[], gymnasium.Env[Any, Any]] | None = None
    events: tuple[str, ...] = ()
    discount: float = 0.99
    limit: TimeLimit | None = None
    optimal_q: Callable[[], OptimalQ] | None = None
    optimal_return: Callable[[], float] | None = None

    @cached_property
    def random_play(self) -> list[Met]:
        """Random play of three lanes."""
        return self.played(LANES)

    def played(self, seeds: Sequence[int]) -> list[Met]:
        """Random valid actions, each lane's a function of its seed."""
        return play(self.make(seeds, self.limit), seeds, STEPS)


@check(EnvironmentSubject, "environment-gymnasium")
def gymnasium_check(subject: EnvironmentSubject) -> None:
    """A Gymnasium environment passes Gymnasium's own check_env.

    Without rendering.

    Fix:
        Follow the message of gymnasium.utils.env_checker.check_env.
    """
    single = applies(subject.single, "it is written for lanes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice, such as on spaces without bounds
        check_env(_Unregistered(single()), skip_render_check=True)


@check(EnvironmentSubject, "environment-forms", after=("environment-gymnasium",))
def forms(subject: EnvironmentSubject) -> None:
    """Observations are of the space, rewards finite float32 [L], ends bool [L], masks bool [L, A].

    Shapes and dtypes for one lane and three. A mask leaves at least one action, and is there at
    every step, or at none.

    Fix:
        Return one value per lane; obs and next_obs of the observation space's shape and dtype; and
        info['action_mask'] (or Outcome.valid and next_valid) at every step, or at none.
    """
    for seeds in ([1], [1, 2, 3]):
        env = subject.make(seeds, subject.limit)
        expect(isinstance(env, LaneEnv), f"the factory made a {type(env).__name__}, not a LaneEnv")
        guarded = GuardedLanes(subject.make(seeds, subject.limit))
        guarded.reset()
        for obs, *_, outcome in (played := play(env, seeds, STEPS)):
            guarded.check(outcome, len(obs), 0)
            reward = outcome.reward
            finite = reward.dtype == torch.float32 and reward.isfinite().all()
            expect(finite, f"a reward is {reward}; expected finite torch.float32")
        always = len({valid is None for _, valid, *_ in played}) == 1
        expect(always, "there is a mask at some steps and none at others")


@check(EnvironmentSubject, "environment-global-state", after=("environment-forms",))
def global_state(subject: EnvironmentSubject) -> None:
    """An environment leaves global random states, threads and default dtypes alone.

    Nothing global changes during a run.

    Fix:
        Draw from self.np_random, or from generators made of the lanes' seeds.
    """
    with unchanged("a run"):
        subject.played(LANES)


@check(EnvironmentSubject, "environment-seeds", after=("environment-global-state",))
def seeds(subject: EnvironmentSubject) -> None:
    """Two runs of the same seeds and actions are equal.

    Twice.

    Fix:
        reset(seed=…) sets everything; draw from self.np_random alone.
    """
    _no_difference(subject.played(LANES), subject.random_play, "two runs of the same seeds")


@check(EnvironmentSubject, "environment-lanes", after=("environment-seeds",))
def lanes(subject: EnvironmentSubject) -> None:
    """A lane does the same alone, among others and in any order, bit for bit.

    Lane 1 of three.

    Fix:
        Derive a lane's random numbers from its own seed, and mix nothing between lanes.
    """
    met = [(*before, vars(outcome)) for *before, outcome in subject.random_play]
    among = tree_map_only(Tensor, lambda tensor: tensor[1:2], met)
    _no_difference(subject.played(LANES[1:2]), among, "alone and among others")


@check(EnvironmentSubject, "environment-events", after=("environment-forms",))
def events(subject: EnvironmentSubject) -> None:
    """Events are those that the plugin declares, each counted with a finite number >= 0.

    Through the lanes, and in the info of a single environment.

    Fix:
        Name every event in EnvironmentSpec(events=…); info['events'] holds counts of this step.
    """
    declared = sorted(subject.events)
    for *_, outcome in subject.random_play:
        counted = sorted(outcome.events)
        expect(counted == declared, f"it counts {counted}; declared: {declared}")
        for name, count in outcome.events.items():
            wrong = f"the event {name!r} was counted {count.tolist()} times"
            expect(count.isfinite().all() and (count >= 0).all(), wrong)
    for *_, info in played_singly(subject.single(), 1, STEPS) if subject.single else ():
        unknown = sorted(set(info.get("events", {})) - set(declared))
        expect(not unknown, f"info['events'] has {unknown}; declared: {declared}")


@check(EnvironmentSubject, "environment-limit", after=("environment-forms",))
def limit(subject: EnvironmentSubject) -> None:
    """Lanes end at the time limit: as terminal, or as a truncation, as the task says.

    Episodes of three steps, both ways.

    Fix:
        Count steps per lane; at TimeLimit.steps set terminated or truncated by TimeLimit.kind.
    """
    kinds: tuple[Literal["terminal", "truncation"], ...] = ("terminal", "truncation")
    for kind in kinds:
        length = torch.zeros(len(LANES), dtype=torch.int64)
        for *_, o in play(subject.make(LANES, TimeLimit(LIMIT, kind)), LANES, 4 * LIMIT):
            length += 1
            ended, due, cut = o.terminated | o.truncated, length >= LIMIT, kind == "truncation"
            wrong = {
                f"went on after {LIMIT} steps, its limit ({kind})": due & ~ended,
                "at its limit was truncated; the task says terminal": due & ~(o.terminated | cut),
                "both terminated and was truncated": due & o.terminated & o.truncated & cut,
                "was truncated before its limit": ~due & o.truncated & cut,
            }
            for fault, lanes in wrong.items():
                expect(not lanes.any(), f"an episode {fault}")
            length[ended] = 0
    limits = None, TimeLimit(1, "truncation")
    free, at = (play(subject.make(LANES, limit), LANES, 1)[0][-1] for limit in limits)
    terminal = at.terminated & ~free.terminated
    expect(not terminal.any(), "an episode at its limit terminated; the task says truncation")


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
    went_on, ended, guarded = set[int](), dict[int, int](), GuardedLanes(env)
    for obs, _, action, outcome in go_on(env, at_random(env, [SEED]), env.reset(), range(LONG)):
        guarded.check(outcome, 1, 0)
        length += 1
        seen = (obs, action, outcome.next_obs, outcome.reward)
        key = hash(tuple(tensor.cpu().numpy().tobytes() for tensor in seen))
        if outcome.terminated:
            ended[key] = length
        elif not outcome.truncated:
            went_on.add(key)
        longest = max(length, longest)
        length = 0 if outcome.terminated or outcome.truncated else length
    unseen = {length for key, length in ended.items() if key in went_on}
    ends = f"the same steps terminate after {longest} steps, and go on at other times"
    expect(unseen != {longest}, f"{ends}: this is a time limit, reported as terminal")


@check(EnvironmentSubject, "environment-reset", after=("environment-seeds",))
def reset(subject: EnvironmentSubject) -> None:
    """After `reset(seed=…)` a used environment does as a new one; without a seed it goes on.

    After 1,000 steps of random play, of a single Gymnasium environment.

    Fix:
        Set everything that a step changes in reset, not in the constructor; seed the generator
        with `super().reset(seed=seed)`, which does nothing where that is None.
    """
    single = applies(subject.single, "it is written for lanes, which are reset once")
    used, new = single(), single()
    for _ in played_singly(used, SEED, USED):
        pass
    both = (played_singly(env, SEED, STEPS) for env in (used, new))
    for t, (mine, theirs) in enumerate(zip(*both, strict=True)):
        alike = same(list(mine[:-1]), list(theirs[:-1]))
        expect(alike, f"reset with a seed after {USED} steps, it differs at step {t}")
    states = []
    for _ in range(2):
        before = used.unwrapped.np_random.bit_generator.state
        _, info = used.reset()
        states.append(used.unwrapped.np_random.bit_generator.state)
        used.step(int(info.get("action_mask", np.ones(1)).argmax()))
    anew = states[0] == states[1] != before
    expect(not anew, "reset without a seed begins its random numbers anew")


@check(EnvironmentSubject, "environment-state", "checkpointable", ("environment-seeds",))
def state(subject: EnvironmentSubject) -> None:
    """state_dict() holds all that another copy needs to continue; nothing is pickled.

    Through a file, in the middle of a run.

    Fix:
        Episodes under way, random streams and lengths, as tensors, numbers, strings and bytes.
    """
    env, resumed = (subject.make(LANES, subject.limit) for _ in range(2))
    *_, last = play(env, LANES, STOP)[-1]
    try:
        resumed.load_state_dict(through_a_file(env.state_dict()))
    except CannotSaveError as error:
        applies(False, f"its runs have no checkpoints: {error}")
    now, steps = (last.obs, last.valid), range(STOP, STEPS)
    rest = list(go_on(resumed, at_random(env, LANES), now, steps))
    _no_difference(rest, subject.random_play[STOP:], f"resumed at step {STOP} and uninterrupted")


def play(env: LaneEnv, seeds: Sequence[int], steps: int) -> list[Met]:
    """Reset an environment and take random valid actions; copies of what it returned."""
    return list(go_on(env, at_random(env, seeds), env.reset(), range(steps)))


def at_random(env: LaneEnv, seeds: Sequence[int]) -> Choose:
    """Random valid actions, each lane's a function of its seed."""
    draws = Uniform(seeds, "conformance", ())
    return lambda t, _, valid: random_action(draws.at(t), env.n_actions, valid)


def go_on(env: LaneEnv, choose: Choose, now: Seen, steps: range) -> Iterator[Met]:
    """Take actions until none is chosen; copies of what the environment returned."""
    obs, valid = now[0].clone(), copied(now[1])
    for t in steps:
        if (action := choose(t, obs, valid)) is None:
            return
        outcome = copy_of(env.step(action))
        yield obs, valid, action, outcome
        obs, valid = outcome.obs, outcome.valid


def played_singly(
    env: gymnasium.Env[Any, Any], seed: int, steps: int
) -> Iterator[tuple[Tensor, float, bool, bool, dict[str, Any]]]:
    """Reset a Gymnasium environment, take random valid actions, and yield their outcomes.

    The observation is the next episode's first where one ended.
    """
    draws, n_actions = np.random.default_rng(seed), env.action_space.n  # type: ignore[attr-defined]
    _, info = env.reset(seed=seed)
    for _ in range(steps):
        valid = np.flatnonzero(info.get("action_mask", np.ones(n_actions)))
        obs, reward, terminated, truncated, info = env.step(int(draws.choice(valid)))
        met = float(reward), bool(terminated), bool(truncated), info
        if terminated or truncated:
            obs, info = env.reset()
        yield torch.as_tensor(np.array(obs)), *met


def _no_difference(one: list[Met], other: list[Met], between: str) -> None:
    """Fail with the first difference of two runs."""
    where = ("the observations", "the valid actions", "the actions", "the outcome")
    for t, both in enumerate(zip(one, other, strict=True)):
        for what, a, b in zip(where, *both, strict=True):
            if differs := difference(a, b, what):
                raise Failed(f"{differs.where} differ at step {t}, between {between}")


class _Unregistered(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Without a spec, from which Gymnasium would make again what the factory makes."""

    spec = None
