"""What is left of a plan, and how long it would take: nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from uqbench.identity import Run
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.runner.batching.speeds import Speeds
from uqbench.runner.estimates import estimate
from uqbench.runner.states import announce, stored_states, to_do
from uqbench.runner.watcher import Watcher
from uqbench.suites.plan import Plan

FEW = 5
"""Stored runs whose size is looked up."""


@dataclass(frozen=True)
class MethodOutlook:
    """What is left of a method.

    Attributes:
        to_do: runs to execute.
        have: runs that need not be.
        seconds: of one core, for the runs to execute.
        megabytes: memory of a run; None where it was not measured yet.
        disk: megabytes of the runs to execute once they are stored, as large as those that are;
            None where there are none.
    """

    method: str
    to_do: int
    have: int
    seconds: float
    megabytes: float | None
    disk: float | None


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


def _disk(runs: Sequence[Run], states: Mapping[Run, StoredRun], store: Store) -> float | None:
    """Megabytes of a stored run, the mean over a few of them; None if there are none."""
    stored = [run for run in runs if states[run].state is RunState.FINISHED][:FEW]
    sizes = [
        sum(path.stat().st_size for path in store.folder(run).iterdir() if path.is_file())
        for run in stored
    ]
    return mean(sizes) / 1e6 if sizes else None


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
        disk = _disk(runs, states, store)
        methods.append(
            MethodOutlook(
                name, left, len(runs) - left, seconds[name], memory,
                None if disk is None else left * disk,
            )
        )  # fmt: skip
    return Outlook(states, tuple(methods), alone.seconds, alone.basis)
