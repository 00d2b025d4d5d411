"""The numbers that figures show: rliable's where it has the plot, the board's where it has them."""

import math
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rliable import metrics
from scipy.stats import binomtest
from uqbench_report.plots import claims, intervals, pairs, trust, uncertainty
from uqbench_report.plots.words import natural, number

from uqbench.boards import StoredBoard
from uqbench.boards.curves import mean_curves
from uqbench.figure import NotDrawableError

BOARD = StoredBoard.read(Path(__file__).parents[4] / "leaderboards" / "uncertainty-toy" / "paper")


def test_pairs_are_rliables_both_ways():
    one, other = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [2.5], [0.0]])
    expected = metrics.probability_of_improvement(one, other)
    row = {"first": "one", "second": "other", "improvement": expected, "improvement_low": 0.2}
    table = pd.DataFrame([{**row, "improvement_high": 0.9, "p_adjusted": 0.5}])
    found = pairs.frame(table, ["one", "other"]).set_index(["row", "column"])
    assert found.loc[("one", "other"), "improvement"] == pytest.approx(expected, abs=1e-6)
    back = found.loc[("other", "one")]
    assert back["improvement"] == pytest.approx(
        metrics.probability_of_improvement(other, one), abs=1e-6
    )
    assert (back["low"], back["high"]) == (pytest.approx(0.1), pytest.approx(0.8))


def test_intervals_are_those_of_the_leaderboard():
    found = intervals.frame(BOARD.leaderboard, BOARD.ranking).set_index("method")
    csv = pd.read_csv(BOARD.folder / "leaderboard.csv", index_col="method")
    for name, column in (("estimate", ""), ("low", "_low"), ("high", "_high")):
        pd.testing.assert_series_equal(
            found[name].sort_index(), csv[BOARD.ranking + column].sort_index(), check_names=False
        )


def test_who_may_be_first_in_the_figure_may_be_so_in_the_leaderboard_of_every_board():
    """Thirteen boards had methods of a rank set from 1 on in blue, which the best are above."""
    for path in BOARD.folder.parents[1].glob("*/*/leaderboard.csv"):
        csv = pd.read_csv(path)
        found = intervals.frame(csv, "mean")
        assert set(found.loc[found["first"], "method"]) == set(
            csv.loc[csv["may_be_first"] == "yes", "method"]
        ), path


def test_lines_of_trust_are_the_best_trivial_row_and_the_best_oracle_and_no_unranked_method():
    found = set()
    for path in BOARD.folder.parents[1].glob("*/*/leaderboard.csv"):
        with suppress(NotDrawableError):
            rows = trust.frame(pd.read_csv(path), "mean")[0]
            lines = rows.loc[rows["role"] != "method", "role"]
            assert lines.is_unique
            found |= set(lines)
    assert found == {"trivial", "oracle"}


def test_a_claim_is_drawn_with_its_region_and_what_was_published():
    found = claims.frame(BOARD.claims, {})
    csv = pd.read_csv(BOARD.folder / "claims.csv")
    compared = csv[csv["estimate"].notna()]
    for ours, theirs in (("estimate", "estimate"), ("low", "low"), ("above", "must_be_above")):
        np.testing.assert_array_equal(found[ours], compared[theirs])
    assert found["published"].isna().all()
    first = found["claim"].iloc[0]
    named = claims.frame(BOARD.claims, {first: {"": 0.25}})
    assert named.loc[named["claim"] == first, "published"].eq(0.25).all()


def test_curves_of_uncertainty_are_of_the_last_occasion():
    rows = [
        {"task": "t", "method": "m", "seed": seed, "step": step, "curve": name, "x": x, "y": y}
        for seed in (0, 1, 2)
        for step, shift in ((10, 5.0), (20, 0.0))
        for name, x, y in (
            ("reliability", 0.5, 0.4 + 0.1 * seed + shift),
            ("sparsification", 0.5, 1.0),
        )
    ]
    table = pd.DataFrame(rows)
    means = mean_curves(table)
    found = uncertainty.frame(means, "reliability")
    reach = 4.302653 * 0.1 / math.sqrt(3)  # Student's, of two degrees of freedom
    expected = [0.5, 0.5 - reach, 0.5 + reach, 3]
    stored = means[means["curve"] == "reliability"]
    assert stored[["y", "low", "high", "runs"]].iloc[0].tolist() == pytest.approx(expected)
    assert found[["y", "runs"]].iloc[0].tolist() == [0.5, 3]
    assert (
        uncertainty.frame(mean_curves(table[table["seed"] < 2]), "reliability")["low"].isna().all()
    )
    with pytest.raises(NotDrawableError, match="no run has the curve 'pit'"):
        uncertainty.frame(means, "pit")


@pytest.mark.parametrize("hits", [0, 2, 300, 1000])
def test_the_band_of_a_share_of_hits_is_wilsons(hits):
    cell = {"task": "t", "method": "m", "step": 1, "curve": "pit", "x": 0.5}
    rows = [{**cell, "seed": seed, "y": float(seed < hits)} for seed in range(1000)]
    found = uncertainty.frame(mean_curves(pd.DataFrame(rows)), "pit").iloc[0]
    known = binomtest(hits, 1000).proportion_ci(method="wilson")
    if 0 < hits < 1000:
        assert (found["low"], found["high"]) == pytest.approx((known.low, known.high), abs=2e-4)
    else:  # all runs agree
        assert found["low"] == found["y"] == found["high"]


@pytest.mark.parametrize("kind", ["reliability", "pit"])
def test_bands_of_shares_stay_between_0_and_1(kind):
    board = StoredBoard.read(BOARD.folder.parents[1] / "minatar" / "night")
    found = uncertainty.figure(board, kind).data.dropna()
    assert len(found) > 100
    assert (found["low"] >= 0).all()
    assert (found["high"] <= 1).all()
    assert found["y"].between(found["low"] - 1e-9, found["high"] + 1e-9).all()


def test_intervals_of_coverage_stay_between_0_and_1():
    board = StoredBoard.read(BOARD.folder.parents[1] / "minatar" / "night")
    found, _ = trust.frame(board.leaderboard, board.ranking)
    assert found["y_low"].min() >= 0
    assert found["y_high"].max() <= 1


def test_a_method_has_the_same_color_and_dash_in_every_figure_of_a_board():
    methods = [f"m{i}" for i in range(12)]
    seen: dict[str, set[tuple[str, str]]] = {}
    for drawn in (methods, methods[3:], ["m9", "m1"]):
        data = pd.DataFrame({"method": drawn, "task": "t", "x": 0.5, "y": 0.5, "low": 0, "high": 1})
        chart = uncertainty.chart(data, "pit", methods).to_dict(validate=False)
        line = chart["spec"]["layer"][-1]["encoding"]
        color, dash = line["color"]["scale"], line["strokeDash"]["scale"]
        assert sorted(color["domain"]) == sorted(drawn)
        for name, one, other in zip(color["domain"], color["range"], dash["range"], strict=True):
            seen.setdefault(name, set()).add((one, str(other)))
    assert {name: len(drawn) for name, drawn in seen.items()} == dict.fromkeys(methods, 1)
    assert len(set.union(*seen.values())) == len(methods)


def test_names_are_sorted_by_their_numbers_and_numbers_have_a_minus():
    assert sorted(["t-10", "t-4"], key=natural) == ["t-4", "t-10"]
    assert [number(x) for x in (0.5, -12.345, 1234.5, 0.0)] == ["0.500", "−12.3", "1234", "0.000"]
