"""Names beside points: none over another, none nearer to another's point than to its own."""

from itertools import combinations
from math import hypot
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.figure import NotDrawableError
from uqbench.plots import trust
from uqbench.plots.labels import LETTER, TALL, label_positions

BOARDS = Path(__file__).parents[2] / "leaderboards"
SIZE = (400.0, 300.0)
ENDS = ((0.0, 1.0), (0.0, 1.0))


def boxes(placed):
    """Left, top, right, bottom and own point of each name, in pixels."""
    for row in placed.itertuples():
        left, middle = row.label_x * SIZE[0], (1 - row.label_y) * SIZE[1]
        width = LETTER * len(row.method)
        box = (left, middle - TALL / 2, left + width, middle + TALL / 2)
        yield row.method, box, (row.x * SIZE[0], (1 - row.y) * SIZE[1])


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] - 1e-6 and b[1] < a[3] - 1e-6


def distance(box, point):
    return hypot(
        max(box[0] - point[0], 0, point[0] - box[2]), max(box[1] - point[1], 0, point[1] - box[3])
    )


@pytest.mark.parametrize("many", [1, 2, 5, 12, 22])
def test_no_name_covers_another_or_is_nearest_to_anothers_point(many):
    generator = np.random.default_rng(many)
    for size in (1.0, 0.05):  # all over the panel, and in one corner of it
        at = size * generator.random((many, 2))
        points = pd.DataFrame({"method": [f"method-{i}" for i in range(many)]})
        points["x"], points["y"] = at[:, 0], at[:, 1]
        placed = list(boxes(label_positions(points, ENDS, SIZE)))
        assert not any(overlap(a, b) for (_, a, _), (_, b, _) in combinations(placed, 2))
        if any(box[0] > SIZE[0] for _, box, _ in placed):
            assert all(box[0] > SIZE[0] for _, box, _ in placed)  # a column, lines lead to it
            continue
        for name, box, point in placed:
            others = [distance(box, other) for method, _, other in placed if method != name]
            assert distance(box, point) < min(others, default=np.inf), name


def test_names_of_few_points_stand_beside_them():
    points = pd.DataFrame({"method": ["a", "b"], "x": [0.2, 0.8], "y": [0.2, 0.8]})
    placed = label_positions(points, ENDS, SIZE)
    assert (abs(placed["label_x"] - placed["x"]) < 0.1).all()


def test_trust_is_drawn_of_every_board_that_has_it():
    drawn = 0
    for folder in board_folders(BOARDS):
        board = StoredBoard.read(folder)
        try:
            figure = trust.figure(board)
        except NotDrawableError:
            continue
        drawn += 1
        assert set(figure.data["method"]) <= set(board.methods)
    assert drawn > 3


def test_trust_has_coverage_of_methods_alone_and_one_baseline_of_a_kind():
    data, level = trust.frame(StoredBoard.read(BOARDS / "minatar" / "quick").leaderboard, "mean")
    assert level == 0.9
    assert data.loc[data["role"] != "method", "y"].isna().all()
    assert list(data.loc[data["role"] != "method", "method"]) == ["script"]
    assert (data["role"] == "method").sum() == 6
