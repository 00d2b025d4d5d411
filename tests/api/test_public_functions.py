"""Docstrings and signatures of all that ``import uqbench`` offers."""

import inspect
import re
from pathlib import Path

import pytest
from uqbench_compare.predictions.stated import FORMS

import uqbench

FUNCTIONS = [
    name for name in uqbench.__all__ if inspect.isfunction(getattr(uqbench, name))]  # fmt: skip


def sections(name: str) -> dict[str, str]:
    text = inspect.getdoc(getattr(uqbench, name)) or ""
    parts = re.split(r"\n(Args|Returns|Raises|Example):\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_its_arguments_its_result_its_errors_and_an_example(name):
    said, parameters = sections(name), inspect.signature(getattr(uqbench, name)).parameters
    assert {"Returns", "Example"} <= {*said}
    assert ">>> import" in said["Example"]
    assert "uqbench" in said["Example"]
    if parameters:
        assert {"Args", "Raises"} <= {*said}
        assert re.findall(r"^    (\w+): ", said["Args"], re.M) == [*parameters]
        assert "Error: " in said["Raises"]


def test_score_names_its_arrays():
    assert {*FORMS} <= {*inspect.signature(uqbench.score).parameters}


def test_a_board_begins_with_rank_method_mean_and_trust():
    """Pandas shows a notebook the first ten columns, and the last ten."""
    boards = uqbench.load(Path(__file__).parents[2] / "leaderboards")
    first = ["rank", "method", "mean", "mean_low", "mean_high", "calibration"]
    assert [*boards["minatar", "night"].board()][:6] == first
    assert [*boards.board()][:8] == ["suite", "board", *first]
    assert "<th>calibration</th>" in boards["minatar", "night"].board()._repr_html_()
