"""Returns by game: the board's own means, and the published logs beside them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from uqbench_minatar.returns import OWN, Returns, predictions, published

from uqbench.boards import StoredBoard
from uqbench.registry.load_host import load_host
from uqbench.suites import Selection, read_suites

ROOT = Path(__file__).parents[3]


def board_folder(name: str) -> Path:
    return ROOT / "leaderboards" / "minatar" / name


def stored(name: str) -> Returns:
    host, selection = load_host(), Selection("minatar", name, None, None, None, None)
    board = StoredBoard.read(board_folder(name))
    return Returns(board.board(selection.plan(host, "cpu", print), selection, host, print))


def test_returns_are_the_boards_means_in_points_of_the_game():
    frame = stored("quick").frame
    tasks = pd.read_csv(ROOT / "leaderboards" / "minatar" / "quick" / "tasks.csv")
    tasks, own = tasks.set_index(["task", "method"]), frame[frame["source"] == OWN]
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
    assert {row[0]: float(row[6]) for row in own} == {game: of.one for game, of in ones.items()}
    returns = stored("quick")
    beside = returns.frame[returns.frame["source"] != OWN]
    assert set(beside["game"]) == {"breakout", "space_invaders"}
    assert "| ua-dqn, published, steps 4,500,000 to 5,000,000 | 33.1 | 174 |" in returns.section


def test_answers_to_predictions_are_the_boards():
    board = stored("night").board
    ranked = {name for name, role in board.plan.roles.items() if role == "method"}

    def decided(pairs):
        own = [pair for pair in pairs if {pair.first, pair.second} <= ranked]
        assert len(own) == 21
        return sum(pair.adjusted <= 0.05 for pair in own)

    (level,) = board.further_places
    first = [sum(place.low == 1 for place in of.values()) for of in
             (board.places, board.further_places[level])]  # fmt: skip
    means = board.leaderboard.set_index("method")["mean"]
    found = [line.split(" | ")[2] for line in predictions("night")[7:]]
    assert found[0].startswith(f"{decided(board.pairs)}, 67 %")
    assert found[1].startswith(f"{decided(board.pairs_by(board.plan.suite.metric(level)))}, 71 %")
    assert [text[0] for text in found[2:4]] == [str(n) for n in first]
    assert f"{means['dqn']:.3f} against {means['dqn-default']:.3f}" in found[5]
    levels = pd.read_csv(board_folder("night") / "tasks.csv").pivot(
        index="task", columns="method", values=level
    )
    best = levels[[*ranked]].max(axis=1)
    for game, script in levels["script"].items():
        assert f"{best[game]:.3g} against {script:.3g} on " in found[4]
    assert predictions("quick") == []
