"""Real data in setting (a): its splits, and its further sets."""

from hashlib import md5

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import Ridge
from uqbench_predictive.problems import tables
from uqbench_predictive.problems.corruptions import altered
from uqbench_predictive.problems.digits import in_distribution
from uqbench_predictive.problems.idx import DataError, File
from uqbench_predictive.problems.image_files import VARIABLE
from uqbench_predictive.problems.tables import Real, RealConfig


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
    task = Real(RealConfig(name=name, gap=True))
    seeds = [0, 3]
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
    """A table as R saves it, in the place of mlbench's Satellite: 1,800 rows, one of them twice."""
    rdata = pytest.importorskip("rdata")
    generator = np.random.default_rng(0)
    rows = pd.DataFrame(generator.normal(size=(1_800, 3)), columns=["a", "b", "c"])
    rows["bit"] = pd.Categorical(generator.integers(0, 2, 1_800).astype(str))
    rows["constant"] = 1.0
    rows["classes"] = pd.Categorical(np.where(rows["a"] > 0, "yes", "no"))
    rows = pd.concat([rows, rows[:1]], ignore_index=True)
    path = tmp_path / "r" / "Satellite.rda"
    path.parent.mkdir()
    rdata.write_rda(path, {"Satellite": rows})
    digest = md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    monkeypatch.setitem(tables.FILES, "satellite", File("r/Satellite.rda", digest, "here"))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for cached in (tables._rows, tables._numbers):
        cached.cache_clear()
    yield rows
    for cached in (tables._rows, tables._numbers):
        cached.cache_clear()


def test_a_table_of_r_has_factors_as_numbers_and_each_row_once(frame):
    task = Real(RealConfig(name="satellite"))
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
    monkeypatch.setitem(tables.FILES, "satellite", File("r/Satellite.rda", "0" * 32, "here"))
    tables._rows.cache_clear()
    with pytest.raises(DataError, match="MD5"):
        Real(RealConfig(name="satellite"))
