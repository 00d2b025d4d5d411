"""Which stored runs the claims of a suite are judged by, and the prices of those that are open."""

from pathlib import Path

import pandas as pd
from uqbench_claims.api import budgets_with_runs
from uqbench_claims.judged import distinct, judged_claims

from uqbench.boards import StoredBoard, board_folders
from uqbench.registry import Host
from uqbench.suites import read_suites

ROOT = Path(__file__).parents[3]


def test_claims_are_judged_by_the_budget_that_most_of_them_need():
    """``cartpole`` has a longer board of three seeds, which no claim but two needs."""
    suite = read_suites(Host.load(), check=("cartpole",)).suite("cartpole")
    first, *others = budgets_with_runs(suite, ROOT / "leaderboards")
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


def test_every_open_claim_has_a_row_of_prices():
    boards = [StoredBoard(folder) for folder in board_folders(ROOT / "leaderboards")]
    claims = distinct(claim for board in boards for claim in judged_claims(board))
    known = sorted((of.board.title, of.id) for of in claims if of.verdict == "open")
    table = pd.read_csv(ROOT / "benchmarks" / "claim_prices.csv")
    written = sorted(zip(table["board"], table["claim"], strict=True))
    assert written == known, "write it again: python benchmarks/claim_prices.py"
