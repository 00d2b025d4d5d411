import math

import numpy as np
import pandas as pd
import pytest

from uqbench.boards.curves import PARTS, _points, learning_curves


def test_a_run_of_fewer_steps_than_points_has_empty_parts():
    at = np.arange(1, 31)
    records = {"step": at, "metric": np.full(30, "reward", object), "value": at.astype(float)}
    two = {"phase": np.full(2, "training", object), "end": np.full(2, "terminated", object)}
    episodes = {"step": np.array([15, 30]), **two, "return": np.array([3.0, 5.0])}
    points = _points(records, episodes, 30)
    assert len(points) == PARTS
    assert points["step"].iloc[-1] == 30
    assert points["return"].sum() == 8.0
    assert points["reward_per_step"].sum() == 30  # one a step


def runs(returns: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"task": "t", "method": "m", "step": 10 * (k + 1), "return": r, "reward_per_step": 0.5}
            for row in returns
            for k, r in enumerate(row)
        ]
    )


def test_a_learning_curve_is_the_mean_of_the_runs_that_have_an_episode():
    nan = math.nan
    found = learning_curves(runs([[1, 4], [2, nan], [3, nan]]))
    assert found["value"].tolist() == [2.0, 4.0]
    assert found["runs"].tolist() == [3, 1]
    reach = 4.302652729911275 / math.sqrt(3)  # Student's quantile, two degrees; deviation 1
    assert found["high"].iloc[0] == pytest.approx(2 + reach)
    assert math.isnan(found["low"].iloc[1])
    assert set(found["metric"]) == {"return"}


def test_where_no_episode_ends_the_curve_is_of_the_reward():
    found = learning_curves(runs([[math.nan] * 2] * 3))
    assert set(found["metric"]) == {"reward_per_step"}
    assert found["value"].tolist() == [0.5, 0.5]
