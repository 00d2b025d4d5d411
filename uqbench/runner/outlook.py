"""What is left of a plan, and how long it would take: nothing is executed."""

from __future__ import annotations

from dataclasses import dataclass

from uqbench.identity import Run
from uqbench.results.store import Store, StoredRun
from uqbench.runner.batching.speeds import Speeds
from uqbench.runner.estimates import estimate
from uqbench.runner.states import announce, stored_states, to_do
from uqbench.runner.watcher import Watcher
from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class MethodOutlook:
    """What is left of a method.

    Attributes:
        to_do: runs to execute.
        have: runs that need not be.
        seconds: of one core, for the runs to execute.
        megabytes: memory of a run; None where it was not measured yet.
    """

    method: str
    to_do: int
    have: int
    seconds: float
    megabytes: float | None


@dataclass(frozen=True)
class Outlook:
    """What is left of a plan.

    Attributes:
        states: of every run.
        methods: the slowest first.
        seconds: of one core, in all.
        basis: of the estimate, in words.
    """

    states: dict[Run, StoredRun]
    methods: tuple[MethodOutlook, ...]
    seconds: float
    basis: str


def outlook(plan: Plan, store: Store, watcher: Watcher) -> Outlook:
    """Say what would run, and estimate how long it would take.

    Args:
        plan: what was planned.
        store: holds earlier runs.
        watcher: is told what would run and why.
    """
    states = stored_states(plan, store)
    announce(plan, states, store, watcher)
    todo = to_do(states)
    known = Speeds(store.root).of(plan)
    alone = estimate(plan, todo, store, 1, known)
    seconds = dict.fromkeys((cell.method.name for cell in plan.cells), 0.0) | alone.by_method()
    methods = []
    for name in sorted(seconds, key=lambda name: -seconds[name]):
        runs = [run for run in plan.runs if run.method == name]
        left = sum(run in todo for run in runs)
        memory = known[name].megabytes if name in known else None
        methods.append(MethodOutlook(name, left, len(runs) - left, seconds[name], memory))
    return Outlook(states, tuple(methods), alone.seconds, alone.basis)
