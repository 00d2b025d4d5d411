"""Scores in columns are those in rows, whatever a run has and has not."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from example_runs import finish, make_record, make_run

from uqbench.boards import from_csv, gather, to_csv
from uqbench.results import Score, Scores, Store, verified
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
    shuffled = np.random.default_rng(seed).permutation(len(expected))
    scores = Scores.of(expected[i] for i in shuffled)
    assert [*scores] == expected
    assert len(scores) == len(expected)
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


def planned(seeds: int) -> Any:
    """A plan of one cell, as far as scores need it."""
    runs = [make_run(seed).on_device("cpu") for seed in range(seeds)]
    names = {
        "task": SimpleNamespace(name="task", dataset=None),
        "method": SimpleNamespace(name="method"),
    }
    scale = {"task": SimpleNamespace(normalize=lambda value: 2 * value)}
    suite = SimpleNamespace(
        metrics=METRICS, primary_metric=lambda budget: METRICS[0],
        normalization_constants=lambda metric: scale,
    )  # fmt: skip
    cell = SimpleNamespace(runs=runs, **names)
    return SimpleNamespace(runs=runs, cells=[cell], budget=None, suite=suite)


def store_of(root: Path, plan: Any) -> Store:
    """Some of the runs finished, with some of the metrics; some failed."""
    store, rng = Store(root), np.random.default_rng(0)
    definitions = {metric.name: metric.definition() for metric in METRICS}
    for number, run in enumerate(plan.runs):
        if number % 5 == 0:
            store.write(run, make_record(run, status="failed", reason="why"))
        elif number % 7:
            names = [metric.name for metric in METRICS if rng.random() < 0.8]
            values = {name: float(rng.normal()) if rng.random() < 0.8 else None for name in names}
            finish(store, run, scalars=values, metrics=definitions)
    return store


def test_scores_are_those_of_the_files_with_an_index_and_without(tmp_path, monkeypatch):
    monkeypatch.setattr(verified, "FEWEST", 0)
    monkeypatch.setattr(verified, "LEAST_AGE_NS", -(10**12))
    plan, root = planned(40), tmp_path / "results"
    store_of(root, plan)
    first = [*gather(plan, Store(root))]
    assert (root / verified.FILE).is_file()
    assert [*gather(plan, Store(root))] == first
    finished = [one for one in first if one.status == "finished"]
    assert len(finished) > 10
    for one in finished:
        assert one.values == Store(root).read(one.run).record.scalars
    assert {one.status for one in first} == {"finished", "failed", "missing"}
    assert {None} < {one.values.get("first") for one in first}
