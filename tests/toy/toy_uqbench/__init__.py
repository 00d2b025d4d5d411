"""A plugin for tests: a corridor, an agent that is quick, and ways for an agent to fail."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench.identity import Run

if TYPE_CHECKING:
    from uqbench.environment import OptimalQ


@dataclass(frozen=True, kw_only=True)
class CorridorOptions:
    length: int = 5
    slip: float = 0.1


@dataclass(frozen=True, kw_only=True)
class WalkerConfig:
    """``raise_at`` and ``die_at``: the step at which the agent fails, unless ``healed`` exists.

    ``wrong``: what is wrong with its values or actions, in lanes whose first uniform number is
    below ``only_below``.
    """

    forward: float = 0.7
    raise_at: int = -1
    die_at: int = -1
    healed: str = ""
    step_seconds: float = 0.0
    wrong: Literal["", "values", "shape", "range"] = ""
    only_below: float = 1.0

    def fails(self, at: int, t: int) -> bool:
        return t == at and not (self.healed and Path(self.healed).exists())


def _optimal_q(options: CorridorOptions, discount: float) -> "OptimalQ":
    from toy_uqbench.corridor import optimal_q  # torch takes seconds to import

    return optimal_q(options, discount)


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    return [
        EnvironmentSpec(
            name="corridor", version="1", factory="toy_uqbench.corridor:make",
            summary="walk to the end; walking back at the start is a bump", events=("bumps",),
            config=CorridorOptions, has_state_dict="TOY_UNSAVABLE" in os.environ,
            optimal_q=_optimal_q,
        )
    ]  # fmt: skip


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    summary, factory = "walks forward with a fixed probability", "toy_uqbench.walker:Walker"
    return [
        AgentSpec(name="walker", version="1", factory=factory, config=WalkerConfig, summary=summary)
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    return [files("toy_uqbench") / "toy.toml"]


def _log(*words: object) -> None:
    if "TOY_LOG" in os.environ:
        with Path(os.environ["TOY_LOG"]).open("a") as file:
            print(*words, file=file)


@hookimpl
def uqbench_run_started(run: Run) -> None:
    _log("started", run.task, run.method, run.seed)


@hookimpl
def uqbench_run_finished(run: Run, scalars: Mapping[str, float | None]) -> None:
    if "TOY_HOOK_RAISES" in os.environ:
        raise OSError("no network")
    _log("finished", run.task, run.method, run.seed, sorted(scalars)[-1])


@hookimpl
def uqbench_run_failed(run: Run, reason: str) -> None:
    _log("failed", run.task, run.method, run.seed, reason)
