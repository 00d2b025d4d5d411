"""What every environment must do, whether Gymnasium's or for lanes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
import torch
from gymnasium.utils.env_checker import check_env
from torch import Tensor

from uqbench.environment import LaneEnv, OptimalQ, Outcome, TimeLimit
from uqbench.errors import CannotSaveError
from uqbench.lanes import Uniform
from uqbench.registry.side_effects import watched
from uqbench.testing.conformance.agent_runs import copy_of, same, through_a_file
from uqbench.testing.conformance.check import Failed, Skipped, Subject, check

STEPS = 100
LANES = (3, 8, 5)
LIMIT = 3
FORMS = ("environment-forms",)
SOUND = (*FORMS, "environment-global-state", "environment-seeds")

Met = tuple[Tensor, Tensor | None, Outcome]
"""Observations and valid actions that were acted on, and the outcome."""


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

    def played(self, seeds: Sequence[int], steps: int = STEPS) -> list[Met]:
        """Random valid actions, each lane's a function of its seed."""
        env = self.make(seeds, self.limit)
        return play(env, seeds, steps)


def play(env: LaneEnv, seeds: Sequence[int], steps: int) -> list[Met]:
    """Reset an environment and take random valid actions; copies of what it returned."""
    obs, valid = env.reset()
    return go_on(env, seeds, (obs.clone(), None if valid is None else valid.clone()), 0, steps)


def go_on(
    env: LaneEnv, seeds: Sequence[int], now: tuple[Tensor, Tensor | None], first: int, steps: int
) -> list[Met]:
    """The same from step ``first`` to step ``steps``."""
    draws = Uniform(seeds, "conformance", ())
    met = []
    obs, valid = now
    for t in range(first, steps):
        mask = torch.ones(len(seeds), env.n_actions, dtype=torch.bool) if valid is None else valid
        nth = (draws.at(t) * mask.sum(-1)).long() + 1
        action = (mask.cumsum(-1) >= nth[:, None]).to(torch.uint8).argmax(-1)
        outcome = copy_of(env.step(action))
        met.append((obs, valid, outcome))
        obs, valid = outcome.obs, outcome.valid
    return met


@check(
    EnvironmentSubject,
    "environment-gymnasium",
    rule="A Gymnasium environment passes Gymnasium's own check_env.",
    fix="Follow the message of gymnasium.utils.env_checker.check_env.",
)
def gymnasium_check(subject: EnvironmentSubject) -> None:
    """Without rendering."""
    if subject.single is None:
        raise Skipped("it is written for lanes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice, such as on spaces without bounds
        try:
            check_env(subject.single(), skip_render_check=True)
        except Exception as error:
            raise Failed(f"{type(error).__name__}: {error}") from error


@check(
    EnvironmentSubject,
    "environment-forms",
    rule="Observations are of the space, rewards finite float32 [L], ends bool [L].",
    fix="Return one value a lane; obs and next_obs of the observation space's shape and dtype.",
    after=("environment-gymnasium",),
)
def forms(subject: EnvironmentSubject) -> None:
    """Shapes and dtypes for one lane and three."""
    for seeds in ([1], [1, 2, 3]):
        env = subject.make(seeds, subject.limit)
        if not isinstance(env, LaneEnv):
            raise Failed(f"the factory made a {type(env).__name__}, not a LaneEnv")
        space, lanes = env.observation_space, len(seeds)
        for obs, _, outcome in play(env, seeds, 20):
            for name, seen in (("obs", obs), ("next_obs", outcome.next_obs)):
                if tuple(seen.shape) != (lanes, *(space.shape or ())):
                    raise Failed(
                        f"{name} is {tuple(seen.shape)}; expected {(lanes, *(space.shape or ()))}"
                    )
                for one in seen.cpu().numpy():
                    if not space.contains(one if space.shape else int(one)):
                        raise Failed(f"{name} {one!r} is not in {space}")
            kinds = {"reward": torch.float32, "terminated": torch.bool, "truncated": torch.bool}
            for name, dtype in kinds.items():
                value = getattr(outcome, name)
                if value.dtype != dtype or tuple(value.shape) != (lanes,):
                    raise Failed(
                        f"{name} is {value.dtype} {tuple(value.shape)}; expected {dtype} ({lanes},)"
                    )
            if not outcome.reward.isfinite().all():
                raise Failed(f"a reward is {outcome.reward.tolist()}")


@check(
    EnvironmentSubject,
    "environment-global-state",
    rule="An environment leaves global random states, threads and default dtypes alone.",
    fix="Draw from self.np_random, or from generators made of the lanes' seeds.",
    after=FORMS,
)
def global_state(subject: EnvironmentSubject) -> None:
    """Nothing global changes during a run."""
    changed: list[str] = []
    with watched(changed):
        subject.memory["played"] = subject.played(LANES)
    if changed:
        raise Failed(f"a run changed {', '.join(changed)}")


@check(
    EnvironmentSubject,
    "environment-seeds",
    rule="The same seeds and actions make the same run.",
    fix="reset(seed=…) sets everything; draw from self.np_random alone.",
    after=(*FORMS, "environment-global-state"),
)
def seeds(subject: EnvironmentSubject) -> None:
    """Twice."""
    _no_difference(subject.played(LANES), subject.memory["played"], "two runs of the same seeds")


@check(
    EnvironmentSubject,
    "environment-lanes",
    rule="A lane does the same alone, among others and in any order, bit for bit.",
    fix="Derive a lane's random numbers from its own seed, and mix nothing between lanes.",
    after=SOUND,
)
def lanes(subject: EnvironmentSubject) -> None:
    """Lane 1 of three."""
    among = [
        (obs[1:2], None if valid is None else valid[1:2], _lane(outcome, 1))
        for obs, valid, outcome in subject.memory["played"]
    ]
    _no_difference(subject.played(LANES[1:2]), among, "alone and among others")


@check(
    EnvironmentSubject,
    "environment-events",
    rule="Events are those that the plugin declares, each counted with a finite number >= 0.",
    fix="Name every event in EnvironmentSpec(events=…); info['events'] holds counts of this step.",
    after=FORMS,
)
def events(subject: EnvironmentSubject) -> None:
    """Through the lanes, and in the info of a single environment."""
    for _, _, outcome in subject.memory.get("played") or subject.played(LANES):
        if set(outcome.events) != set(subject.events):
            raise Failed(f"it counts {sorted(outcome.events)}; declared: {sorted(subject.events)}")
        for name, count in outcome.events.items():
            if not count.isfinite().all() or (count < 0).any():
                raise Failed(f"the event {name!r} was counted {count.tolist()} times")
    if subject.single is None:
        return
    env = subject.single()
    _, info = env.reset(seed=1)
    draws = np.random.default_rng(1)
    for _ in range(STEPS):
        n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
        valid = np.flatnonzero(info.get("action_mask", np.ones(n_actions)))
        *_, terminated, truncated, info = env.step(int(draws.choice(valid)))
        unknown = set(info.get("events", {})) - set(subject.events)
        if unknown:
            raise Failed(f"info['events'] has {sorted(unknown)}; declared: {subject.events}")
        if terminated or truncated:
            _, info = env.reset()


@check(
    EnvironmentSubject,
    "environment-masks",
    rule="Masks are bool [L, A], always or never there, and leave at least one action.",
    fix="Give info['action_mask'] (or Outcome.valid and next_valid) at every step, or at none.",
    after=FORMS,
)
def masks(subject: EnvironmentSubject) -> None:
    """At every step."""
    env = subject.make(LANES, subject.limit)
    shape = (len(LANES), env.n_actions)
    played = subject.memory.get("played") or subject.played(LANES)
    if len({valid is None for _, valid, _ in played}) > 1:
        raise Failed("there is a mask at some steps and none at others")
    for _, valid, _ in played:
        if valid is None:
            raise Skipped("all its actions are always valid")
        if valid.dtype != torch.bool or tuple(valid.shape) != shape:
            raise Failed(f"a mask is {valid.dtype} {tuple(valid.shape)}; expected bool {shape}")
        if not valid.any(-1).all():
            raise Failed("a mask leaves no action")


@check(
    EnvironmentSubject,
    "environment-limit",
    rule="Lanes end at the time limit: as terminal, or as a truncation, as the task says.",
    fix="Count steps per lane; at TimeLimit.steps set terminated or truncated by TimeLimit.kind.",
    after=FORMS,
)
def limit(subject: EnvironmentSubject) -> None:
    """Episodes of three steps, both ways."""
    kinds: tuple[Literal["terminal", "truncation"], ...] = ("terminal", "truncation")
    for kind in kinds:
        env = subject.make(LANES, TimeLimit(LIMIT, kind))
        length = torch.zeros(len(LANES), dtype=torch.int64)
        for _, _, outcome in play(env, LANES, 4 * LIMIT):
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
    free = play(subject.make(LANES, None), LANES, 1)[0][2]
    cut = play(subject.make(LANES, TimeLimit(1, "truncation")), LANES, 1)[0][2]
    if (cut.terminated & ~free.terminated).any():
        raise Failed("an episode at its limit terminated; the task says truncation")


@check(
    EnvironmentSubject,
    "environment-state",
    level="checkpointable",
    rule="state_dict() holds all that another copy needs to continue; nothing is pickled.",
    fix="Episodes under way, random streams and lengths, as tensors, numbers, strings and bytes.",
    after=SOUND,
)
def state(subject: EnvironmentSubject) -> None:
    """Through a file, in the middle of a run."""
    stop = 37
    env, played = subject.make(LANES, subject.limit), subject.memory["played"]
    before = play(env, LANES, stop)
    try:
        saved = through_a_file(env.state_dict())
    except CannotSaveError as error:
        raise Skipped(f"its runs have no checkpoints: {error}") from error
    resumed = subject.make(LANES, subject.limit)
    resumed.load_state_dict(saved)
    now = before[-1][2].obs, before[-1][2].valid
    rest = go_on(resumed, LANES, now, stop, len(played))
    _no_difference(rest, played[stop:], f"resumed at step {stop} and uninterrupted")


def _no_difference(one: list[Met], other: list[Met], between: str) -> None:
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        for name, a, b in (
            ("observations", mine[0], theirs[0]),
            ("valid actions", mine[1], theirs[1]),
            *((name, vars(mine[2])[name], vars(theirs[2])[name]) for name in vars(mine[2])),
        ):
            if not same([a] if a is not None else [], [b] if b is not None else []):
                raise Failed(f"{name} differ at step {t}, between {between}")


def _lane(outcome: Outcome, lane: int) -> Outcome:
    only = slice(lane, lane + 1)
    fields: dict[str, Any] = {
        name: value if value is None else value[only]
        for name, value in vars(outcome).items()
        if name != "events"
    }
    return Outcome(**fields, events={name: count[only] for name, count in outcome.events.items()})
