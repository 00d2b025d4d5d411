"""Lanes of a process: the budget's, or a default; shared GPUs; who executes batches."""

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_runs import plan_of

from uqbench.api.status import jobs
from uqbench.errors import UqbenchError
from uqbench.executor import ORDERS
from uqbench.registry import Added, Host
from uqbench.registry.packages import DRIVERS
from uqbench.results import Store
from uqbench.runner import events, execute, make_batch_groups
from uqbench.runner.batches import CPU_LANES, default_lanes, lanes_elsewhere
from uqbench.runner.complete import Execution
from uqbench.runner.device import share_out, visible
from uqbench.runner.drive import Here, Where, driver_of
from uqbench.runner.executors.local import run_locally
from uqbench.runner.watcher import Watcher
from uqbench.specs import ExecutorSpec
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
    assert (lanes_elsewhere(20, 10), lanes_elsewhere(21, 10)) == (2, 3)
    assert (lanes_elsewhere(10_000, None), lanes_elsewhere(3, None)) == (CPU_LANES, 1)
    assert default_lanes(1000, 4) == CPU_LANES


def test_a_batch_too_large_for_memory_is_halved_others_are_taken_apart(host, tmp_path, monkeypatch):
    plan = plan_of(host, "smoke", methods=["fast"], tasks=["short"], seeds=range(5))
    [group] = make_batch_groups(plan, set(plan.runs), "cpu", 5)

    def sizes(error: Exception) -> list[list[int]]:
        def observe(walker: Any, step: Any) -> None:
            raise error

        monkeypatch.setattr("toy_uqbench.walker.Walker.observe", observe)
        told: list[Any] = []
        execute(group, Store(tmp_path), host, told.append, 0.0)
        split = [event for event in told if isinstance(event, events.Split)]
        return [[run.seed for run in part.runs] for event in split for part in event.parts]

    assert sizes(torch.OutOfMemoryError("CUDA out of memory")) == [[0, 1, 2], [3, 4]]
    assert sizes(RuntimeError("it stumbled")) == [[0], [1], [2], [3], [4]]


TOY = Path(__file__).parents[1] / "toy"


SHARES = [
    ("01", 0.25, None, "01010101"), ("3", 0.3, None, "333"), ("01", 0.5, 3, "010"),
    ("01", 0.0, 3, "010"), ("", 0.5, 2, "")]  # fmt: skip


@pytest.mark.parametrize(("gpus", "each", "workers", "expected"), SHARES)
def test_each_process_has_a_gpu_and_the_first_ones_differ(gpus, each, workers, expected):
    assert share_out(list(gpus), each, workers) == list(expected)


def test_a_batch_takes_one_gpu_at_most():
    with pytest.raises(UqbenchError, match="gpus=2: a batch computes on one GPU"):
        share_out(["0", "1"], 2.0, None)


def test_the_gpus_that_the_user_allows_are_those_that_are_used(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, 6")
    assert visible() == ["4", "6"]


@pytest.mark.long
def test_workers_see_the_gpu_that_they_were_given_and_no_other(host, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    chosen = {"methods": ["fast"], "tasks": ["short"]}
    plan = plan_of(host, "smoke", settings={"fast": {"step_seconds": 0.01}}, **chosen)
    log = tmp_path / "gpus"
    monkeypatch.setenv("TOY_GPUS", str(log))
    groups = make_batch_groups(plan, set(plan.runs), "cpu", 1)
    list(run_locally(groups, tmp_path / "results", 2, 0.0, gpus=["5", "7"]))
    assert sorted(log.read_text().split()) == ["5", "7"]


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without drivers of packages."""
    found = metadata.entry_points

    def entry_points(**asked: Any) -> Any:
        return metadata.EntryPoints() if asked.get("group") == DRIVERS else found(**asked)

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_this_machine_is_the_harness_own_and_takes_no_config(host, tmp_path):
    driver = driver_of(Where(), host, tmp_path)
    assert isinstance(driver, Here)
    with pytest.raises(UqbenchError, match="--cancel ends what was submitted"):
        driver.cancel(None)
    with pytest.raises(UqbenchError, match="--executor local"):
        driver_of(Where(config={"partition": "gpu"}), host, tmp_path)


LACKING = {
    "slurm": "driver of slurm is .*pip install uqbench-cluster$",
    "ray": r"driver of ray is .*pip install 'uqbench-cluster\[ray\]'$",
    "slrum": "There is no executor 'slrum'",
}


@pytest.mark.parametrize("name", LACKING)
def test_an_executor_whose_package_is_not_installed_names_it_if_there_is_one(name, host, tmp_path):
    with pytest.raises(UqbenchError, match=LACKING[name]):
        driver_of(Where(name), host, tmp_path)


def test_another_packages_executor_needs_the_driver_of_orders(host, tmp_path, without_package):
    spec = ExecutorSpec(name="grid", version="1", factory=lambda context, config: None)
    added = Added({"executor": [spec]})
    host.register(name="grid", distribution="grid", version="1", load=lambda: added)
    with pytest.raises(UqbenchError, match="driver of orders is in the package uqbench-cluster"):
        driver_of(Where("grid"), host, tmp_path)


def test_status_says_that_nobody_is_there_to_ask_about_orders(tmp_path, without_package):
    assert jobs(tmp_path) == []
    (tmp_path / ORDERS).mkdir()
    (tmp_path / ORDERS / f"{'0' * 16}.json").write_text("{}")
    [said] = jobs(tmp_path)
    assert said.startswith("1 order: the driver of orders is in the package uqbench-cluster")
