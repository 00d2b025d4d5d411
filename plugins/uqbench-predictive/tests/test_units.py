"""Tables as units: means and differences over tables, against NumPy and SciPy."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from uqbench_predictive.units import FEWEST, Units


def board(scores: dict[str, np.ndarray], roles: dict[str, str], dataset: str = "table"):
    tasks = [SimpleNamespace(name=f"t{k}", dataset=dataset) for k in range(FEWEST)]
    cells = [SimpleNamespace(task=task) for task in tasks]
    return SimpleNamespace(
        plan=SimpleNamespace(cells=cells, roles=roles), matrices=scores, ranks=True
    )


@pytest.fixture
def made():
    """Three splits of ten tables: a table's level, of all methods, is larger than their gaps."""
    generator = np.random.default_rng(0)
    level = generator.normal(size=FEWEST)
    gap = {"good": 0.3, "fair": 0.28, "bad": 0.1, "climatology": 0.0}
    scores = {
        name: level + of + 0.02 * generator.normal(size=(3, FEWEST)) for name, of in gap.items()
    }
    return board(scores, {**dict.fromkeys(scores, "method"), "climatology": "trivial"})


def test_a_mean_has_students_interval_over_tables(made):
    row = Units(made).frame.set_index("method").loc["good"]
    values = made.matrices["good"].mean(0)
    error = values.std(ddof=1) / np.sqrt(FEWEST)
    reach = stats.t.ppf(0.975, FEWEST - 1) * error
    assert float(row["mean"]) == pytest.approx(values.mean(), rel=1e-5)
    assert float(row["low"]) <= values.mean() - reach + 1e-5  # Hall's may reach further
    assert float(row["high"]) >= values.mean() + reach - 1e-5
    assert row["tables"] == FEWEST


def test_differences_are_taken_table_by_table_and_rank_what_means_cannot(made):
    """The means' intervals overlap by far; their differences over tables have errors of .02/√15."""
    frame = Units(made).frame.set_index("method")
    assert float(frame.loc["bad", "high"]) > float(frame.loc["good", "low"])
    assert (frame.loc["good", "rank_low"], frame.loc["bad", "rank_low"]) == (1, 3)
    gaps = made.matrices["good"].mean(0) - made.matrices["climatology"].mean(0)
    assert float(frame.loc["good", "beyond"]) == pytest.approx(gaps.mean(), rel=1e-5)
    assert float(frame.loc["bad", "beyond_low"]) > 0
    assert frame.loc["climatology", "beyond"] is None
    assert "| 1" in Units(made).section


def test_a_board_of_fewer_tables_or_of_other_data_has_none(made):
    assert Units(made).applies
    roles = made.plan.roles
    assert not Units(board(made.matrices, roles, "fashion")).applies
    few = board(made.matrices, roles)
    few.plan.cells = few.plan.cells[1:]
    assert not Units(few).applies
