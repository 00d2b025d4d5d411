"""How long a plan is said to take."""

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
from uqbench_sentinel.config import SentinelConfig

from uqbench.registry.plugins import Host
from uqbench.runner.forecast import forecast
from uqbench.runner.timing import MethodSpeed
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites

NOMINAL = {"smoke": 2.0, "paper": 0.5}  # milliseconds a step
STEPS = {"smoke": 100, "paper": 1_000}


@dataclass
class Stored:
    """A result store that holds timed runs, and checkpoints, by folder."""

    found: dict[str, Any]
    root: Path = Path("nowhere")

    def records(self, suite: str) -> Any:
        return ((PurePosixPath(suite, folder), found) for folder, found in self.found.items())


def timed(steps_per_s: float, device: str = "cpu") -> SimpleNamespace:
    timing = SimpleNamespace(steps_per_s=steps_per_s)
    record = SimpleNamespace(identity={"device": device}, timing=timing, checkpoint=None)
    return SimpleNamespace(record=record)


def saved(step: int) -> SimpleNamespace:
    record = SimpleNamespace(
        timing=None, checkpoint=SimpleNamespace(step=step, folder="a/checkpoint")
    )
    return SimpleNamespace(record=record)


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Four runs under the budget ``paper``."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "toy"))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    host = Host.load()
    suite = read_suites(host).suite("toy")
    smoke = suite.budgets["smoke"]
    budgets = {
        name: smoke.model_copy(update={"step_ms": NOMINAL[name], "steps": STEPS[name]})
        for name in NOMINAL
    }
    suite = suite.model_copy(update={"budgets": budgets})
    return make_plan(
        suite, host, "paper", device="cpu", methods=["fast"], tasks=["long"], seeds=range(4)
    )


def seconds(plan: Plan, found: dict[str, Any], workers: int = 1) -> float:
    store: Any = Stored(found)
    return forecast(plan, plan.runs, store, workers).seconds


def test_before_any_run_it_is_the_suites_figure(plan):
    assert seconds(plan, {}) == pytest.approx(4 * 1_000 * 0.5e-3)
    assert seconds(plan, {}, workers=2) == pytest.approx(2 * 1_000 * 0.5e-3)


def test_runs_are_as_fast_as_earlier_ones_of_the_budget(plan):
    found = {"paper/long/fast/7-a": timed(100.0), "smoke/long/fast/0-a": timed(1.0)}
    assert seconds(plan, found) == pytest.approx(4 * 1_000 / 100)


def test_runs_of_another_budget_tell_how_slow_the_machine_is_against_the_nominal_time(plan):
    found = {"smoke/long/fast/0-a": timed(1000 / (3 * NOMINAL["smoke"]))}
    assert seconds(plan, found) == pytest.approx(3 * 4 * 1_000 * 0.5e-3)


@pytest.mark.parametrize(
    "found",
    [
        {"gone/long/fast/0-a": timed(1.0)},
        {"paper/short/fast/0-a": timed(1.0)},
        {"paper/long/slow/0-a": timed(1.0)},
        {"paper/long/fast/0-a": timed(1.0, device="cuda")},
    ],
)
def test_runs_of_something_else_tell_nothing(plan, found):
    assert seconds(plan, found) == seconds(plan, {})


def test_saved_steps_are_not_taken_again(plan):
    folder = plan.runs[0].folder.relative_to("toy")
    assert seconds(plan, {str(folder): saved(400)}) == pytest.approx(3_600 * 0.5e-3)


def test_a_measured_speed_comes_before_other_budgets_and_after_the_budgets_own(plan):
    speed = MethodSpeed(
        task="long", lanes=2, step_ms=3.0, gradient_step_ms=0.0, start_s=10.0, megabytes=1.0
    )

    def with_measured(found):
        store: Any = Stored(found)
        return forecast(plan, plan.runs, store, 1, {"fast": speed}).seconds

    assert with_measured({}) == pytest.approx(4 * (1_000 * 3e-3 + 10 / 2))
    assert with_measured({"smoke/long/fast/0-a": timed(1.0)}) == with_measured({})
    assert with_measured({"paper/long/fast/7-a": timed(100.0)}) == pytest.approx(4 * 1_000 / 100)


def test_the_total_is_a_sum_over_methods_the_slowest_first(plan):
    host = Host.load()
    both = make_plan(plan.suite, host, "paper", device="cpu", tasks=["long"], seeds=range(4))
    speeds = {
        name: MethodSpeed("long", 1, step_ms=ms, gradient_step_ms=0.0, start_s=0.0, megabytes=1.0)
        for name, ms in (("slow", 0.5), ("fast", 5.0))
    }
    store: Any = Stored({})
    found = forecast(both, both.runs, store, 2, speeds)
    assert list(found.by_method()) == ["fast", "slow"]
    assert found.by_method() == pytest.approx({"fast": 20.0, "slow": 2.0})
    assert found.seconds == pytest.approx(11.0)


def test_gradient_steps_that_are_dense_where_speed_was_measured_are_counted(plan):
    """Of 1,000 steps 44 have an update: 1, 3, 6, …, 990; of those, 31 come after step 100."""
    config = SentinelConfig(schedule="triangular", updates_per_event=2)
    cell = replace(plan.cells[0], config=config)
    plan = replace(plan, cells=(cell,))
    speed = MethodSpeed("long", 1, step_ms=1.0, gradient_step_ms=50.0, start_s=0.0, megabytes=1.0)

    def seconds(found, speeds):
        store: Any = Stored(found)
        return forecast(plan, plan.runs[:1], store, 1, speeds).seconds

    folder = str(plan.runs[0].folder.relative_to("toy"))
    assert seconds({}, {"fast": speed}) == pytest.approx(1.0 + 44 * 2 * 0.05)
    assert seconds({folder: saved(100)}, {"fast": speed}) == pytest.approx(0.9 + 31 * 2 * 0.05)
    of_earlier = {"paper/long/fast/7-a": timed(100.0)}
    assert seconds(of_earlier, {}) == pytest.approx(10.0)
    assert seconds(of_earlier | {folder: saved(100)}, {}) == pytest.approx(10.0 * 31 / 44)
