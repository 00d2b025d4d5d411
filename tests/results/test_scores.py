"""Scores in columns are those in rows, whatever a run has and has not."""

from dataclasses import replace

import numpy as np
import pytest

from uqbench.boards import from_csv, to_csv
from uqbench.results import Score, Scores
from uqbench.suites import Metric

METRICS = [
    Metric(name=name, summary=name, kind="online", statistic="return", direction="max")
    for name in ("first", "score", "digest")  # two of them are columns, too
]


def rows(seed: int) -> list[Score]:
    """Scores of two tasks and methods, some of which lack a metric, its value, or the run."""
    rng, made = np.random.default_rng(seed), []
    for task in ("t", "u"):
        for method in ("a", "b"):
            for number in range(rng.integers(1, 6)):
                status = str(rng.choice(["finished", "finished", "failed", "missing"]))
                values: dict[str, float | None] = {}
                for metric in METRICS if status == "finished" else ():
                    if rng.random() < 0.7:
                        values[metric.name] = float(rng.normal()) if rng.random() < 0.7 else None
                one = Score(task, method, number, status, "", values.get("first"), values, "place")
                made.append(replace(one, digest="d" * bool(values), content="c:1"))
    return made


@pytest.mark.parametrize("seed", range(20))
def test_columns_give_back_the_rows_in_order_whatever_is_missing(seed):
    expected = rows(seed)
    scores = Scores.of(expected[i] for i in np.random.default_rng(seed).permutation(len(expected)))
    assert ([*scores], len(scores)) == (expected, len(expected))
    for cell in scores.cells:
        own = [one for one in expected if (one.task, one.method) == (cell.task, cell.method)]
        assert cell.scored == sum(one.score is not None for one in own)
        for metric in METRICS:
            found = [None if np.isnan(v) else v for v in cell.values(metric.name)]
            assert found == [one.values.get(metric.name) for one in own]
            assert [*cell.measured(metric.name)] == [metric.name in one.values for one in own]
    assert [*from_csv(to_csv(scores, METRICS).decode(), "scores.csv")] == expected


def test_what_is_not_a_number_is_no_value():
    one = Score("t", "a", 0, "finished", "cpu", None, {"first": float("nan")}, "place")
    [read] = Scores.of([one])
    assert read.values == {"first": None}
    assert ",none," in to_csv(Scores.of([one]), METRICS).decode()
