"""The difference that so many seeds show: the power of a t test, as its manual has it."""

import re
import shutil
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import uqbench
from uqbench.boards.detectable import detectable, detectable_note
from uqbench.registry import Host
from uqbench.results import Folder
from uqbench.statistics.levels import ALPHA, POWER
from uqbench.suites import make_plan, read_suites

LEADERBOARDS = Path(__file__).parents[2] / "leaderboards"


def said(text: str) -> float:
    """The difference in the sentence."""
    found = re.search(r"differ by ([\d.e-]+) of score, with 80 %", text)
    assert found is not None
    return float(found[1])


def test_it_is_found_with_the_power_that_is_said():
    """Two methods of one standard deviation, ten seeds: 4,000 t tests at the level of the board."""
    generator, seeds = np.random.default_rng(5), 10
    half = stats.t.ppf(1 - ALPHA / 2, 2 * seeds - 2) * sqrt(2 / seeds)
    away = said(detectable([(-half, half)], seeds, seeds))
    first, second = generator.normal(size=(2, 4_000, seeds))
    p = stats.ttest_ind(first + away, second, axis=1).pvalue
    assert np.mean(p < ALPHA) == pytest.approx(0.8, abs=0.04)


def test_more_seeds_show_less_and_three_are_the_fewest():
    intervals = [(0.0, 1.0), (0.5, 0.7), (-2.0, 1.0)]  # the median one has a width of 1
    shown = [said(detectable(intervals, 10, seeds)) for seeds in (3, 10, 40)]
    assert shown == sorted(shown, reverse=True)
    assert shown[1] / shown[2] == pytest.approx(2, rel=0.1)
    assert said(detectable([(0.0, 1.0)] * 3, 10, 10)) == shown[1]
    assert "2 seeds are too few to distinguish any" in detectable(intervals, 10, 2)


def test_a_comparison_says_what_a_plan_does():
    generator = np.random.default_rng(3)
    compared = uqbench.compare({name: generator.normal(size=(10, 2)) for name in "ab"})
    [pair] = compared.board.pairs
    assert detectable([(pair.difference.low, pair.difference.high)], 10, 10) in repr(compared)


@pytest.mark.parametrize("pairs", [1, 3])
def test_few_seeds_reach_as_far_as_students_quantiles_of_their_own_say(pairs):
    """From five seeds to three, of which a pair has four degrees of freedom, at a shared level."""
    level = 1 - ALPHA / 2 / pairs
    error = 0.5 / stats.t.ppf(level, 8) * (5 / 3) ** 0.5
    reach = error * (stats.t.ppf(level, 4) + stats.t.ppf(POWER, 4))
    assert f"differ by {reach:.2g} of score" in detectable([(0.0, 1.0)] * pairs, 5, 3)


def test_a_plan_is_told_what_its_seeds_show_by_the_first_whole_board_of_its_budget(tmp_path):
    """Pairs' intervals and the number of seeds then are the stored board's, recomputed here."""
    host = Host.load()
    suite = read_suites(host, check=()).suite("ube-terms")
    plan = make_plan(suite, host, "paper", seeds=range(7), device="cpu")
    at, roots = LEADERBOARDS / "ube-terms/paper", [Folder(tmp_path), Folder(LEADERBOARDS)]
    pairs = pd.read_csv(at / "pairs.csv").dropna(subset=["p_adjusted"])
    then = pd.read_csv(at / "scores.csv.gz").groupby(["method", "task"]).size().max()
    assert then != 7
    of = [*zip(pairs["difference_low"], pairs["difference_high"], strict=True)]
    expected = f"By {at}, {detectable(of, then, 7)}"
    assert detectable_note(plan, roots) == expected

    copy = tmp_path / "ube-terms/paper"
    shutil.copytree(at, copy)
    assert detectable_note(plan, roots) == expected.replace(str(at), str(copy))
    (copy / "pairs.csv").write_text("damaged")
    assert detectable_note(plan, roots) == expected
    (copy / "pairs.csv").unlink()
    assert detectable_note(plan, roots) == expected
    assert detectable_note(plan, roots[:1]) == ""
    unranked = replace(plan, budget=plan.budget.model_copy(update={"ranks": False}))
    assert detectable_note(unranked, roots) == ""
