"""Lanes and processes: chosen by the budget, by a measurement, or by default."""

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from uqbench.runner.batching.autotune import Arrangement, arrange, fastest, method_speeds
from uqbench.runner.batching.throughput import (
    LANES,
    Speed,
    measure_methods,
    measure_speeds,
    time_per_step,
)
from uqbench.runner.pace import Pace
from uqbench_sentinel.config import SentinelConfig

from uqbench.registry.plugins import Host
from uqbench.runner.batching import autotune
from uqbench.runner.batching.batches import Batch, default_lanes
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites

TOY = Path(__file__).parents[2] / "toy"
LONG = {"fast": 1e6}
"""Seconds by method of a plan for which a measurement pays."""


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Twelve seeds of a method written for lanes."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    host = Host.load()
    suite = read_suites(host).suite("toy")
    return make_plan(
        suite, host, device="cpu", methods=["fast"], tasks=["long"], seeds=list(range(12))
    )


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A measurement of known outcome; holds the number of cores each was made with."""
    asked: list[int] = []

    def speeds(_batch: Batch, cores: int) -> list[Speed]:
        asked.append(cores)
        return [Speed(2, 4, 900.0), Speed(5, 2, 800.0)]

    monkeypatch.setattr(autotune, "measure_speeds", speeds)
    return asked


def test_the_fastest_of_the_measured_that_keeps_every_process_busy():
    speeds = [Speed(1, 2, 900.0), Speed(5, 2, 1200.0), Speed(10, 2, 1300.0), Speed(10, 1, 700.0)]
    assert fastest(speeds, runs=20) == speeds[2]
    assert fastest(speeds, runs=19) == speeds[1]
    assert fastest(speeds, runs=1) == speeds[0]


def test_a_long_plan_is_measured(plan, measured):
    chosen = arrange(plan, plan.runs, "cpu", None, 4, LONG)
    assert (chosen.lanes, chosen.processes) == (2, 4)
    assert chosen.measured_with == plan.cells[0]
    assert measured == [4]


def test_processes_that_the_user_asked_for_are_kept(plan, measured):
    assert arrange(plan, plan.runs, "cpu", 2, 4, LONG).processes == 2
    assert arrange(plan, plan.runs, "cpu", 2, 4, LONG).lanes == 5
    assert measured == [2, 2]


def test_where_nothing_could_be_measured_the_default_is_taken(plan, measured):
    assert arrange(plan, plan.runs, "cpu", 3, 4, LONG) == Arrangement(default_lanes(12, 3), 3)


def test_a_short_plan_is_not_measured(plan, measured):
    short = {"fast": 4 * 599.0}
    assert arrange(plan, plan.runs, "cpu", None, 4, short) == Arrangement(default_lanes(12, 4), 4)
    assert measured == []


def test_the_lanes_of_the_budget_are_taken_as_they_are(plan, measured):
    plan = replace(plan, budget=plan.budget.model_copy(update={"lanes": 7}))
    assert arrange(plan, plan.runs, "cpu", None, 4, LONG) == Arrangement(7, 4)
    assert measured == []


def test_on_a_gpu_nothing_is_measured(plan, measured):
    assert arrange(plan, plan.runs, "cuda", None, 4, LONG).processes == 1
    assert measured == []


def test_steps_are_timed_in_processes_of_their_own(plan):
    cell = plan.cells[0]
    batch = Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, "cpu")
    speeds = measure_speeds(batch, 2)
    assert {(speed.lanes, speed.processes) for speed in speeds} == {
        (lanes, processes) for lanes in LANES for processes in (1, 2)
    }
    assert all(speed.steps_per_s > 0 for speed in speeds)


def test_lanes_are_measured_with_the_method_that_takes_most_of_the_time(plan, monkeypatch):
    host = Host.load()
    both = make_plan(plan.suite, host, device="cpu", tasks=["long"], seeds=list(range(12)))
    assert [cell.method.name for cell in both.cells] == ["slow", "fast"]
    asked = []
    monkeypatch.setattr(autotune, "measure_speeds", lambda batch, _: asked.append(batch) or [])
    for longest, other in (("slow", "fast"), ("fast", "slow")):
        arrange(both, both.runs, "cpu", None, 4, {longest: 9e5, other: 1e5})
        assert asked.pop().cell.method.name == longest


def test_methods_are_measured_in_long_plans_where_they_are_not_known(plan, monkeypatch):
    host = Host.load()
    both = make_plan(plan.suite, host, device="cpu", tasks=["long"], seeds=list(range(12)))
    asked = []
    monkeypatch.setattr(autotune, "measure_methods", lambda b, n: asked.append((b, n)) or [])
    for known, seconds, expected in (
        ((), 1e6, ["slow", "fast"]),
        (("slow",), 1e6, ["fast"]),
        ((), 2 * 179.0, []),
    ):
        method_speeds(both, both.runs, known, "cpu", 2, seconds)
        batches = asked.pop()[0] if asked else []
        assert [batch.cell.method.name for batch in batches] == expected


def test_each_method_is_timed_and_one_that_fails_is_left_out(plan):
    host = Host.load()
    both = make_plan(plan.suite, host, device="cpu", tasks=["long"], seeds=[0, 1])
    batches = [Batch(c, both.budget.on(c.task), both.suite.metrics, "cpu") for c in both.cells]
    broken = replace(batches[0].cell, config=None)
    batches.append(replace(batches[0], cell=broken))
    found = {cell.method.name: speed for cell, speed in measure_methods(batches, 2)}
    assert set(found) == {"slow", "fast"}
    for speed in found.values():
        assert speed.lanes == 2
        assert speed.step_ms > 0
        assert speed.start_s >= 0


def test_gradient_steps_are_told_apart_by_the_steps_that_have_none():
    """From step 150 on: updates after 153, 171, 190, …."""
    config = SentinelConfig(schedule="triangular", updates_per_event=3)
    whole = Pace(0.002, 0.5, config.gradient_steps)
    took = [whole.seconds(step, step + 1) for step in range(150, 250)]
    assert sum(seconds > 1 for seconds in took) == 5
    found = time_per_step(took, 150, config)
    assert (found.step_s, found.gradient_step_s) == pytest.approx((0.002, 0.5))
    assert found.seconds(0, 1_000) == pytest.approx(whole.seconds(0, 1_000))
    assert time_per_step(took, 150, object()) == Pace(mean(took))
    always = replace(config, schedule="periodic", update_period=1)
    assert time_per_step([0.5, 0.5], 150, always) == Pace(0.5)
