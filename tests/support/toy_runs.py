"""Runs of the toy suite's batches, and what their stores hold."""

import os
from typing import Any

from uqbench import AgentSpec
from uqbench.registry import Added, Host
from uqbench.results import RunState, Store
from uqbench.runner import Batch
from uqbench.runner.events import Started
from uqbench.suites import Plan, Suite, make_plan, read_suites


class Command:
    """Whoever unpickles it runs a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        return os.system, (self.command,)


def began(told: list[Any]) -> list[int]:
    """The steps that batches began with."""
    return [event.step for event in told if isinstance(event, Started)]


def texts(told: list[Any]) -> list[str]:
    """The notices among events."""
    return [event.text for event in told if hasattr(event, "text")]


def digests(store: Store, batch: Batch) -> list[str]:
    """Of the results of a batch's runs, which are finished."""
    found = [store.find(run) for run in batch.runs]
    assert {one.state for one in found} == {RunState.FINISHED}, found[0].reason
    return [one.record.digests["results"] for one in found if one.record is not None]


def planted(host: Host, suite: Suite, factory: Any, **spec: Any) -> Suite:
    """The suite with a planted agent as its one method, which a plugin registers."""
    added = Added({"agent": [AgentSpec(name="planted", version="1", factory=factory, **spec)]})
    of = {"distribution": "planted", "package": "uqbench", "version": "1"}
    host.register(name="planted", load=lambda: added, **of)
    own = suite.methods[-1].model_copy(update={"agent": "planted", "config": {}, "tasks": {}})
    return suite.model_copy(update={"methods": (own,), "baseline": own.name})


def plan_of(host: Host, *budget: str, suite: "Suite | str" = "toy", **chosen: Any) -> Plan:
    """A plan of a suite, or of one by its name, on a CPU."""
    own = read_suites(host, check=()).suite(suite) if isinstance(suite, str) else suite
    return make_plan(own, host, *budget, device="cpu", **chosen)


def first_batch(plan: Plan) -> Batch:
    """All runs of a plan's first cell."""
    return Batch(plan.cells[0], plan.budget, plan.suite.metrics, "cpu")
