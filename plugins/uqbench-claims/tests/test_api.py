"""Which runs claims are judged by, prices of open ones, one method against another."""

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from uqbench_claims.against import Bracket, against
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


@dataclass(frozen=True)
class Stored:
    """A board of which there are two tables."""

    tables: dict
    title: str = "toy · paper"
    ranking: str = "iqm"

    def table(self, name):
        return self.tables.get(name)


def board(difference=0.02, half=0.04, p=0.4, adjusted=0.8, pairs=3):
    """Methods a and b, six seeds; the other pairs only count."""
    rows = [("a", "b", difference, difference - half, difference + half, p, adjusted)]
    rows += [("c", f"d{i}", 1.0, 0.5, 1.5, 0.01, 0.03) for i in range(pairs - 1)]
    ends = ["difference", "difference_low", "difference_high"]
    names = ["first", "second", *ends, "p", "p_adjusted"]
    scores = pd.DataFrame({"method": ["a"] * 6 + ["b"] * 6, "seed": [*range(6)] * 2})
    return Stored({"pairs.csv": pd.DataFrame(rows, columns=names), "scores.csv": scores})


def test_an_interval_narrows_with_the_root_of_the_seeds_and_widens_with_its_level():
    """2.5758 / 1.9600 of normal theory; each side by itself."""
    bracket = Bracket(1.0, 0.0, 3.0, 10, 0.05)
    assert bracket.interval(0.05) == pytest.approx((0.0, 3.0))
    assert bracket.interval(0.05, 40) == pytest.approx((0.5, 2.0))
    assert bracket.interval(0.01) == pytest.approx((1 - 1.3142, 1 + 2 * 1.3142), rel=1e-3)


def test_what_is_not_decided_is_told_with_the_seeds_that_would_decide_it():
    """Of se .04/2.394 at six seeds, at 1 − .05/3 and 80 %:
    6 · ((2.394 + .842) · .04 / 2.394 / .02)² = 43.9 seeds."""
    said = against(board(), "a", "b")
    assert said.startswith(
        "a is not significantly better than b on toy · paper: +0.02 [-0.02, 0.06] in IQM, "
        "adjusted p = 0.8 (3 comparisons); if there is a difference, "
        "about 38 more seeds would decide ("
    )
    other = against(board(), "b", "a")
    assert other.startswith("b is not significantly worse than a on toy · paper: -0.02 [-0.06, ")
    assert re.search("about .*", said)[0] == re.search("about .*", other)[0]
    alone = against(board(pairs=1), "a", "b")
    assert "p = 0.4; if there is a difference, about" in alone
    assert alone.endswith("; adding seeds after looking needs a correction.")


def test_what_is_decided_or_cannot_be_compared_has_no_price():
    apart = against(board(difference=0.2, p=0.001, adjusted=0.003), "b", "a")
    assert apart == (
        "b is significantly worse than a on toy · paper: -0.2 [-0.24, -0.16] in IQM, "
        "adjusted p = 0.003 (3 comparisons)."
    )
    assert against(board(p=float("nan"), adjusted=float("nan")), "a", "b") == (
        "a against b on toy · paper: +0.02 in IQM, and no interval, since all runs of each are "
        "equal."
    )
    assert "10,000 seeds would not decide" in against(board(difference=0.0), "a", "b")


def test_a_row_that_is_not_ranked_is_compared_by_itself():
    said = against(board(p=0.03, adjusted=float("nan")), "a", "b")
    assert said.startswith("a is significantly better than b")
    assert said.endswith("p = 0.03.")
