"""Methods are timed in long plans, and their speeds kept beside the results, by machine."""

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from uqbench_sentinel.config import SentinelConfig

from uqbench.registry.plugins import Host
from uqbench.runner.forecast import Pace
from uqbench.runner.timing import (
    FILE,
    MethodSpeed,
    Speeds,
    gradient_steps,
    measure,
    time_per_step,
    worth_measuring,
)
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites

TOY = Path(__file__).parents[1] / "toy"
SPEED = MethodSpeed(
    task="long", lanes=5, step_ms=1.25, gradient_step_ms=0.5, start_s=3.0, megabytes=17.0
)


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    host = Host.load()
    return make_plan(read_suites(host).suite("toy"), host, device="cpu", tasks=["long"])


def test_a_speed_is_found_again_by_whoever_reads_the_file(plan, tmp_path):
    Speeds(tmp_path).add(plan, [(plan.cells[0], SPEED)])
    assert Speeds(tmp_path).of(plan) == {"slow": SPEED}


def test_a_speed_is_that_of_a_machine_a_config_and_a_mode(plan, tmp_path):
    Speeds(tmp_path, "this").add(plan, [(plan.cells[0], SPEED)])
    assert Speeds(tmp_path, "this").of(plan) == {"slow": SPEED}
    assert Speeds(tmp_path, "another").of(plan) == {}
    host = Host.load()
    others = (
        make_plan(
            plan.suite, host, device="cpu", tasks=["long"], settings={"slow": {"forward": 0.5}}
        ),
        replace(plan, budget=plan.budget.model_copy(update={"numerics": "compiled"})),
    )
    assert [dict(Speeds(tmp_path, "this").of(other)) for other in others] == [{}, {}]
    shorter = make_plan(plan.suite, host, device="cpu", tasks=["long"], steps=10, seeds=[3])
    assert Speeds(tmp_path, "this").of(shorter) == {"slow": SPEED}


def test_two_machines_share_a_folder(plan, tmp_path):
    Speeds(tmp_path, "one").add(plan, [(plan.cells[0], SPEED)])
    Speeds(tmp_path, "two").add(plan, [(plan.cells[0], replace(SPEED, step_ms=9.0))])
    assert Speeds(tmp_path, "one").of(plan)["slow"].step_ms == 1.25
    assert Speeds(tmp_path, "two").of(plan)["slow"].step_ms == 9.0


@pytest.mark.parametrize("text", ["", "[]", '{"this": {"a": {}}}', '{"this": 3}'])
def test_a_file_that_cannot_be_read_is_measured_again(plan, tmp_path, text):
    (tmp_path / FILE).write_text(text)
    assert Speeds(tmp_path, "this").of(plan) == {}


def test_methods_are_measured_in_long_plans_where_they_are_not_known(plan):
    todo = set(plan.runs)
    for known, seconds, expected in (
        ((), 180.0, ["slow", "fast"]),
        (("slow",), 180.0, ["fast"]),
        ((), 179.0, []),
    ):
        batches = worth_measuring(plan, todo, known, 2, seconds)
        assert [batch.cell.method.name for batch in batches] == expected
        assert all(len(batch.runs) == 2 for batch in batches)
    of_slow = {run for run in todo if run.method == "slow"}
    [batch] = worth_measuring(plan, of_slow, (), 2, 1e6)
    assert batch.cell.method.name == "slow"


def test_each_method_is_timed_and_one_that_fails_is_left_out(plan):
    batches = worth_measuring(plan, set(plan.runs), (), 2, 1e6)
    broken = replace(batches[0].cell, config=None)
    batches.append(replace(batches[0], cell=broken))
    found = {cell.method.name: speed for cell, speed in measure(batches, 2)}
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
    learning = gradient_steps(config, 150, 100)
    assert time_per_step(took, learning) == pytest.approx((0.002, 0.5))
    assert time_per_step(took, gradient_steps(object(), 150, 100)) == (mean(took), 0.0)
    always = replace(config, schedule="periodic", update_period=1)
    assert time_per_step([0.5, 0.5], gradient_steps(always, 150, 2)) == (0.5, 0.0)
