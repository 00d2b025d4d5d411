"""Real data in setting (a): its splits, and its further sets."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from uqbench_predictive.networks.learning import mean_loss
from uqbench_predictive.networks.training import Trainer
from uqbench_predictive.problems.corruptions import altered
from uqbench_predictive.problems.digits import in_distribution
from uqbench_predictive.problems.tables import (
    MOST,
    N_CLASSES,
    REGRESSIONS,
    Real,
    RealConfig,
    _first_of_each,
)

from uqbench.contract.estimator import Data
from uqbench.registry.plugins import Host
from uqbench.suites.selection import Selection


@pytest.mark.parametrize("name", sorted(N_CLASSES))
def test_parts_of_a_split_share_no_input_and_follow_from_the_seed(name):
    task = Real(RealConfig(name=name))
    data, test = task.data([1, 2]), task.evaluation_sets([1, 2])["test"]
    for lane in range(2):
        rows = [
            tuple(row)
            for part in (data, data.validation, test)
            for row in part.inputs[lane].tolist()
        ]
        assert len(set(rows)) == len(rows)
    assert torch.equal(task.data([2]).inputs[0], data.inputs[1])
    assert not torch.equal(data.inputs[0], data.inputs[1])
    if name != "digits":
        assert torch.allclose(data.inputs.mean(1), torch.zeros(2, task.inputs[0]), atol=1e-4)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions_are_worth_learning_and_their_targets_standardized(name):
    task = Real(RealConfig(name=name))
    data, test = task.data([1]), task.evaluation_sets([1])["test"]
    x, y = data.inputs[0].numpy(), data.targets[0].numpy()
    assert np.isfinite(x).all()
    assert abs(y.mean()) < 1e-4
    assert abs(y.std() - 1) < 1e-4
    assert len(y) + len(data.validation.targets[0]) + len(test.targets[0]) <= MOST
    data, test = task.data(range(10)), task.evaluation_sets(range(10))["test"]
    explained = [
        Ridge(1.0).fit(data.inputs[k], data.targets[k]).score(test.inputs[k], test.targets[k])
        for k in range(10)
    ]
    assert np.mean(explained) > 0  # of randhie .09 a split with a deviation of .06: 5 errors of it


def test_of_rows_with_equal_inputs_a_split_has_the_one_that_its_seed_draws_first():
    numbers = np.array([7, 8, 7, 9, 8])
    assert _first_of_each(numbers, np.array([4, 2, 0, 3, 1])).tolist() == [4, 2, 3]


def test_digits_have_corrupted_near_and_far_inputs():
    sets = Real(RealConfig()).evaluation_sets([3])
    assert set(sets) == {"test", "corrupted", "near", "far"}
    assert torch.equal(sets["corrupted"].targets, sets["test"].targets)
    changed = (sets["corrupted"].inputs != sets["test"].inputs).any(-1)
    assert changed.all()
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
def test_the_network_of_the_budget_regression_does_not_fit_the_noise(name):
    """Training residuals are half the test residuals at least; with little decay a hundredth."""
    plan = Selection("predictive", "regression", ("network",), (name,)).plan(Host.load(), "cpu")
    (cell,) = plan.cells
    task = Real(RealConfig(name=name))
    trainer = Trainer(task, [1, 2], cell.config, torch.device("cpu"))
    data, test = task.data([1, 2]), task.evaluation_sets([1, 2])["test"]
    weights = trainer.train(data, plan.budget.steps)
    trained = mean_loss(trainer.network, weights, data)
    held = mean_loss(trainer.network, weights, Data(test.inputs, test.targets))
    assert (held < 2 * trained).all()
    assert (held < 0.8).all()  # 1 is to learn nothing
