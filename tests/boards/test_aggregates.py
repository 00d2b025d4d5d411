"""Stored boards' aggregates, computed anew by rliable's own functions from the stored scores."""

from pathlib import Path

import pandas as pd
import pytest
from rliable import metrics

FOLDER = Path(__file__).parents[2] / "leaderboards"
STATISTICS = ("iqm", "mean", "median", "optimality_gap")
BOARDS = sorted(path.parent for path in FOLDER.glob("*/*/leaderboard.csv"))


def differing(board: pd.DataFrame, scores: pd.DataFrame) -> tuple[int, list[str]]:
    """How many aggregates were compared, and those that are others, as they are printed."""
    compared, wrong = 0, []
    for row in board.to_dict("records"):
        runs = scores[scores["method"] == row["method"]]
        matrix = runs.pivot(index="seed", columns="task", values="score")
        for name in STATISTICS:
            if pd.isna(row.get(name)):
                continue
            compared += 1
            expected = getattr(metrics, f"aggregate_{name}")(matrix.to_numpy())
            if row[name] != pytest.approx(expected, rel=1e-5, abs=1e-9):
                wrong.append(f"{row['method']} {name}: {row[name]}, rliable has {expected}")
    return compared, wrong


def tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    (scores,) = folder.glob("scores.csv*")
    return pd.read_csv(folder / "leaderboard.csv"), pd.read_csv(scores)


@pytest.mark.parametrize("folder", BOARDS, ids=lambda path: "/".join(path.parts[-2:]))
def test_the_aggregates_of_a_stored_board_are_rliables(folder: Path) -> None:
    board, scores = tables(folder)
    compared, wrong = differing(board, scores)
    assert wrong == []
    assert compared or not any(board.get(name, pd.Series()).notna().any() for name in STATISTICS)


def test_a_number_that_is_another_is_found() -> None:
    board, scores = tables(FOLDER / "drawn-worlds" / "demo")
    board.loc[1, "iqm"] += 2e-4
    assert len(differing(board, scores)[1]) == 1
