"""Measured speeds are kept beside the results, for the machine that they were measured on."""

from dataclasses import replace
from pathlib import Path

import pytest
from uqbench.runner.batching.speeds import FILE, MethodSpeed, Speeds

from uqbench.registry.plugins import Host
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites

SPEED = MethodSpeed(
    task="long", lanes=5, step_ms=1.25, gradient_step_ms=0.5, start_s=3.0, megabytes=17.0
)


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "toy"))
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
