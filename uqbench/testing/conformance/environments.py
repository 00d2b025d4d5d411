"""Environments as subjects, and their rules but for the truths that they state."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
import torch
from gymnasium.utils.env_checker import check_env
from torch import Tensor
from torch.utils._pytree import tree_map

from uqbench.contract.environment import LaneEnv, OptimalQ, Outcome, TimeLimit
from uqbench.contract.errors import CannotSaveError
from uqbench.lanes import Uniform
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.lanes.exploration import random_action
from uqbench.runner.train.guards import GuardedLanes
from uqbench.testing.conformance.agent_runs import copy_of, same, through_a_file
from uqbench.testing.conformance.check import Failed, Skipped, Subject, check, once, unchanged
from uqbench.testing.same_bits import difference

STEPS = 100
LANES = (3, 8, 5)
LIMIT = 3
SEED, USED, LONG = 11, 1_000, 5_000
STOP, SHORT_AND_LONG = 37, (10, 40)
"""Steps of the runs that are resumed."""

Met = tuple[Tensor, Tensor | None, Tensor, Outcome]
"""Observations and valid actions that were acted on, the actions, and the outcome."""


@dataclass(kw_only=True)
class EnvironmentSubject(Subject):
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

    kind: ClassVar[str] = "environment"
    make: Callable[[Sequence[int], TimeLimit | None], LaneEnv]
    single: Callable[[], gymnasium.Env[Any, Any]] | None = None
    events: tuple[str, ...] = ()
    discount: float = 0.99
    limit: TimeLimit | None = None
    optimal_q: Callable[[], OptimalQ] | None = None
    optimal_return: Callable[[], float] | None = None

    @property
    @once
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
    if subject.single is None:
        raise Skipped("it is written for lanes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice, such as on spaces without bounds
        check_env(_Unregistered(subject.single()), skip_render_check=True)


@check(EnvironmentSubject, "environment-forms", after=("environment-gymnasium",))
def forms(subject: EnvironmentSubject) -> None:
    """Observations are of the space, rewards finite float32 [L], ends bool [L].

    Shapes and dtypes for one lane and three.

    Fix:
        Return one value per lane; obs and next_obs of the observation space's shape and dtype.
    """
    for seeds in ([1], [1, 2, 3]):
        env = subject.make(seeds, subject.limit)
        if not isinstance(env, LaneEnv):
            raise Failed(f"the factory made a {type(env).__name__}, not a LaneEnv")
        for met in play(env, seeds, 20):
            _check_forms(env, met)


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
    """The same seeds and actions make the same run.

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
    among = [
        (_lane(obs), _lane(valid), _lane(action), Outcome(**tree_map(_lane, vars(outcome))))
        for obs, valid, action, outcome in subject.random_play
    ]
    _no_difference(subject.played(LANES[1:2]), among, "alone and among others")


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
            ended, due = o.terminated | o.truncated, length >= LIMIT
            wrong = {f"went on after {LIMIT} steps, its limit ({kind})": due & ~ended}
            if kind == "terminal":
                wrong["at its limit was truncated; the task says terminal"] = due & ~o.terminated
            else:
                wrong["both terminated and was truncated"] = due & o.terminated & o.truncated
                wrong["was truncated before its limit"] = ~due & o.truncated
            for fault, lanes in wrong.items():
                if lanes.any():
                    raise Failed(f"an episode {fault}")
            length[ended] = 0
    limits = None, TimeLimit(1, "truncation")
    free, cut = (play(subject.make(LANES, limit), LANES, 1)[0][-1] for limit in limits)
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
        _check_forms(env, met)
        obs, _, action, outcome = met
        length += 1
        seen = (obs, action, outcome.next_obs, outcome.reward)
        key = hash(tuple(tensor.cpu().numpy().tobytes() for tensor in seen))
        if outcome.terminated:
            ended[key] = length
        elif not outcome.truncated:
            went_on.add(key)
        longest = max(length, longest)
        length = 0 if outcome.terminated or outcome.truncated else length
    unseen = [length for key, length in ended.items() if key in went_on]
    if unseen and set(unseen) == {longest}:
        ends = f"the same steps terminate after {longest} steps, and go on at other times"
        raise Failed(f"{ends}: this is a time limit, reported as terminal")


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
        before = used.unwrapped.np_random.bit_generator.state
        _, info = used.reset()
        states.append(used.unwrapped.np_random.bit_generator.state)
        used.step(int(info.get("action_mask", np.ones(1)).argmax()))
    if states[0] == states[1] != before:
        raise Failed("reset without a seed begins its random numbers anew")


@check(
    EnvironmentSubject, "environment-state", level="checkpointable", after=("environment-seeds",)
)
def state(subject: EnvironmentSubject) -> None:
    """state_dict() holds all that another copy needs to continue; nothing is pickled.

    Through a file, in the middle of a run.

    Fix:
        Episodes under way, random streams and lengths, as tensors, numbers, strings and bytes.
    """
    env, resumed = (subject.make(LANES, subject.limit) for _ in range(2))
    *_, last = play(env, LANES, STOP)[-1]
    resumed.load_state_dict(_saved(env))
    rest = list(go_on(resumed, LANES, (last.obs, last.valid), STOP, STEPS))
    whole = subject.random_play[STOP:]
    _no_difference(rest, whole, f"resumed at step {STOP} and uninterrupted")


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
        raise Failed(f"load_state_dict() took {few} steps after {short} steps, {many} after {long}")


def play(env: LaneEnv, seeds: Sequence[int], steps: int) -> list[Met]:
    """Reset an environment and take random valid actions; copies of what it returned."""
    return list(go_on(env, seeds, env.reset(), 0, steps))


def go_on(
    env: LaneEnv, seeds: Sequence[int], now: tuple[Tensor, Tensor | None], first: int, steps: int
) -> Iterator[Met]:
    """The same from step ``first`` to step ``steps``."""
    draws = Uniform(seeds, "conformance", ())
    obs, valid = now[0].clone(), None if now[1] is None else now[1].clone()
    for t in range(first, steps):
        action = random_action(draws.at(t), env.n_actions, valid)
        outcome = copy_of(env.step(action))
        yield obs, valid, action, outcome
        obs, valid = outcome.obs, outcome.valid


def played_singly(
    env: gymnasium.Env[Any, Any], seed: int, steps: int
) -> Iterator[tuple[Tensor, float, bool, bool, dict[str, Any]]]:
    """Reset a Gymnasium environment, and what each random valid action leads to.

    The observation is the next episode's first where one ended.
    """
    draws = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    for _ in range(steps):
        n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
        valid = np.flatnonzero(info.get("action_mask", np.ones(n_actions)))
        obs, reward, terminated, truncated, info = env.step(int(draws.choice(valid)))
        met = float(reward), bool(terminated), bool(truncated), info
        if terminated or truncated:
            obs, info = env.reset()
        yield torch.as_tensor(np.array(obs)), *met


def _check_forms(env: LaneEnv, met: Met) -> None:
    """Fail where observations are not of the space, rewards not finite float32, ends not bool."""
    obs, *_, outcome = met
    guarded = GuardedLanes(env)
    guarded.check(outcome, len(obs), 0)
    guarded.look(outcome, 0)
    if outcome.reward.dtype != torch.float32 or not outcome.reward.isfinite().all():
        raise Failed(f"a reward is {outcome.reward}; expected finite torch.float32")


def _no_difference(one: list[Met], other: list[Met], between: str) -> None:
    """Fail with the first difference of two runs."""
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        where = ("the observations", "the valid actions", "the actions", "the outcome")
        for what, a, b in zip(where, mine, theirs, strict=True):
            if (differs := difference(a, b, what)) is not None:
                raise Failed(f"{differs.where} differ at step {t}, between {between}")


class _Unregistered(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Without a spec, from which Gymnasium would make again what the factory makes."""

    spec = None


def _saved(env: LaneEnv) -> dict[str, Any]:
    try:
        return through_a_file(env.state_dict())
    except CannotSaveError as error:
        raise Skipped(f"its runs have no checkpoints: {error}") from error


def _steps_to_resume(subject: EnvironmentSubject, steps: int) -> int:
    env, resumed = (subject.make(LANES, subject.limit) for _ in range(2))
    if isinstance(env, GymnasiumLanes) and not env.has_state_dict:
        raise Skipped("it does not say has_state_dict=True: its actions are replayed")
    play(env, LANES, steps)
    saved, called = _saved(env), 0

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


def _lane(tensor: Any) -> Any:
    return None if tensor is None else tensor[1:2]
