"""``uqbench.plan``: what would run, and how long it would take."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd

from uqbench.api.experiment import DryRun, Experiment
from uqbench.api.options import Options
from uqbench.wording import count, duration


class Planned:
    """What would run.

    Args:
        left: what is left of the runs.

    Attributes:
        plan: the runs.
        seconds: estimate for one core.
        basis: of the estimate, in words.
    """

    def __init__(self, left: DryRun) -> None:
        self.plan, self._left = left.plan, left
        self.seconds, self.basis = left.expected.seconds, left.expected.basis

    @property
    def runs(self) -> pd.DataFrame:
        """A row a run: suite, budget, task, method, seed, stored state, steps, folder."""
        steps = {c.task.name: self.plan.budget.on(c.task).steps for c in self.plan.cells}
        rows = [
            (
                run.suite, run.budget, run.task, run.method, run.seed, stored.state.value,
                steps[run.task], run.place,
            )
            for run, stored in self._left.states.items()
        ]  # fmt: skip
        columns = ["suite", "budget", "task", "method", "seed", "state", "steps", "run"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def methods(self) -> pd.DataFrame:
        """The methods, the slowest first: runs to do, runs that need not be done, core seconds."""
        columns = ["method", "to_do", "have", "core_seconds"]
        return pd.DataFrame(self._left.methods, columns=columns)

    def __repr__(self) -> str:
        return f"<uqbench.Planned {self._sentence()}>"

    def _repr_html_(self) -> str:
        table = self.methods.to_html(index=False, escape=True, na_rep="")
        return f"<p>{escape(self._sentence())}</p>{table}"

    def _sentence(self) -> str:
        left = sum(todo for _, todo, _, _ in self._left.methods)
        return (
            f"{self.plan.suite.name}/{self.plan.name}: {left} of "
            f"{count(len(self.plan.runs), 'run')} to do, about {duration(self.seconds)} on one "
            f"core (from {self.basis})"
        )


def plan(
    suite: str,
    budget: str | None = None,
    **options: Any,
) -> Planned:
    """What :func:`uqbench.run` would do with these arguments; nothing is executed or written.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        options: of :class:`~uqbench.api.options.Options`.

    Raises:
        UqbenchError: a name is unknown or a value is wrong; says what was expected.

    Example:
        >>> import uqbench
        >>> uqbench.plan("windy-cliff", "smoke").methods  # doctest: +SKIP
    """
    return Planned(Experiment(Options(suite, budget, **options)).dry_run())
