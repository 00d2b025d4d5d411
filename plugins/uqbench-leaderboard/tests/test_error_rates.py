"""How often equal methods are told apart, on boards that are drawn to be like one."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from uqbench_leaderboard import error_rates as module
from uqbench_leaderboard.error_rates import BRACKET, RANK, Errors, equal_boards, error_rates

from uqbench.boards import Board, gather
from uqbench.boards.tables import csv_text
from uqbench.pages.board_folders import made_once
from uqbench.results import Store
from uqbench.suites import Selection

BOARDS = Path(__file__).parents[3] / "leaderboards"


def normal(methods=9, seeds=6, tasks=1, apart=0.0):
    """Runs of methods whose means are so far apart, of standard deviation 0.02."""
    generator, means = np.random.default_rng(5), 0.9 + apart * np.arange(methods)
    values = means[:, None, None] + 0.02 * generator.standard_normal((methods, seeds, tasks))
    return {f"m{k}": of for k, of in enumerate(values)}


@pytest.fixture
def fewer(monkeypatch):
    monkeypatch.setattr(module, "BOARDS", 200)


@pytest.mark.parametrize("paired", ["", "seeds", "runs"])
@pytest.mark.parametrize("apart", [0.0, 1.0])
def test_normal_runs_err_about_as_often_as_stated_however_far_apart(fewer, paired, apart):
    """200 boards; 11 % are four standard errors above 5 %."""
    wrong = error_rates(normal(apart=apart, seeds=10), "mean", paired=paired)
    assert np.mean(wrong[RANK]) < 0.11
    assert np.mean(wrong[BRACKET]) < 0.11


@pytest.mark.parametrize("paired", ["", "seeds", "runs"])
def test_a_procedure_without_any_adjustment_is_found(fewer, monkeypatch, paired):
    """On methods that are equal, and on those that are far apart, where nothing else errs."""
    monkeypatch.setattr(module, "some_differ", lambda p, family: min(p) <= 0.05)
    for apart in (0.0, 1.0):
        wrong = error_rates(normal(apart=apart), "mean", paired=paired)[RANK]
        assert np.mean(wrong) > 0.25
        assert module.is_above(wrong)


def test_as_many_errors_as_5_percent_lets_expect_are_not_above_it():
    assert not module.is_above([True] * 35 + [False] * 465)
    assert module.is_above([True] * 38 + [False] * 462)


def test_a_run_that_fell_falls_on_drawn_boards_too():
    """Once in n runs, in whatever row it was; means stay the same."""
    scores = normal(seeds=10)
    scores["m0"][3] = 0.0
    assert module.Law(scores["m0"]).fall[0] < -0.8
    for seedwise in (False, True):
        drawn = [of for of, _ in equal_boards(scores, None, seedwise=seedwise, number=400)]
        fallen = np.array([of["m0"] < 0.5 for of in drawn])
        assert 0.08 < fallen.mean() < 0.12
        assert not any((of["m1"] < 0.5).any() for of in drawn)
        means = [np.mean([of[name] for of in drawn]) for name in ("m0", "m1")]
        assert means[0] == pytest.approx(means[1], abs=0.03)


def test_seeds_that_methods_share_go_together_on_drawn_boards_too():
    generator = np.random.default_rng(2)
    world = generator.standard_normal((20, 1))
    scores = {n: world + 0.3 * generator.standard_normal((20, 1)) for n in "ab"}
    drawn = [of for of, _ in equal_boards(scores, None, seedwise=True, number=100)]
    together = [np.corrcoef(of["a"][:, 0], of["b"][:, 0])[0, 1] for of in drawn]
    own = np.corrcoef(scores["a"][:, 0], scores["b"][:, 0])[0, 1]
    assert np.mean(together) == pytest.approx(own, abs=0.1)


def test_runs_of_a_known_range_stay_in_it():
    generator = np.random.default_rng(3)
    scores = {n: generator.random((8, 1)) for n in "abc"}
    drawn = list(equal_boards(scores, [(0.0, 1.0)], seedwise=False, number=500))
    assert all(0 <= runs.min() <= runs.max() <= 1 for of, _ in drawn for runs in of.values())
    for name in "abc":
        assert np.mean([of[name] for of, _ in drawn]) == pytest.approx(drawn[0][1], abs=0.02)


def test_equal_runs_have_no_bracket_that_could_miss_and_no_pair_that_could_differ(fewer):
    wrong = error_rates({name: np.full((6, 2), 0.5) for name in "ab"}, "mean", paired="")
    assert wrong[BRACKET] == []
    assert not any(wrong[RANK])


def test_two_seeds_have_no_error_rates():
    few = {name: of[:2] for name, of in normal().items()}
    assert error_rates(few, "mean", paired="") == {BRACKET: [], RANK: []}


def test_the_rates_are_the_same_however_often_they_are_computed(fewer):
    one, other = (error_rates(normal(), "mean", paired="seeds") for _ in range(2))
    assert one == other


def test_a_board_says_them_and_whether_they_are_more_than_stated():
    text = "printed,wrong,error,boards,above\nbracket,0.0712,0.0101,500,no\nrank,0.2000,0.0231,500,"
    said = Errors.sentence(text + "yes\n")
    assert said == (
        "A check by simulation, of 500 boards of equally good methods whose runs vary as here: 7 % "
        "of the 95 % intervals missed the true mean and 20 % of the boards showed a difference "
        "where there is none (± 2 percentage points, `errors.csv`). Failures rarer than those seen "
        "are not simulated. **Ranks are less sure here than 95 %.**"
    )
    assert "less sure" not in Errors.sentence(text + "no\n")
    assert Errors.sentence("printed,wrong,error,boards,above\n") == ""
    assert Errors.sentence("printed,wrong,error,resamples\nrank,0.2,0.02,300\n") == ""  # older


@pytest.fixture
def empty(host, tmp_path):
    """A board of which no run is made."""
    plan = Selection("toy", "paper").plan(host, "cpu")
    return Board.of(plan, gather(plan, Store(tmp_path)))


def test_a_table_is_made_with_a_board_and_then_kept(host, empty):
    text = csv_text(Errors(empty).frame)
    assert text == "printed,wrong,error,boards,above\n"  # without runs there is none
    assert "errors.csv" not in empty.tables  # which a check computes again
    assert made_once(empty, host)["errors.csv"] == text.encode()
    without = replace(empty, plan=replace(empty.plan, board_tables=()))
    assert "errors.csv" not in made_once(without, host)


def test_a_procedure_without_adjustment_would_be_found_on_every_board_of_several_pairs():
    """``benchmarks/planted_procedure.py`` has drawn them; a new board needs a row (its name)."""
    with (BOARDS.parent / "benchmarks" / "planted_procedure.csv").open(encoding="utf-8") as file:
        rows = {row["board"]: row for row in csv.DictReader(file)}
    assert {*rows} == {"/".join(path.parts[-3:-1]) for path in BOARDS.glob("*/*/manifest.json")}
    alone = ("one pair", "two rows vary", "no ranks")
    several = [row for row in rows.values() if row["found"] not in alone]
    assert len(several) > 30
    assert [row["board"] for row in several if row["found"] != "yes"] == []
    assert all(float(row["planted"]) > float(row["own"]) for row in several)


def test_no_board_has_ranks_that_are_less_sure_than_stated():
    tables = {path: pd.read_csv(path) for path in BOARDS.glob("*/*/errors.csv")}
    assert tables
    above = [at for at, rows in tables.items() if (rows.get("above", rows["wrong"]) == "yes").any()]
    assert above == []


def test_where_nothing_is_ranked_no_pair_is_compared(monkeypatch):
    """A search has a hundred rows: their pairs on each drawn board took minutes."""
    ranked = error_rates(normal(), "mean", paired="")
    monkeypatch.setattr("uqbench_leaderboard.error_rates.measure", None)
    found = error_rates(normal(), "mean", paired="", ranks=False)
    assert found == {BRACKET: ranked[BRACKET], RANK: []}
