"""Which runs a call from Python is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from uqbench.errors import UqbenchError
from uqbench.suites.selection import Selection


class Selected(TypedDict, total=False):
    """Arguments that select runs of a suite; what is left out stands for all.

    Attributes:
        methods: only these: names, ``"FILE:CLASS"``, or classes, which join the suite.
        tasks: only these.
        seeds: a number n for seeds 0 to n - 1, or exactly these.
        steps: of each run, for a trial.
        settings: config values by method, such as ``{"dqn": {"learning_rate": 1e-3}}``.
    """

    methods: Sequence[str | type[Any]] | str | None
    tasks: Sequence[str] | str | None
    seeds: int | Sequence[int] | None
    steps: int | None
    settings: Mapping[str, Mapping[str, Any]] | None


def selected(
    suite: str, budget: str | None = None, *, keep_agents: bool = False, **which: Unpack[Selected]
) -> Selection:
    """The runs that a call from Python means.

    Raises:
        UqbenchError: a number is not positive, or a seed is twice there.
    """
    steps, seeds = which.get("steps"), which.get("seeds")
    if steps is not None and steps < 1:
        raise UqbenchError(f"steps={steps}: expected at least one.")
    if isinstance(seeds, int):
        if seeds < 1:
            raise UqbenchError(f"seeds={seeds}: expected at least one; seeds=[0] means seed 0.")
        seeds = range(seeds)
    if seeds is not None and (len(set(seeds)) != len(seeds) or any(seed < 0 for seed in seeds)):
        raise UqbenchError(f"seeds={list(seeds)}: expected different numbers from 0 on.")
    return Selection(
        suite,
        budget,
        _methods(which.get("methods"), suite),
        _names(which.get("tasks")),
        None if seeds is None else tuple(seeds),
        steps,
        which.get("settings") or {},
        keep_agents,
    )


def _methods(methods: Sequence[str | type[Any]] | str | None, suite: str) -> tuple[str, ...] | None:
    """Names of methods; what is a class, or one of a file, joins the suite."""
    from uqbench.api.register import register
    from uqbench.registry.named import add, is_file

    def name(method: str | type[Any]) -> str:
        if not isinstance(method, str):
            return register(method, suite=suite)
        return add(method, [suite])[0] if is_file(method) else method

    given = [methods] if isinstance(methods, str) else methods
    return None if given is None else tuple(map(name, given))


def _names(names: Sequence[str] | str | None) -> tuple[str, ...] | None:
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)
