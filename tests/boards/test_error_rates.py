"""Errors of brackets and ranks on runs that are resampled from a board's own."""

import numpy as np
import pytest

from uqbench.boards.error_rates import (
    BRACKET,
    RANK,
    error_rates,
    errors_csv,
    errors_sentence,
    resampled,
)  # fmt: skip
from uqbench.boards.leaderboard import Board
from uqbench.boards.scores import gather
from uqbench.results.store import Store
from uqbench.suites.selection import Selection


def normal(methods=9, seeds=6, tasks=1, apart=0.0):
    """Runs of methods whose means are so far apart, of standard deviation 0.02."""
    generator = np.random.default_rng(5)
    means = 0.9 + apart * np.arange(methods)
    values = means[:, None, None] + 0.02 * generator.standard_normal((methods, seeds, tasks))
    return {f"m{k}": of for k, of in enumerate(values)}


def wrong(scores, what, **changed):
    return float(np.mean(error_rates(scores, "mean", **{"paired": False, **changed})[what]))


def test_normal_runs_err_about_as_often_as_stated():
    """300 resamples; 10 % are four standard errors above 5 %."""
    scores = normal()
    assert wrong(scores, BRACKET) < 0.1
    assert wrong(scores, RANK) < 0.1


def test_where_one_run_of_one_method_failed_the_ranks_are_said_to_be_wrong_often():
    """A resample of six lacks the failure with probability (5/6)⁶ = 33 %.

    The method, whose mean is 5/6 of its other runs', is then told apart as the best of nine. Of
    boards of this law (one run in ten of one method of nine) 53 % have a false rank.
    """
    scores = normal()
    scores["m0"] += 0.1
    scores["m0"][2] = 0.0
    assert 0.2 < wrong(scores, RANK) < 0.4


def test_methods_far_apart_have_no_false_rank():
    assert wrong(normal(apart=1.0), RANK) == 0.0


def test_equal_runs_have_no_bracket_that_could_miss():
    same = {name: np.full((6, 2), 0.5) for name in "ab"}
    assert error_rates(same, "mean", paired=False)[BRACKET] == []


def test_two_seeds_have_no_error_rates():
    few = {name: of[:2] for name, of in normal().items()}
    assert error_rates(few, "mean", paired=False) == {BRACKET: [], RANK: []}


def test_each_cell_has_runs_of_its_own_and_a_paired_suite_whole_seeds():
    seeds = np.arange(5.0)[:, None] + np.array([[0.0, 10.0]])
    both = {"a": seeds, "b": seeds + 100}
    own = resampled(both, np.random.default_rng(1), seedwise=False)
    assert {*own["a"][:, 1]} <= {*seeds[:, 1]}
    assert not np.array_equal(own["a"][:, 0] + 10, own["a"][:, 1])
    whole = resampled(both, np.random.default_rng(1), seedwise=True)
    assert np.array_equal(whole["a"][:, 0] + 10, whole["a"][:, 1])
    assert np.array_equal(whole["a"] + 100, whole["b"])


def test_the_rates_are_the_same_however_often_they_are_computed():
    assert error_rates(normal(), "mean", paired=True) == error_rates(normal(), "mean", paired=True)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("", ""),
        (
            "bracket,0.0712,0.0101,300\nrank,0.2000,0.0231,300\n",
            "On resampled runs of this board, 95 % brackets miss in 7 % and some rank is wrong in "
            "20 %, ± 2 (`errors.csv`, docs/coverage.md).",
        ),
    ],
)
def test_a_board_says_them_in_thirty_words(rows, says):
    sentence = errors_sentence(f"printed,wrong,error,resamples\n{rows}")
    assert sentence == says
    assert len(sentence.split()) <= 30


def test_a_board_without_runs_has_an_empty_table(host, tmp_path):
    plan = Selection("toy", "paper").plan(host, "cpu")
    board = Board.of(plan, gather(plan, Store(tmp_path)))
    assert errors_csv(board) == "printed,wrong,error,resamples\n"
