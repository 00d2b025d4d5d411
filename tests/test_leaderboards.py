"""The leaderboards of this repository follow from their scores, by the suites as they are now.

Those of a suite's earlier protocol cannot; the index says so.
"""

import sys
from pathlib import Path

import pytest

from uqbench.cli import main

LEADERBOARDS = Path(__file__).parents[1] / "leaderboards"
INDEX = LEADERBOARDS / "README.md"
BOARDS = [path.parent for path in sorted(LEADERBOARDS.glob("*/*/scores.csv"))]


def test_there_are_leaderboards():
    assert BOARDS


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: f"{board.parent.name}-{board.name}")
def test_a_committed_leaderboard_follows_from_its_scores(board, tmp_path, monkeypatch, capsys):
    command = f"uqbench leaderboard --suite {board.parent.name} --budget {board.name} --check"
    places = ["--to", str(LEADERBOARDS), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command.split(), *places])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    if "is of an earlier protocol" in told.err:  # kept until it is run again, and marked
        assert f"({board.parent.name}/{board.name}/README.md) ‡" in INDEX.read_text()
        return
    assert ended.value.code == 0, told
    assert "byte for byte" in told.out
