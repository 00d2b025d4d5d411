"""Names beside points: none over another, none nearer to another's point than to its own."""

import re
from itertools import combinations
from math import hypot
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from uqbench_report.plots import trust
from uqbench_report.plots.labels import LETTERS, TALL, label_positions
from uqbench_report.plots.render import svg

from uqbench.boards import StoredBoard, board_folders
from uqbench.figure import NotDrawableError

BOARDS = Path(__file__).parents[4] / "leaderboards"
SIZE = (400.0, 300.0)


def boxes(placed):
    """Left, top, right, bottom and own point of each name, in pixels."""
    for row in placed.itertuples():
        width = sum(LETTERS.get(letter, 6.2) for letter in row.method)
        top = row.label_y - TALL / 2
        yield row.method, (row.label_x, top, row.label_x + width, top + TALL), (row.x, row.y)


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] - 1e-6 and b[1] < a[3] - 1e-6


def distance(box, point):
    return hypot(*(max(box[k] - point[k], 0, point[k] - box[k + 2]) for k in (0, 1)))


def check(placed, size):
    """No name covers another; each is nearest to its own point, or a line leads to it outside."""
    names = list(boxes(placed))
    assert not any(overlap(a, b) for (_, a, _), (_, b, _) in combinations(names, 2))
    for name, box, point in names:
        others = [distance(box, other) for method, _, other in names if method != name]
        if box[0] > size[0]:
            line = placed.set_index("method").loc[name, ["line_x", "line_y"]]
            assert tuple(line) == (box[0], (box[1] + box[3]) / 2), name
        else:
            assert distance(box, point) < min(others, default=np.inf), name


@pytest.mark.parametrize("many", [1, 2, 5, 12, 22])
def test_no_name_covers_another_or_is_nearest_to_anothers_point(many):
    generator = np.random.default_rng(many)
    for share in (1.0, 0.05):  # all over the panel, and in one corner of it
        at = share * generator.random((many, 2)) * SIZE
        points = pd.DataFrame({"method": [f"method-{i}" for i in range(many)]})
        points["x"], points["y"] = at[:, 0], at[:, 1]
        check(label_positions(points, SIZE), SIZE)


def test_names_of_few_points_stand_beside_them_and_across_no_bar():
    points = pd.DataFrame({"method": ["a", "b"], "x": [80.0, 320.0], "y": [240.0, 60.0]})
    placed = label_positions(points, SIZE)
    assert (abs(placed["label_x"] - placed["x"]) < 20).all()
    assert (placed["line_x"] == placed["x"]).all()  # no line leads to a name that is near
    barred = label_positions(points, SIZE, [(80.0, 240.0, 200.0, 240.0)]).iloc[0]
    assert barred["label_y"] != 240.0


CROWDED = 16
"""Methods of a board from which on most names stand in the margin, with a line to their points."""


@pytest.mark.parametrize("wide", [1.0, 0.6])
def test_no_name_of_a_committed_board_is_nearest_to_anothers_point(wide):
    drawn = beside = 0
    for folder in board_folders(BOARDS):
        board = StoredBoard.read(folder)
        try:
            data, level = trust.frame(board.leaderboard, board.ranking)
        except NotDrawableError:
            continue
        placed = trust.chart(data, level, "score", board.finding, wide).layer[-1].data
        check(placed, (trust.WIDTH * wide, np.inf))
        assert set(placed["method"]) <= set(board.methods)
        if len(placed) < CROWDED:
            drawn += len(placed)
            beside += (placed["label_x"] < trust.WIDTH * wide).sum()
    assert drawn > 70
    assert beside > 0.7 * drawn


def test_points_are_drawn_where_their_names_are_placed_beside_them():
    """Of a board whose scores are far from 0."""
    figure = trust.figure(StoredBoard.read(BOARDS / "deepsea-deep" / "paper"))
    marks = r'translate\(([\d.]+),([\d.]+)\)"[^>]*><title>([^:]+): score'
    drawn = {name: (float(x), float(y)) for x, y, name in re.findall(marks, svg(figure))}
    placed = figure.chart.layer[-1].data.set_index("method")
    assert set(drawn) == set(placed.index)
    for name, point in drawn.items():
        assert point == pytest.approx(tuple(placed.loc[name, ["x", "y"]]), abs=0.1), name


def test_trust_has_coverage_of_methods_alone_and_one_baseline_of_a_kind():
    data, level = trust.frame(StoredBoard.read(BOARDS / "minatar" / "quick").leaderboard, "mean")
    assert level == 0.9
    assert data.loc[data["role"] != "method", "y"].isna().all()
    assert list(data.loc[data["role"] != "method", "method"]) == ["uniform-random"]
    assert (data["role"] == "method").sum() == 5
