"""Environments as subjects: random play of them, and how two runs differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
import torch
from torch import Tensor

from uqbench.environment import LaneEnv, OptimalQ, Outcome, TimeLimit
from uqbench.lanes import Uniform
from uqbench.testing.conformance.agent_runs import copy_of
from uqbench.testing.conformance.check import Failed, Subject
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
    obs, valid = env.reset()
    now = obs.clone(), None if valid is None else valid.clone()
    return list(go_on(env, seeds, now, 0, steps))


def go_on(
    env: LaneEnv, seeds: Sequence[int], now: tuple[Tensor, Tensor | None], first: int, steps: int
) -> Iterator[Met]:
    """The same from step ``first`` to step ``steps``."""
    draws = Uniform(seeds, "conformance", ())
    obs, valid = now
    for t in range(first, steps):
        mask = torch.ones(len(seeds), env.n_actions, dtype=torch.bool) if valid is None else valid
        nth = (draws.at(t) * mask.sum(-1)).long() + 1
        action = (mask.cumsum(-1) >= nth[:, None]).to(torch.uint8).argmax(-1)
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
    space, lanes = env.observation_space, len(obs)
    shape = (lanes, *(space.shape or ()))
    for name, seen in (("obs", obs), ("next_obs", outcome.next_obs)):
        if tuple(seen.shape) != shape:
            raise Failed(f"{name} is {tuple(seen.shape)}; expected {shape}")
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


def no_difference(one: list[Met], other: list[Met], between: str) -> None:
    """Fail with the first difference of two runs."""
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        where = ("the observations", "the valid actions", "the actions", "the outcome")
        for what, a, b in zip(where, mine, theirs, strict=True):
            differs = difference(a, b, what)
            if differs is not None:
                raise Failed(f"{differs.where} differ at step {t}, between {between}")
