"""Learning curves, and panels by task."""

from types import SimpleNamespace

import altair as alt
import pandas as pd
import pytest
from uqbench_report.plots import curves, theme

from uqbench.figure import NotDrawableError

SAME = pd.DataFrame(
    {
        "task": "logged",
        "method": ["one", "two"] * 2,
        "step": [10, 10, 20, 20],
        "metric": "return",
        **{name: [0.1, 0.1, 0.2, 0.2] for name in ("value", "low", "high")},
    }
)


def of_board(data: pd.DataFrame) -> SimpleNamespace:
    return SimpleNamespace(curves=data, methods=["one", "two"], title="a board")


def test_curves_that_recorded_data_make_the_same_for_all_methods_are_not_drawn() -> None:
    with pytest.raises(NotDrawableError, match="recorded data"):
        curves.figure(of_board(SAME))
    learned = SAME.assign(value=[0.1, 0.1, 0.2, 0.3])
    assert curves.figure(of_board(learned)).name == "curves"
    alone = SAME[SAME["method"] == "one"]
    assert curves.figure(of_board(alone)).name == "curves"


@pytest.mark.parametrize(("tasks", "own"), [(1, False), (2, False), (3, True), (4, False)])
def test_a_panel_has_its_own_axis_where_one_place_of_the_grid_is_empty(
    tasks: int, own: bool
) -> None:
    data = pd.DataFrame({"task": [f"task-{k}" for k in range(tasks)], "x": 0.0})
    made = theme.by_task(alt.Chart(data).mark_point().encode(x=alt.X("x:Q")), data["task"])
    assert (made.to_dict().get("resolve") == {"axis": {"x": "independent"}}) is own
