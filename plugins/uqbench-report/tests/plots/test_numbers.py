"""The numbers that figures show: rliable's where it has the plot, the board's where it has them.

Also of which methods and tasks they are, and what cannot be drawn.
"""

import ast
import math
import re
import shutil
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import altair as alt
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rliable import metrics
from scipy.stats import binomtest
from uqbench_report.cli.plot import command
from uqbench_report.plots import (
    claims,
    coverage,
    curves,
    intervals,
    pairs,
    theme,
    trust,
    uncertainty,
)
from uqbench_report.plots.catalog import showing
from uqbench_report.plots.words import natural, number

from uqbench.boards import StoredBoard
from uqbench.boards.curves import mean_curves
from uqbench.errors import UqbenchError
from uqbench.figure import NotDrawableError

BOARDS = Path(__file__).parents[4] / "leaderboards"
BOARD = StoredBoard.read(BOARDS / "uncertainty-toy" / "paper")
NIGHT = StoredBoard.read(BOARDS / "minatar" / "night")


def test_pairs_are_rliables_both_ways():
    one, other = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [2.5], [0.0]])
    there, back = (metrics.probability_of_improvement(*of) for of in ((one, other), (other, one)))
    row = {"first": "one", "second": "other", "improvement": there, "improvement_low": 0.2}
    table = pd.DataFrame([{**row, "improvement_high": 0.9, "p_adjusted": 0.5}])
    found = pairs.frame(table, ["one", "other"]).set_index(["row", "column"])
    assert found.loc[("one", "other"), "improvement"] == pytest.approx(there, abs=1e-6)
    own = found.loc[("other", "one"), ["improvement", "low", "high"]]
    assert own.tolist() == pytest.approx([back, 0.1, 0.8], abs=1e-6)


def test_intervals_are_those_of_the_leaderboard():
    found = intervals.frame(BOARD.leaderboard, BOARD.ranking).set_index("method")
    csv = pd.read_csv(BOARD.folder / "leaderboard.csv", index_col="method")
    for name, end in (("estimate", ""), ("low", "_low"), ("high", "_high")):
        one, other = found[name].sort_index(), csv[BOARD.ranking + end].sort_index()
        pd.testing.assert_series_equal(one, other, check_names=False)


def test_who_may_be_first_in_the_figure_may_be_so_in_the_leaderboard_of_every_board():
    """Thirteen boards had methods of a rank set from 1 on in blue, which the best are above."""
    for path in BOARDS.glob("*/*/leaderboard.csv"):
        csv = pd.read_csv(path)
        found, known = intervals.frame(csv, "mean"), csv[csv["may_be_first"] == "yes"]
        assert set(found.loc[found["first"], "method"]) == set(known["method"]), path


def test_lines_of_trust_are_the_best_trivial_row_and_the_best_oracle_and_no_unranked_method():
    found = set()
    for path in BOARDS.glob("*/*/leaderboard.csv"):
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
    cell = {"task": "t", "method": "m", "x": 0.5}
    rows = []
    for seed in (0, 1, 2):
        for step, shift in ((10, 5.0), (20, 0.0)):
            own = {**cell, "seed": seed, "step": step}
            rows.append({**own, "curve": "reliability", "y": 0.4 + 0.1 * seed + shift})
            rows.append({**own, "curve": "sparsification", "y": 1.0})
    table = pd.DataFrame(rows)
    means = mean_curves(table)
    found = uncertainty.frame(means, "reliability")
    reach = 4.302653 * 0.1 / math.sqrt(3)  # Student's, of two degrees of freedom
    stored = means[means["curve"] == "reliability"][["y", "low", "high", "runs"]].iloc[0]
    assert stored.tolist() == pytest.approx([0.5, 0.5 - reach, 0.5 + reach, 3])
    assert found[["y", "runs"]].iloc[0].tolist() == [0.5, 3]
    two = uncertainty.frame(mean_curves(table[table["seed"] < 2]), "reliability")
    assert two["low"].isna().all()
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


def test_squares_are_the_coverages_of_tasks_csv():
    data, level = coverage.frame(NIGHT.tasks)
    assert level == 0.9
    csv = pd.read_csv(NIGHT.folder / "tasks.csv").set_index(["method", "task"])
    known = csv["q_coverage_90"].dropna()
    assert len(data) == len(known) == 12  # four methods that state intervals, three games
    found = data.set_index(["method", "task"])["share"]
    pd.testing.assert_series_equal(found.sort_index(), known.sort_index(), check_names=False)


def test_a_dot_is_where_the_interval_lies_beyond_the_band_around_the_stated_level():
    tasks = pd.DataFrame({"task": ["a", "b", "c", "d"], "method": "m"})
    tasks["coverage_90"] = [0.8, 0.97, 0.88, 0.0]
    tasks["coverage_90_low"] = [0.7, 0.96, 0.86, None]
    tasks["coverage_90_high"] = [0.84, 0.99, 0.89, None]
    data, _ = coverage.frame(tasks)
    assert data["off"].tolist() == [True, True, False, False]


@pytest.mark.parametrize("place", ["windy-cliff/paper", "ood-digits/paper"])
def test_a_board_of_one_task_or_without_intervals_has_no_coverage_by_task(place):
    with pytest.raises(NotDrawableError, match="one task, or no intervals"):
        coverage.figure(StoredBoard.read(BOARDS / place))


def test_rows_of_coverage_are_in_the_order_of_the_board():
    chart = coverage.figure(NIGHT).chart.to_dict(validate=False)
    order = chart["layer"][0]["encoding"]["y"]["sort"]
    assert order == [name for name in NIGHT.methods if name in set(order)]
    assert order[0] == "ua-dqn"


ONCE = pd.DataFrame({"method": ["one", "two"] * 2, "step": [10, 10, 20, 20]})
SAME = ONCE.assign(task="logged", metric="return", value=[0.1, 0.1, 0.2, 0.2], low=0.1, high=0.2)


def test_curves_that_recorded_data_make_the_same_for_all_methods_are_not_drawn():
    def drawn(data):
        return curves.figure(SimpleNamespace(curves=data, methods=["one", "two"], title="a board"))

    with pytest.raises(NotDrawableError, match="recorded data"):
        drawn(SAME)
    assert drawn(SAME.assign(value=[0.1, 0.1, 0.2, 0.3])).name == "curves"
    assert drawn(SAME[SAME["method"] == "one"]).name == "curves"


@pytest.mark.parametrize(("tasks", "own"), [(1, False), (2, False), (3, True), (4, False)])
def test_a_panel_has_its_own_axis_where_one_place_of_the_grid_is_empty(tasks, own):
    data = pd.DataFrame({"task": [f"task-{k}" for k in range(tasks)], "x": 0.0})
    made = theme.by_task(alt.Chart(data).mark_point().encode(x=alt.X("x:Q")), data["task"])
    assert (made.to_dict().get("resolve") == {"axis": {"x": "independent"}}) is own


def test_a_board_without_curves_of_uncertainty_or_with_damaged_ones_says_so(tmp_path):
    copied = shutil.copytree(BOARD.folder, tmp_path / "uncertainty-toy" / "paper")
    (copied / "uncertainty.parquet").unlink(missing_ok=True)
    with pytest.raises(NotDrawableError, match="has no curves of uncertainty: the budget"):
        uncertainty.figure(StoredBoard.read(copied), "reliability")
    for kept in ({"x": [1]}, {"task": [[1]]}):
        pd.DataFrame(kept).to_parquet(copied / "uncertainty.parquet")
        with pytest.raises(UqbenchError, match=r"uncertainty\.parquet is damaged"):
            uncertainty.figure(StoredBoard.read(copied), "reliability")


def test_a_figure_of_curves_says_how_far_from_perfect_each_method_is():
    figure = uncertainty.figure(StoredBoard.read(BOARDS / "priormdp-sbc" / "paper"), "reliability")
    gaps = (figure.data["y"] - figure.data["x"]).groupby(figure.data["method"]).mean()
    assert gaps["bql"] < -0.1 < gaps["psrl"]
    assert f"bql {gaps['bql']:+.3f}; " in figure.numbers


def test_a_figure_has_the_rows_of_the_selected_methods_and_tasks_alone():
    board = showing(NIGHT, ["dqn", "qr-dqn"], ["breakout"])
    data = curves.figure(board).data
    assert set(data["method"]) == {"dqn", "qr-dqn"}
    assert set(data["task"]) == {"breakout"}
    assert set(board.pairs["first"]) | set(board.pairs["second"]) == {"dqn", "qr-dqn"}
    with pytest.raises(UqbenchError, match="qr-dqn"):
        showing(NIGHT, ["qrdqn"], [])


def test_a_method_keeps_its_color_whichever_others_are_drawn():
    def color(names):
        chart = curves.figure(showing(NIGHT, names, ["breakout"])).chart
        scale = re.search(r"'domain': (\[.*?\]).*?'range': (\[.*?\])", str(chart.to_dict()))
        return dict(zip(*map(ast.literal_eval, scale.groups()), strict=True))["qr-dqn"]

    assert color(["qr-dqn"]) == color(["dqn", "ua-dqn", "qr-dqn"])


def test_a_png_is_written_of_some_methods(tmp_path):
    options = ["--what", "curves", "--methods", "dqn,ua-dqn", "--format", "png"]
    done = CliRunner().invoke(command, [str(NIGHT.folder), *options, "--to", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.iterdir()
    assert path.name == "minatar-night-curves.png"
    assert path.read_bytes().startswith(b"\x89PNG")
