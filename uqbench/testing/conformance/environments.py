"""Environments as subjects, and what they return: forms, seeds, lanes, events and masks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
import torch
from gymnasium.utils.env_checker import check_env
from torch import Tensor
from torch.utils._pytree import tree_map

from uqbench.contract.environment import LaneEnv, OptimalQ, Outcome, TimeLimit
from uqbench.lanes import Uniform
from uqbench.lanes.exploration import random_action
from uqbench.runner.train.guarded_lanes import GuardedLanes
from uqbench.testing.conformance.agent_runs import copy_of
from uqbench.testing.conformance.check import Failed, Skipped, Subject, check, unchanged
from uqbench.testing.same_bits import difference

STEPS = 100
LANES = (3, 8, 5)

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
    def random_play(self) -> list[Met]:
        """Of three lanes."""
        return self.once("played", lambda: self.played(LANES))

    def played(self, seeds: Sequence[int], steps: int = STEPS) -> list[Met]:
        """Random valid actions, each lane's a function of its seed."""
        env = self.make(seeds, self.limit)
        return play(env, seeds, steps)


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


def check_forms(env: LaneEnv, met: Met) -> None:
    """Fail where observations are not of the space, rewards not finite float32, ends not bool."""
    obs, _, _, outcome = met
    space = env.observation_space
    guarded = GuardedLanes(env)
    guarded.check(outcome, len(obs), 0)
    guarded.look(outcome, 0)
    for name, seen in (("obs", obs), ("next_obs", outcome.next_obs)):
        for one in seen.cpu().numpy():
            if not space.contains(one if space.shape else int(one)):
                raise Failed(f"{name} {one!r} is not in {space}")
    if outcome.reward.dtype != torch.float32 or not outcome.reward.isfinite().all():
        raise Failed(f"a reward is {outcome.reward}; expected finite torch.float32")


def no_difference(one: list[Met], other: list[Met], between: str) -> None:
    """Fail with the first difference of two runs."""
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        where = ("the observations", "the valid actions", "the actions", "the outcome")
        for what, a, b in zip(where, mine, theirs, strict=True):
            differs = difference(a, b, what)
            if differs is not None:
                raise Failed(f"{differs.where} differ at step {t}, between {between}")


class Unregistered(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Without a spec, from which Gymnasium would make again what the factory makes."""

    spec = None


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
        check_env(Unregistered(subject.single()), skip_render_check=True)


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
            check_forms(env, met)


@check(EnvironmentSubject, "environment-global-state", after=("environment-forms",))
def global_state(subject: EnvironmentSubject) -> None:
    """An environment leaves global random states, threads and default dtypes alone.

    Nothing global changes during a run.

    Fix:
        Draw from self.np_random, or from generators made of the lanes' seeds.
    """
    with unchanged("a run"):
        subject.memory["played"] = subject.played(LANES)  # not what another check met before


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
