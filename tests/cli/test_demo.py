"""``uqbench demo``: what a newcomer sees in the first minute."""

import pytest
from click.testing import CliRunner

from uqbench.cli.demo import command
from uqbench.registry.plugins import Host
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites


def test_the_demo_is_ten_seeds_of_six_methods_on_two_worlds():
    host = Host.load()
    plan = make_plan(
        read_suites(host, check=("deepsea",)).suite("deepsea"), host, "demo", device="cpu"
    )
    methods = [name for name, role in plan.roles.items() if role == "method"]
    assert len(methods) == 6
    assert {run.task for run in plan.runs} == {"deepsea-4", "deepsea-6"}
    assert len(plan.runs) == 2 * 10 * len(plan.roles)
    assert plan.budget.ranks


@pytest.mark.long  # a minute on two cores
def test_the_demo_ranks_and_says_whose_intervals_can_be_trusted(tmp_path):
    done = CliRunner().invoke(command, ["--out", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert any(line.startswith("psrl is first of 6 methods.") for line in lines)
    assert lines[-1] == f"report: {tmp_path / 'demo.html'} (open it)"
    assert (tmp_path / "demo.html").is_file()
