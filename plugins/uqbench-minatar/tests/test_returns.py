"""Returns by game: the board's own means, and the published logs beside them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from uqbench_minatar.returns import OWN, Returns, published

from uqbench.boards import StoredBoard
from uqbench.registry.load_host import load_host
from uqbench.suites import Selection, read_suites

ROOT = Path(__file__).parents[3]


def stored(name: str) -> Returns:
    host, selection = load_host(), Selection("minatar", name, None, None, None, None)
    board = StoredBoard.read(ROOT / "leaderboards" / "minatar" / name)
    return Returns(board.board(selection.plan(host, "cpu", print), selection, host, print))


def test_returns_are_the_boards_means_in_points_of_the_game():
    frame = stored("quick").frame
    tasks = pd.read_csv(ROOT / "leaderboards" / "minatar" / "quick" / "tasks.csv")
    tasks = tasks.set_index(["task", "method"])
    own = frame[frame["source"] == OWN]
    assert len(own) == len(tasks)
    for row in own.to_dict("records"):
        of = tasks.loc[row["game"], row["method"]]
        assert float(row["speed"]) == pytest.approx(of["learning_speed"], rel=1e-5)
        assert float(row["level"]) == pytest.approx(of["online_return"], rel=1e-5)
        assert row["greedy"] is None
        assert np.isnan(of["evaluation_return"])  # `quick` has none


def test_what_is_published_is_of_the_boards_games_and_the_source_of_its_scale():
    suite = read_suites(load_host(), check=()).suite("minatar")
    ones = suite.normalization["online_return"].constants
    own = [row for row in published() if row[1] == "dqn" and row[4] == 5_000_000]
    last = {row[0]: float(row[6]) for row in own}
    assert last == {game: of.one for game, of in ones.items()}
    returns = stored("quick")
    beside = returns.frame[returns.frame["source"] != OWN]
    assert set(beside["game"]) == {"breakout", "space_invaders"}
    assert "| ua-dqn, published, steps 4,500,000 to 5,000,000 | 33.1 | 174 |" in returns.section
