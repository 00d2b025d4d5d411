"""How fast each method's steps are on this machine: measured once, kept with the results.

``.speeds.json`` is a cache: delete it and it is measured again. The time of a step, and that of a
gradient step, depend on the task, the method's config and how the update is executed, not on the
number of steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from uqbench.identity import digest_of
from uqbench.results.files import read_bytes, write_data
from uqbench.results.records import MOST_BYTES, Seconds
from uqbench.runner.batching.node_kind import node_kind
from uqbench.suites.plan import Cell, Plan

FILE = ".speeds.json"


@dataclass(frozen=True)
class MethodSpeed:
    """What a method's runs take, in one of as many processes as there will be.

    Attributes:
        task: that was measured; other tasks of the suite are assumed to be alike.
        lanes: runs of a process.
        step_ms: milliseconds of one run's step; without its gradient steps where these could be
            told apart.
        gradient_step_ms: of one run's gradient step; 0 where they could not.
        start_s: seconds of a batch before its steps have that speed: loading, compiling.
        megabytes: of a run's networks, replay buffer and all else that its agent keeps.
    """

    task: str
    lanes: Annotated[int, Field(ge=1)]
    step_ms: Annotated[Seconds, Field(gt=0)]
    gradient_step_ms: Seconds
    start_s: Seconds
    megabytes: Seconds


class Speeds:
    """The speeds measured so far, by kind of machine.

    Args:
        root: the folder of results.
        machine: kind of machine, in words; empty for this one's.
    """

    def __init__(self, root: Path, machine: str = "") -> None:
        self._path = root / FILE
        self._machine = machine or node_kind()
        self._all: dict[str, dict[str, MethodSpeed]] = {}
        try:
            read = json.loads(read_bytes(self._path, MOST_BYTES))
            self._all = {
                name: {key: TypeAdapter(MethodSpeed).validate_python(s) for key, s in own.items()}
                for name, own in read.items()
            }
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            self._all = {}  # missing, of another version, or damaged: measured again

    def of(self, plan: Plan) -> Mapping[str, MethodSpeed]:
        """The speed of this kind of machine by method, where it is known."""
        own = self._all.get(self._machine, {})
        keys = {cell.method.name: key_of(plan, cell) for cell in reversed(plan.cells)}
        return {method: own[key] for method, key in keys.items() if key in own}

    def add(self, plan: Plan, measured: Iterable[tuple[Cell, MethodSpeed]]) -> None:
        """Keep what was measured, in memory and on disk."""
        own = self._all.setdefault(self._machine, {})
        own.update({key_of(plan, cell): speed for cell, speed in measured})
        table = {
            name: {key: asdict(speed) for key, speed in speeds.items()}
            for name, speeds in self._all.items()
        }
        text = json.dumps(table, indent=2, sort_keys=True) + "\n"
        write_data(self._path, text.encode())


def key_of(plan: Plan, cell: Cell) -> str:
    """The key of a speed: the method, with all that its step depends on."""
    identity = next(iter(cell.runs)).identity
    depends = {
        "suite": identity["suite"],
        "method": identity["method"],
        "numerics": plan.budget.numerics,
        "device": identity["device"],
    }
    return f"{plan.suite.name}/{cell.method.name}/{digest_of(depends)[:12]}"
