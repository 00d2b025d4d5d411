"""Which stored runs the claims of a suite are judged by."""

from pathlib import Path

from uqbench_claims.api import budgets_with_runs

from uqbench.registry import Host
from uqbench.suites import read_suites


def test_claims_are_judged_by_the_budget_that_most_of_them_need():
    """``cartpole`` has a longer board of three seeds, which no claim but two needs."""
    suite = read_suites(Host.load(), check=("cartpole",)).suite("cartpole")
    first, *others = budgets_with_runs(suite, Path(__file__).parents[3] / "leaderboards")
    assert first == "paper"
    assert "paper-1e6" in others


def test_a_budget_is_longer_by_the_steps_of_all_of_its_seeds(tmp_path):
    suite = read_suites(Host.load(), check=()).suite("cartpole")
    of = {"alone": {"steps": 100, "seeds": 2}, "many": {"steps": 50, "seeds": 30}}
    short = suite.budgets["smoke"]
    budgets = {name: short.model_copy(update=own) for name, own in of.items()}
    for name in budgets:
        (tmp_path / suite.name / name).mkdir(parents=True)
    found = budgets_with_runs(suite.model_copy(update={"budgets": budgets}), tmp_path)
    assert found == ["many", "alone"]
