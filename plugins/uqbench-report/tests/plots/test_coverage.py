"""Coverage by task: the means of ``tasks.csv``, their intervals, and what they leave out."""

from pathlib import Path

import pandas as pd
import pytest
from uqbench_report.plots import coverage

from uqbench.boards import StoredBoard
from uqbench.figure import NotDrawableError

BOARDS = Path(__file__).parents[4] / "leaderboards"
NIGHT = StoredBoard.read(BOARDS / "minatar" / "night")


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
def test_a_board_of_one_task_or_without_intervals_has_none(place):
    with pytest.raises(NotDrawableError, match="one task, or no intervals"):
        coverage.figure(StoredBoard.read(BOARDS / place))


def test_rows_are_in_the_order_of_the_board():
    chart = coverage.figure(NIGHT).chart.to_dict(validate=False)
    order = chart["layer"][0]["encoding"]["y"]["sort"]
    assert order == [name for name in NIGHT.methods if name in set(order)]
    assert order[0] == "ua-dqn"
