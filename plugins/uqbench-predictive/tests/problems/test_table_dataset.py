"""A table as a data set: its splits, its columns, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from uqbench_predictive.problems.columns import numbers, target_numbers
from uqbench_predictive.problems.table_dataset import TableDataset

from uqbench.errors import UqbenchError


def drawn(seed: int, rows: int = 120, largest: int = 7) -> TableDataset:
    """Groups of one to seven rows, inputs of which some are equal, and a target."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(rows), generator.integers(1, largest + 1, rows))[:rows]
    x = generator.normal(size=(rows, 2))
    twins = generator.permutation(rows)[:6]
    x[twins[:3]] = x[twins[3:]]
    return TableDataset(x, generator.normal(size=rows), groups=groups)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(table=st.integers(0, 1_000), seed=st.integers(0, 2**53))
def test_no_group_and_no_input_is_on_two_sides_and_all_splits_have_the_same_sizes(table, seed):
    made = drawn(table)
    parts = made.split(seed)
    assert tuple(map(len, parts)) == made.sizes
    assert len(np.unique(np.concatenate(parts))) == sum(made.sizes)
    for first in range(3):
        for second in range(first):
            for of in (made.groups, np.unique(made.columns.values[:, 0], return_inverse=True)[1]):
                assert not set(of[parts[first]]) & set(of[parts[second]])


def test_data_are_scaled_by_training_rows_alone_and_carry_their_groups():
    made, seeds = drawn(3), [4, 5]
    data, test = made.data(seeds), made.evaluation_sets(seeds)["test"]
    for lane, seed in enumerate(seeds):
        train, held, tested = made.split(seed)
        x = made.columns.values
        mean, std = x[train].mean(0), x[train].std(0)
        for part, rows in ((data, train), (data.validation, held), (test, tested)):
            assert np.allclose(part.inputs[lane], (x[rows] - mean) / std, atol=1e-5)
            assert np.array_equal(part.groups[lane], made.groups[rows])
        y = made.target.values
        scaled = (y[tested] - y[train].mean()) / y[train].std()
        assert np.allclose(test.targets[lane], scaled, atol=1e-5)
    assert torch.equal(made.data(seeds[1:]).inputs[0], data.inputs[1])


def test_a_column_that_does_not_vary_in_training_says_nothing_of_a_test_row():
    """One row of a hundred is 1: where it is a test row, no method has met the column."""
    x = np.random.default_rng(0).normal(size=(100, 2))
    x[:, 1] = np.arange(100) == 7
    made = TableDataset(x, x[:, 0])
    seeds = [seed for seed in range(60) if 7 in made.split(seed)[2]]
    assert len(seeds) > 1
    for part in (made.data(seeds), made.evaluation_sets(seeds)["test"]):
        assert part.inputs[..., 1].eq(0).all()


def test_columns_become_numbers_and_what_was_done_is_said():
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, None],
            "bool": [True, False, True],
            "day": ["2020-01-01", "2020-01-03", "2020-02-01"],
            "text": ["a", "b", None],
            "two": ["no", "yes", "no"],
            "constant": [1, 1, 1],
        }
    )
    made = numbers(frame, "here")
    assert made.names == (
        "number", "number missing", "bool", "day", "text=(missing)", "text=a", "text=b", "two=yes",
    )  # fmt: skip
    expected = [[1, 0, 1, 0, 0, 1, 0, 0], [2, 0, 0, 2, 0, 0, 1, 1], [np.nan, 1, 1, 31, 1, 0, 0, 0]]
    assert np.array_equal(made.values, expected, equal_nan=True)
    assert made.notes == (
        "number: 1 missing; the mean there, and a column that says where",
        "day: a date; days since the first",
        "text: text; 3 columns of 0 and 1",
        "two: text; 1 is yes",
        "constant: does not vary; left out",
    )
    many = numbers(pd.DataFrame({"id": [f"x{k}" for k in range(21)], "x": range(21)}), "here")
    assert many.names == ("x",)
    assert "21 different texts; left out" in many.notes[0]


def test_a_missing_number_is_the_mean_of_the_training_rows():
    x = np.random.default_rng(0).normal(size=(100, 1))
    x[::9] = np.nan
    made = TableDataset(x, np.arange(100.0))
    data, (train, *_) = made.data([0]), made.split(0)
    gone = np.isnan(x[train, 0])
    assert gone.any()
    assert (data.inputs[0, gone, 0] == 0).all()
    assert abs(float(data.inputs[0, ~gone, 0].mean())) < 1e-6


TARGETS = [
    (["a", "b"], None, 2),
    ([True, False], None, 2),
    ([0, 1, 2], None, 3),
    ([0, 1, 2], "regression", 0),
    ([0.5, 1, 2], None, 0),
    (range(11), None, 0),
    (range(11), "classification", 11),
]


@pytest.mark.parametrize(("target", "kind", "classes"), TARGETS)
def test_a_targets_kind_is_found_from_its_values_unless_it_is_said(target, kind, classes):
    made = target_numbers(pd.Series([*target] * 20, name="y"), kind, "here")
    assert made.n_classes == classes
    assert ("regression" if classes == 0 else "classification") in made.notes[0]


X = np.random.default_rng(0).normal(size=(100, 2))
REFUSED = {
    r"got 100 rows and 99 targets; expected as many": (X, np.arange(99.0), None),
    r"column '0' has infinite numbers; expected finite": (X * np.inf, np.arange(100.0), None),
    r"the target 'target' has one value": (X, np.ones(100), None),
    r"31 classes; expected at most 30": (X, np.array([f"{k % 31}" for k in range(100)]), None),
    r"leave 10 for a split .*expected at least 50": (X[:10], np.arange(10.0), None),
    r"100 rows are in 3 groups .*at least 10": (X, np.arange(100.0), np.arange(100) % 3),
    r"of which a group has 60": (X, np.arange(100.0), np.maximum(np.arange(100) - 59, 0)),
    r"no column is left to predict from: 0: does not vary": (0 * X, np.arange(100.0), None),
    r"column '0' is of type complex": (X + 1j, np.arange(100.0), None),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_used_is_refused_with_what_was_expected(message):
    x, y, groups = REFUSED[message]
    with pytest.raises(UqbenchError, match=message):
        TableDataset(x, y, groups)
