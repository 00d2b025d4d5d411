"""The numbers that figures show: rliable's or the board's; figures as papers need them."""

import math
import re
import shutil
import struct
import xml.etree.ElementTree as ET
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
    catalog,
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
from uqbench_report.plots.render import WIDTHS, render, svg
from uqbench_report.plots.words import natural, number

from uqbench.boards import StoredBoard
from uqbench.boards.curves import mean_curves
from uqbench.errors import UqbenchError
from uqbench.figure import NotDrawableError
from uqbench.registry import Host

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
            rows = trust.frame(pd.read_csv(path), "mean")[0].set_index("role")
            lines = rows.index[rows.index != "method"]
            assert lines.is_unique
            assert rows.loc[lines, "y"].isna().all()  # coverage is of methods alone
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
    cell, rows = {"task": "t", "method": "m", "x": 0.5}, []
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
    assert (set(data["method"]), set(data["task"])) == ({"dqn", "qr-dqn"}, {"breakout"})
    assert set(board.pairs["first"]) | set(board.pairs["second"]) == {"dqn", "qr-dqn"}
    with pytest.raises(UqbenchError, match="qr-dqn"):
        showing(NIGHT, ["qrdqn"], [])


def letters(text: str) -> list[float]:
    """Heights of the letters of a printed SVG, in points."""
    root = ET.fromstring(text)
    unit = float(root.attrib["width"].removesuffix("pt")) / float(root.attrib["viewBox"].split()[2])
    return [unit * float(size) for size in re.findall(r'font-size="([\d.]+)px"', text)]


PRINTED = [
    (trust.figure, "minatar/night"),
    (coverage.figure, "minatar/night"),
    (intervals.figure, "minatar/night"),
    (pairs.figure, "windy-cliff/paper"),
    (curves.figure, "deepsea/demo"),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("figure", "place"), PRINTED)
def test_a_printed_figure_is_as_wide_as_the_paper_with_letters_of_7_points(figure, place, width):
    drawn = figure(StoredBoard.read(BOARDS / place))
    text = svg(drawn, width=width)
    points = float(ET.fromstring(text).attrib["width"].removesuffix("pt"))
    assert points <= WIDTHS[width]
    assert min(letters(text)) >= 7
    if drawn.name not in ("coverage", "pairs"):  # whose squares do not grow
        assert points > WIDTHS[width] - 7


def test_files_of_a_width_have_it_in_their_own_units(tmp_path):
    options = ["--what", "intervals", "--methods", "dqn,ua-dqn", "--width", "column"]
    options += ["--format", "svg,pdf,png,txt", "--to", str(tmp_path)]
    done = CliRunner().invoke(command, [str(NIGHT.folder), *options])
    assert done.exit_code == 0, done.output
    at = tmp_path / "minatar-night-intervals"
    root = ET.fromstring(at.with_suffix(".svg").read_text())
    width = float(root.attrib["width"].removesuffix("pt"))
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+)", at.with_suffix(".pdf").read_bytes())
    assert box is not None
    assert float(box[1]) == pytest.approx(width, abs=0.1)
    (pixels,) = struct.unpack(">I", at.with_suffix(".png").read_bytes()[16:20])
    assert pixels == pytest.approx(width / 72 * 300, abs=2)
    caption = at.with_suffix(".txt").read_text()
    assert caption.startswith("minatar · night: mean score (learning speed). Mean score")
    assert "0.342" not in caption  # numbers are in the figure


def test_a_method_has_one_color_in_all_figures_of_a_board():
    seen: dict[str, set[str]] = {}

    def read(part):
        if isinstance(part, dict):
            color = part.get("color")
            if isinstance(color, dict) and color.get("field") == "method":
                scale = color["scale"]
                for name, shade in zip(scale["domain"], scale["range"], strict=True):
                    seen.setdefault(name, set()).add(shade)
            part = list(part.values())
        if isinstance(part, list):
            for inner in part:
                read(inner)

    figures, _ = catalog.drawable(NIGHT)
    for figure in figures:
        with theme.alt.data_transformers.disable_max_rows():
            read(figure.chart.to_dict(validate=False))
    expected = [*theme.PALETTE, *[theme.FAINT] * 20]  # eight colors by the board's order, then gray
    assert seen == {name: {expected[i]} for i, name in enumerate(NIGHT.methods)}


def test_shares_are_between_0_and_1():
    figures = {figure.name: figure.data for figure in catalog.drawable(NIGHT)[0]}
    shares = {name: ["y", "low", "high"] for name in ("reliability", "pit", "training")}
    shares |= {"trust": ["y", "y_low", "y_high"], "coverage": ["share", "low", "high"]}
    shares["pairs"] = ["improvement", "low", "high"]
    for name, columns in shares.items():
        known = figures[name][columns].stack().dropna()
        assert len(known) > 10
        assert known.between(0, 1).all(), name
    for name in ("reliability", "pit"):
        found = figures[name].dropna()
        assert len(found) > 100
        assert found["y"].between(found["low"] - 1e-9, found["high"] + 1e-9).all(), name


def test_names_are_those_that_a_person_would_write(monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin")
    methods = set(NIGHT.methods)
    texts: set[str] = set()
    figures, _ = catalog.drawable(NIGHT)
    added, _ = catalog.further(NIGHT, None, Host.load())
    for figure in figures + added:
        texts |= {of.text or "" for of in ET.fromstring(svg(figure)).iter() if "text" in of.tag}
    assert not [text for text in texts - methods if "_" in text]
    assert {"Space Invaders", "mean score (learning speed)"} <= texts


def test_every_point_says_its_numbers_when_it_is_pointed_at():
    titles = re.findall(r"<title>([^<]*)</title>", svg(intervals.figure(NIGHT)))
    assert len(titles) == len(NIGHT.methods)
    row = NIGHT.leaderboard.iloc[0]
    assert f"{row['method']} {row['mean']:.3f} [" in titles[0]


def test_a_caption_says_what_is_seen_and_no_numbers_of_methods():
    for figure in catalog.drawable(NIGHT)[0]:
        caption = render(figure, "txt").decode()
        assert caption.startswith(figure.title.removesuffix("."))
        assert caption.count("\n") == 1
        assert not figure.numbers or figure.numbers not in caption


def test_bands_of_few_seeds_do_not_stretch_the_panels_of_learning_curves():
    figure = curves.figure(StoredBoard.read(BOARDS / "minatar" / "quick"))
    drawn = figure.chart.data
    for _, panel in drawn.groupby("task"):
        bottom, top = panel["value"].min(), panel["value"].max()
        assert panel["low"].min() >= bottom
        assert panel["high"].max() <= top + 0.25 * (top - bottom) + 1e-9
    assert figure.data["low"].min() < drawn["low"].min()  # the numbers are whole
