"""Lanes of a process: the budget's, or a default that keeps every worker busy."""

from pathlib import Path
from typing import Any

from uqbench.registry import Host
from uqbench.results import Store
from uqbench.runner import Batch, events, execute, make_batch_groups
from uqbench.runner.batches import CPU_LANES, default_lanes, lanes_elsewhere
from uqbench.runner.complete import Execution
from uqbench.runner.drive import Here, Where
from uqbench.runner.watcher import Watcher
from uqbench.suites import Plan, make_plan, read_suites


def sizes(plan: Plan, host: Host, root: Path, workers: int) -> list[int]:
    execution = Execution(host, "cpu", Store(root), Watcher(), workers, Here(Where(), host, root))
    return [len(batch.runs) for group in execution.groups(plan, set(plan.runs)) for batch in group]


def test_lanes_are_the_budgets_or_the_default_and_no_part_of_an_identity(host, tmp_path):
    suite = read_suites(host).suite("toy")
    chosen = {"methods": ["fast"], "tasks": ["long"], "seeds": range(21)}
    plan = make_plan(suite, host, device="cpu", **chosen)
    assert sizes(plan, host, tmp_path, 1) == [5, 5, 5, 5, 1]
    assert sizes(plan, host, tmp_path, 3) == [1] * 21
    stated = {name: b.model_copy(update={"lanes": 7}) for name, b in suite.budgets.items()}
    other = make_plan(suite.model_copy(update={"budgets": stated}), host, device="cpu", **chosen)
    assert sizes(other, host, tmp_path, 3) == [7, 7, 7]
    assert [run.digest for run in other.runs] == [run.digest for run in plan.runs]


def test_elsewhere_no_more_batches_are_made_than_are_executed_at_once():
    assert lanes_elsewhere(20, 10) == 2
    assert lanes_elsewhere(21, 10) == 3
    assert lanes_elsewhere(10_000, None) == CPU_LANES
    assert lanes_elsewhere(3, None) == 1
    assert default_lanes(1000, 4) == CPU_LANES


def test_a_batch_too_large_for_memory_is_halved_others_are_taken_apart(host, tmp_path, monkeypatch):
    import torch

    plan = make_plan(
        read_suites(host).suite("toy"), host, "smoke", device="cpu", methods=["fast"],
        tasks=["short"], seeds=range(5),
    )  # fmt: skip
    [group] = make_batch_groups(plan, set(plan.runs), "cpu", 5)

    def sizes(error: Exception) -> list[list[int]]:
        from toy_uqbench.walker import Walker

        def observe(walker: Walker, step: Any) -> None:
            raise error

        monkeypatch.setattr(Walker, "observe", observe)
        found: list[Batch] = []
        execute(group, Store(tmp_path), host, lambda event: _parts(event, found), 0.0)
        return [[run.seed for run in part.runs] for part in found]

    memory = torch.OutOfMemoryError("CUDA out of memory")
    assert sizes(memory) == [[0, 1, 2], [3, 4]]
    assert sizes(RuntimeError("it stumbled")) == [[0], [1], [2], [3], [4]]


def _parts(event: events.Event, found: list[Batch]) -> None:
    if isinstance(event, events.Split):
        found += event.parts
