"""Where all that was begun fails for one reason it is the machine's fault, else a method's."""

from pathlib import Path

import pytest
from toy_runs import plan_of

from uqbench.identity import Run
from uqbench.registry import Host
from uqbench.results import RunState, Store
from uqbench.runner import Batch, execute, make_batch_groups
from uqbench.runner.events import Event, Failed, Finished, Split, Started
from uqbench.runner.first_failures import FirstFailures

WHY = "AttributeError: module 'numpy' has no attribute 'row_stack'"


@pytest.fixture
def batches(host: Host) -> dict[str, Batch]:
    """A batch of three runs of each method on each task."""
    plan = plan_of(host)
    groups = make_batch_groups(plan, set(plan.runs), "cpu", 3)
    return {f"{b.cell.task.name}/{b.cell.method.name}": b for (b,) in groups}


def reason(batches: dict[str, Batch], *told: Event) -> str | None:
    first = FirstFailures([(batch,) for batch in batches.values()])
    reasons = [first.common_reason(event) for event in told]
    assert not any(reasons[:-1])
    return reasons[-1]


def test_two_methods_on_two_tasks_that_raise_alike_are_enough(batches):
    one, two, three = (batches[name] for name in ("short/slow", "short/fast", "long/slow"))
    assert reason(batches, Started(one), Split(one, WHY), Started(two), Split(two, WHY)) is None
    told = Started(one), Split(one, WHY), Split(two, WHY), Started(three)
    assert reason(batches, *told, Failed(three, WHY)) == WHY
    assert reason(batches, *told, Failed(three, "KeyError: 3")) is None


def test_alike_is_but_for_numbers(batches):
    one, two = batches["short/slow"], batches["long/fast"]
    assert reason(batches, Split(one, "ValueError: lane 1"), Split(two, "ValueError: lane 2"))


@pytest.mark.parametrize("over", ["finished", "at work", "of one method", "of one task", "limit"])
def test_it_is_a_methods_own_fault_where(over, batches):
    one, two, other = batches["short/slow"], batches["long/fast"], batches["short/fast"]
    at_work = [Started(other)]
    before = {"finished": [*at_work, Finished(other, 1.0, {})], "at work": at_work}.get(over, [])
    two = {"of one method": batches["long/slow"], "of one task": other}.get(over, two)
    why = "it took more than 1 minutes (--run-minutes)" if over == "limit" else WHY
    assert reason(batches, *before, Split(one, why), Split(two, why)) is None


def test_runs_of_one_cell_are_each_tried(batches):
    one = batches["short/slow"]
    parts = [one.of([run]) for run in one.runs]
    told = Started(one), Split(one, WHY), *(Failed(part, WHY) for part in parts)
    assert reason({"short/slow": one}, *told) is None


def tried(batch: Batch, host: Host, out: Path) -> tuple[list[Event], dict[Run, RunState]]:
    told: list[Event] = []
    store = Store(out)
    execute((batch,), store, host, told.append)
    return told, {run: store.find(run).state for run in batch.runs}


def test_a_batch_without_its_environment_is_not_retried(batches, host, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_NO_CORRIDOR", "3")
    told, found = tried(batches["short/slow"], host, tmp_path)
    assert [type(event) for event in told] == [Started, Failed]
    assert told[-1].reason.startswith("RuntimeError: the corridor is closed (")
    assert set(found.values()) == {RunState.FAILED}
    told, found = tried(batches["long/slow"], host, tmp_path)
    assert set(found.values()) == {RunState.FINISHED}
