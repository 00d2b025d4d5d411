"""The result of ``uqbench.plan``: runs to execute, and the time that they take."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import pandas as pd

from uqbench.contract.identity import DeviceKind, Run
from uqbench.contract.wording import count, duration
from uqbench.results.records import StoredRun
from uqbench.runner.forecast import Forecast
from uqbench.runner.states import to_do
from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class Planned:
    """Runs to execute, and their cost.

    Attributes:
        plan: the runs.
        device: kind of device that would compute.
        states: of the runs.
        expected: what each run to execute takes.
        script: what would be submitted; empty where processes are started.
        note: which words stated intervals can earn, the price of rollouts, and which finished runs
            are of other code.
        detectable: which difference the seeds show, by a stored board; empty where there is none.
    """

    plan: Plan
    device: DeviceKind
    states: Mapping[Run, StoredRun]
    expected: Forecast
    script: str
    note: str
    detectable: str

    @property
    def seconds(self) -> float:
        """Estimate for one core or device."""
        return self.expected.seconds

    @property
    def where(self) -> str:
        """The place that the estimate is for, in words."""
        return "one device" if self.device == "cuda" else "one core"

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: suite, budget, task, method, seed, stored state, steps, folder."""
        steps = {c.task.name: self.plan.budget.on(c.task).steps for c in self.plan.cells}
        named = ["suite", "budget", "task", "method", "seed"]
        rows = [
            (*(getattr(run, of) for of in named), stored.state.value, steps[run.task], run.place)
            for run, stored in self.states.items()
        ]
        return pd.DataFrame(rows, columns=[*named, "state", "steps", "run"])

    @property
    def methods(self) -> pd.DataFrame:
        """The methods, the slowest first: runs to do, runs that need not be done, core seconds."""
        todo = Counter(run.method for run in to_do(self.states, self.plan.stage))
        seconds = self.expected.by_method()
        rows = [
            (name, todo[name], number - todo[name], seconds.get(name, 0.0))
            for name, number in Counter(run.method for run in self.plan.runs).items()
        ]
        rows.sort(key=lambda row: -row[-1])
        return pd.DataFrame(rows, columns=["method", "to_do", "have", "core_seconds"])

    def __repr__(self) -> str:
        return f"<uqbench.Planned {self._sentence()}>"

    def _repr_html_(self) -> str:
        table = self.methods.to_html(index=False, escape=True, na_rep="")
        return f"<p>{escape(self._sentence())}</p>{table}"

    def _sentence(self) -> str:
        return (
            f"{self.plan.suite.name}/{self.plan.name}: {self.methods['to_do'].sum()} of "
            f"{count(len(self.plan.runs), 'run')} to do, about {duration(self.seconds)} on "
            f"{self.where} (from {self.expected.basis})"
        )
