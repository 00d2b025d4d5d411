"""Rows that a plugin adds to another one's suite: each by itself, and what was there stays."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from uqbench import Spec
from uqbench.registry import Added, Host
from uqbench.risk import RiskMeasure
from uqbench.suites import Catalog, make_plan, read_suites

ADDED = Path(__file__).with_name("added.toml").read_text("utf-8")


@dataclass(frozen=True)
class Worst(RiskMeasure):
    """The worst."""

    def __call__(self, values, probabilities, dim=-1):
        return values.amin(dim)


def catalog(host: Host, tmp_path: Path, text: str = ADDED) -> Catalog:
    path = tmp_path / "added.toml"
    path.write_text(text)
    host.suite_files.append((path, host.plugins[0]))
    return read_suites(host)


@pytest.fixture
def outside(host: Host) -> Host:
    added = Added({"risk measure": [Spec(name="worst", version="1", factory=Worst)]})
    host.register(name="worst", distribution="worst", version="1", load=lambda: added)
    return host


def digests(suite, host: Host, budget: str) -> dict:
    plan = make_plan(suite, host, budget, device="cpu")
    return {(run.task, run.method, run.seed): run.digest for run in plan.runs}


def test_every_kind_of_row_is_added(outside, tmp_path):
    found = catalog(outside, tmp_path)
    assert found.problems == ()
    suite = found.suite("toy")
    plan = make_plan(suite, outside, "far", device="cpu")
    methods = {"slow", "fast", "faster"}
    assert {(run.task, run.method) for run in plan.runs} == {("longer", name) for name in methods}
    assert suite.primary_metric(plan.budget).name == "bumps"
    assert [claim.id for claim, _ in plan.claims][-1] == "fast-bumps-less"


def test_boards_and_identities_that_were_there_stay(outside, tmp_path):
    before = read_suites(outside).suite("toy")
    after = catalog(outside, tmp_path).suite("toy")
    for budget in ("smoke", "paper"):
        assert digests(after, outside, budget) == digests(before, outside, budget)
        assert after.budget(budget) == before.budget(budget)
        assert make_plan(after, outside, budget, device="cpu").standard


def test_an_added_budget_that_names_no_tasks_has_all(outside, tmp_path):
    text = ADDED.replace('tasks = ["longer"]\nprimary = "bumps"\n', "")
    text = text.replace('metric = "bumps"', 'metric = "online_return"')
    found = catalog(outside, tmp_path, text)
    assert found.problems == ()
    plan = make_plan(found.suite("toy"), outside, "far", device="cpu")
    assert {run.task for run in plan.runs} == {"short", "long", "longer"}


BAD_ROWS = [
    ('environment = "corridor"\nconfig = { length = 9 }', 'environment = "coridor"',
     "tasks.longer.environment: there is no environment 'coridor'", "task"),
    ("events_per_episode/bumps", "events_per_episode/bmps", "there is no event", "metric"),
    ('primary = "bumps"', 'primary = "bmups"', "there is no metric 'bmups'", "budget"),
    ('agent = "walker"', 'agent = "wlaker"', "no agent 'wlaker'", "method"),
    ('kind = "order"', 'kind = "ordr"', "no claim kind 'ordr'", "claim"),
    ("[[extend.toy.claims]]", "[[extend.toy.clams]]", "unknown key 'clams'", "claim"),
    ("longer = { zero = 0.0, one = 5.0 }", "short = { zero = 0.0, one = 5.0 }",
     "those of 'short' are the suite's", "constants"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message", "lost"), BAD_ROWS)
def test_a_bad_row_is_told_and_the_others_stand(outside, tmp_path, old, new, message, lost):
    assert old in ADDED
    found = catalog(outside, tmp_path, ADDED.replace(old, new, 1))
    assert message in found.problems[0].reason
    suite = found.suite("toy")
    stands = {
        "task": "longer" in [task.name for task in suite.tasks],
        "metric": "bumps" in [metric.name for metric in suite.metrics],
        "constants": "longer" in suite.normalization["online_return"].constants,
        "budget": "far" in suite.budgets,
        "method": "faster" in [method.name for method in suite.methods],
        "claim": "fast-bumps-less" in [claim.id for claim in suite.claims],
    }
    assert not stands[lost]
    assert "worst" in [metric.name for metric in suite.metrics]
    if lost in ("method", "claim", "constants"):
        assert [name for name, there in stands.items() if not there] == [lost]
