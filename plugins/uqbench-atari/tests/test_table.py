"""The paper's own score."""

import pytest
from uqbench_atari.table import final_scores, mean_curve, periods, summary


def test_the_best_period_of_the_average_over_seeds_counts():
    """Not the average of each seed's best period, which is larger."""
    curve = mean_curve([{1: 10.0, 2: 0.0, 3: 5.0}, {1: 0.0, 2: 12.0, 3: 5.0}])
    assert curve == {1: 5.0, 2: 6.0, 3: 5.0}
    scores = final_scores({"breakout": {1: 1.7, 2: 30.5, 3: 16.1}, "pong": {1: -20.7}})
    assert scores == {"breakout": 1.0, "pong": 0.0}


def test_the_rows_of_table_1_and_of_the_figures():
    assert summary({"a": 0.5, "b": 1.5, "c": 10.0}) == (400.0, 150.0, 2)
    rows = periods({"breakout": {1: 1.7, 2: 59.3}, "freeway": {1: 29.6 / 2, 2: 29.6, 3: 0.0}})
    assert rows == [(4, 0, pytest.approx(0.25)), (8, 1, pytest.approx(1.5))]
