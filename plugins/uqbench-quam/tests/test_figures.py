"""Figures of the suites, drawn from the committed boards."""

from pathlib import Path

import pytest
from uqbench_quam.plugin import uqbench_figures

from uqbench.boards import StoredBoard
from uqbench.plots.render import svg

BOARDS = Path(__file__).parents[3] / "leaderboards"
pytestmark = pytest.mark.skipif(not BOARDS.is_dir(), reason="needs a clone: no wheel has boards")


def test_detection_is_drawn_by_the_forward_passes_of_each_method():
    board = StoredBoard.read(BOARDS / "ood-digits" / "compute")
    (figure,) = uqbench_figures(board)
    passes = {kind: sorted(set(own["passes"])) for kind, own in figure.data.groupby("kind")}
    assert passes == {
        "QUAM": [300, 600, 1200, 2400],
        "MC dropout": [10, 30, 100, 300, 600, 1200, 2400],
        "deep ensemble": [2, 5, 10, 20, 50],
    }
    assert set(figure.data["task"]) == {"held-out", "rotated"}
    one = figure.data.query("task == 'rotated' and kind == 'QUAM' and passes == 1200")
    stored = board.tasks.query("task == 'rotated' and method == 'quam-1200'")
    assert one[["auroc", "low", "high"]].to_numpy().tolist() == (
        stored[["auroc", "auroc_low", "auroc_high"]].to_numpy().tolist()
    )
    assert svg(figure).startswith("<svg ")


@pytest.mark.parametrize("name", ["ood-digits/paper", "simplex/paper"])
def test_a_board_of_one_budget_has_no_curve(name):
    assert not list(uqbench_figures(StoredBoard.read(BOARDS / name)))
