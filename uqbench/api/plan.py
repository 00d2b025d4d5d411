"""``uqbench.plan``: what would run, and how long it would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from uqbench.amounts import count, duration
from uqbench.errors import UqbenchError
from uqbench.registry.load_host import load_host
from uqbench.results.store import Store
from uqbench.runner.device import find_device
from uqbench.runner.forecast import costs
from uqbench.runner.states import stored_states
from uqbench.suites.plan import Plan
from uqbench.suites.selection import Selection


class Planned:
    """What would run.

    Args:
        plan: the runs.
        store: holds earlier runs.

    Attributes:
        plan: the runs.
        seconds: estimate for one core.
        basis: of the estimate, in words.
    """

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan, self._states = plan, stored_states(plan, store)
        self._methods, expected = costs(plan, self._states, store)
        self.seconds, self.basis = expected.seconds, expected.basis

    @property
    def runs(self) -> pd.DataFrame:
        """A row a run: suite, budget, task, method, seed, stored state, steps, folder."""
        steps = {c.task.name: self.plan.budget.on(c.task).steps for c in self.plan.cells}
        rows = [
            (
                run.suite, run.budget, run.task, run.method, run.seed, stored.state.value,
                steps[run.task], run.place,
            )
            for run, stored in self._states.items()
        ]  # fmt: skip
        columns = ["suite", "budget", "task", "method", "seed", "state", "steps", "run"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def methods(self) -> pd.DataFrame:
        """A row a method, the slowest first: runs to do, core seconds, MB of memory and of disk."""
        rows = [(m.method, m.to_do, m.have, m.seconds, m.megabytes, m.disk) for m in self._methods]
        return pd.DataFrame(
            rows, columns=["method", "to_do", "have", "core_seconds", "megabytes", "disk"]
        ).astype({"megabytes": float, "disk": float})

    def __repr__(self) -> str:
        return f"<uqbench.Planned {self._sentence()}>"

    def _repr_html_(self) -> str:
        table = self.methods.to_html(index=False, escape=True, na_rep="")
        return f"<p>{escape(self._sentence())}</p>{table}"

    def _sentence(self) -> str:
        left = sum(method.to_do for method in self._methods)
        return (
            f"{self.plan.suite.name}/{self.plan.name}: {left} of "
            f"{count(len(self.plan.runs), 'run')} to do, about {duration(self.seconds)} on one "
            f"core (from {self.basis})"
        )


def plan(
    suite: str,
    budget: str | None = None,
    *,
    methods: Sequence[str] | str | None = None,
    tasks: Sequence[str] | str | None = None,
    seeds: int | Sequence[int] | None = None,
    steps: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    device: str = "auto",
    out: str | PathLike[str] = "results",
) -> Planned:
    """What :func:`uqbench.run` would do with these arguments; nothing is executed or written.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        methods: only these; None for those of the budget.
        tasks: only these.
        seeds: a number n for seeds 0 to n - 1, or exactly these.
        steps: of each run, for a trial; None for the budget's.
        settings: config values by method, such as ``{"dqn": {"learning_rate": 1e-3}}``.
        device: ``auto``, ``cpu`` or ``cuda``.
        out: the results folder.

    Raises:
        UqbenchError: a name is unknown or a value is wrong; says what was expected.

    Example:
        >>> import uqbench
        >>> uqbench.plan("windy-cliff", "smoke").methods  # doctest: +SKIP
    """
    chosen = selection(suite, budget, methods, tasks, seeds, steps, settings)
    planned = chosen.plan(load_host(), find_device(device))
    return Planned(planned, Store(Path(out)))


def selection(
    suite: str,
    budget: str | None,
    methods: Sequence[str] | str | None,
    tasks: Sequence[str] | str | None,
    seeds: int | Sequence[int] | None,
    steps: int | None,
    settings: Mapping[str, Mapping[str, Any]] | None,
) -> Selection:
    """The runs that a call from Python means.

    Raises:
        UqbenchError: a number is not positive, or a seed is twice there.
    """
    if steps is not None and steps < 1:
        raise UqbenchError(f"steps={steps}: expected at least one.")
    if isinstance(seeds, int):
        if seeds < 1:
            raise UqbenchError(f"seeds={seeds}: expected at least one; seeds=[0] means seed 0.")
        seeds = range(seeds)
    if seeds is not None and (len(set(seeds)) != len(seeds) or any(seed < 0 for seed in seeds)):
        raise UqbenchError(f"seeds={list(seeds)}: expected different numbers from 0 on.")
    return Selection(
        suite, budget, _names(methods), _names(tasks), None if seeds is None else tuple(seeds),
        steps, settings or {},
    )  # fmt: skip


def _names(names: Sequence[str] | str | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(names)
