"""Regressors and conformal sets: against scikit-learn, a noise that is known, and crepes."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from uqbench_predictive.baselines.conformal import Conformal, ConformalBoosting, quantile
from uqbench_predictive.baselines.nngp import NNGP, NNGPConfig
from uqbench_predictive.baselines.regressors import LEAF, LEVELS, REGRESSORS
from uqbench_predictive.baselines.scikit_learn import ScikitLearn, ScikitLearnConfig
from uqbench_predictive.networks.training import TrainingConfig
from uqbench_predictive.plugin import uqbench_estimators
from uqbench_predictive.problems.table_dataset import TableDataset
from uqbench_predictive.uncertainty import values

from uqbench.estimator import Data, Dataset, PredictiveUncertainty
from uqbench.seeding import derive_seed

CPU = torch.device("cpu")
NOISE = 0.5
"""Standard deviation of the noise of the table below, whose signal has variance 1."""


@pytest.fixture(scope="module")
def table() -> TableDataset:
    generator = np.random.default_rng(1)
    x = generator.uniform(-1, 1, (1_000, 2))
    signal = np.sqrt(3) * x[:, 0]
    return TableDataset(x, signal + NOISE * generator.normal(size=len(x)))


def fitted(table: TableDataset, model: str, seeds=(3,), data=None) -> ScikitLearn:
    estimator = ScikitLearn(table.problem, list(seeds), ScikitLearnConfig(model=model), CPU)
    estimator.fit(data or table.data(seeds), None, steps=1)
    return estimator


@pytest.mark.parametrize("model", [*REGRESSORS, "nngp"])
def test_a_stated_variance_is_that_of_the_noise_and_lanes_are_alone(table, model):
    """y has variance 1.25, standardized: noise of .25 is .2 of it. Means over 200 test rows."""
    seeds = [3, 4]
    test = table.evaluation_sets(seeds)["test"]
    if model == "nngp":
        estimator = NNGP(table.problem, seeds, NNGPConfig(weight_decay=0.1), CPU)
        estimator.fit(table.data(seeds), None, steps=1)
    else:
        estimator = fitted(table, model, seeds)
    said = estimator.predict(test.inputs)
    assert said.probs is None
    assert torch.allclose(said.total, said.aleatoric + said.epistemic)
    squares = (said.mean - test.targets).square().mean(1)
    assert ((squares / 0.2 - 1).abs() < 0.35).all()
    assert ((said.total.mean(1) / squares - 1).abs() < 0.45).all()
    inside = (said.mean - test.targets).abs() <= 1.645 * said.total.sqrt()
    assert ((inside.double().mean(1) - 0.9).abs() < 0.09).all()
    if model != "nngp":
        alone = fitted(table, model, seeds[1:]).predict(test.inputs[1:])
        assert torch.equal(alone.mean[0], said.mean[1])
        assert torch.equal(alone.total[0], said.total[1])


def test_a_forests_mean_is_scikit_learns_and_its_variance_that_of_the_leaves_targets(table):
    data, test = table.data([3]), table.evaluation_sets([3])["test"].inputs
    said = fitted(table, "random-forest").predict(test)
    x, y, new = data.inputs[0].double().numpy(), data.targets[0].double().numpy(), test[0].numpy()
    seed = derive_seed("scikit-learn", 3) % 2**32
    forest = RandomForestRegressor(500, min_samples_leaf=LEAF, random_state=seed).fit(x, y)
    assert np.allclose(said.mean[0], forest.predict(new.astype(float)))
    # by the definition: each tree's own law of the bootstrapped targets in its leaf, and their mix
    second = []
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        known, leaf = tree.apply(x[drawn].astype(np.float32)), tree.apply(new[:1])
        second.append((y[drawn][known == leaf] ** 2).mean())
    variance = np.mean(second) - forest.predict(new[:1].astype(float)) ** 2
    assert float(said.total[0, 0]) == pytest.approx(float(variance[0]), rel=1e-6)


def test_boosted_quantiles_are_scikit_learns_and_a_normals_quantiles_give_it_back(table):
    data, test = table.data([3]), table.evaluation_sets([3])["test"].inputs
    said = fitted(table, "gradient-boosting").predict(test)
    x, y = data.inputs[0].double().numpy(), data.targets[0].double().numpy()
    seed = derive_seed("scikit-learn", 3) % 2**32
    own = {"loss": "quantile", "early_stopping": True, "random_state": seed}
    models = [HistGradientBoostingRegressor(quantile=q, **own).fit(x, y) for q in LEVELS]
    ordered = np.sort([model.predict(test[0].double().numpy()) for model in models], axis=0)
    assert np.allclose(said.interval[0].numpy(), ordered[[0, -1]].T)
    assert np.allclose(said.mean[0].numpy(), ordered.mean(0))


def test_a_gaussian_process_is_scikit_learns(table):
    data, test = table.data([3]), table.evaluation_sets([3])["test"].inputs
    few = Data(data.inputs[:, :80], data.targets[:, :80])
    said = fitted(table, "gaussian-process", data=few).predict(test)
    x, y = few.inputs[0].double().numpy(), few.targets[0].double().numpy()
    length = float(np.sqrt(2 * x.var(0).sum()))
    model = GaussianProcessRegressor(1.0 * RBF(length) + WhiteKernel(0.5)).fit(x, y)
    mean, std = model.predict(test[0].double().numpy(), return_std=True)
    assert np.allclose(said.mean[0], mean, atol=1e-6)
    assert np.allclose(said.total[0], std**2, atol=1e-6)


def conformal(table: TableDataset) -> tuple[ConformalBoosting, ScikitLearn, Data, torch.Tensor]:
    config, data = ScikitLearnConfig(model="gradient-boosting"), table.data([3])
    estimator = ConformalBoosting(table.problem, [3], config, CPU)
    estimator.fit(data, None, steps=1)
    test = table.evaluation_sets([3])["test"].inputs
    return estimator, fitted(table, "gradient-boosting"), data.validation, test


def test_conformalized_quantiles_are_those_of_crepes(table):
    """crepes' regressor, given how far validation targets are outside of the boosted interval.

    It takes residuals by their size, so ten is added to all, and taken off in the end.
    """
    crepes = pytest.importorskip("crepes", reason="pip install uqbench-predictive[conformal]")
    estimator, boosted, held, test = conformal(table)
    low, high = boosted.predict(held.inputs).interval[0].numpy().T
    y = held.targets[0].double().numpy()
    theirs = crepes.ConformalRegressor().fit(np.maximum(low - y, y - high) + 10)
    ends = boosted.predict(test).interval[0].numpy()
    moved = theirs.predict_int(np.zeros(1), confidence=0.9)[0, 1] - 10
    own = estimator.predict(test).interval[0].numpy()
    assert np.allclose(own, ends + np.array([-moved, moved]), atol=1e-12)


def test_an_interval_that_holds_too_much_moves_inwards(toy):
    """The 18th smallest of 19 distances outside, |y| − 3, is −1: 90 % sets end at ±2."""

    def wide(inputs: torch.Tensor) -> PredictiveUncertainty:
        zero = torch.zeros(inputs.shape[:2], dtype=torch.float64)
        return replace(values(zero, zero, zero + 1), interval=torch.stack([zero - 3, zero + 3], -1))

    made = Conformal(toy(0).problem, [0], TrainingConfig(hidden=(4,)), CPU)
    made.network = SimpleNamespace(fit=lambda *_: None, predict=wide)
    held = Data(torch.zeros(1, 19, 1), torch.linspace(-2, 2, 19)[None])
    made.fit(Data(held.inputs, held.targets, held), None, 1)
    assert made.predict(torch.zeros(1, 1, 1)).interval[0, 0].tolist() == pytest.approx([-2, 2])


KINDS = {"classification": 3, "regression": 0}
NOT_HERE = {
    "reference-entropy", "further-networks", "hmc", "exact", "prior", "gaussian-process",
}  # fmt: skip
"""Estimators of other problems than tables."""


@pytest.mark.parametrize(
    "spec", [s for s in uqbench_estimators() if s.name not in NOT_HERE], ids=lambda s: s.name
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_estimator_learns_the_kinds_that_it_declares_and_refuses_the_others(spec, kind, toy):
    task = toy(KINDS[kind])
    models = {"conformal-boosting": "gradient-boosting", "scikit-learn": "random-forest"}
    models |= {name: name for name in ("gradient-boosting", "svm")}
    own = {"model": models[spec.name]} if spec.name in models else {}
    config, data = spec.load_config()(**own), task.data([0])
    held = Data(data.inputs, data.targets, Data(data.inputs, data.targets))
    estimator = spec.load_factory()(task.problem, [0], config, CPU)
    if kind not in spec.kinds:
        with pytest.raises(ValueError, match="predicts classes"):
            estimator.fit(held, None, steps=2)
        return
    estimator.fit(held, None, steps=2)
    assert (estimator.predict(data.inputs).probs is None) == (kind == "regression")


HELD, TESTED, LANES = 10, 200, 150


class Noisy(Dataset):
    """A line with Student's t noise that grows with x, or three classes, a third of them random.

    Test points are exchangeable with the ten of validation.
    """

    inputs = (1,)

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def drawn(self, seed: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = np.random.default_rng(seed)
        x = generator.uniform(-1, 1, (count, 1))
        if self.n_classes == 0:
            y = x[:, 0] + (1 + x[:, 0]) * generator.standard_t(2, count)
            return torch.from_numpy(x).float(), torch.from_numpy(y).float()
        random = generator.integers(0, 3, count)
        y = np.where(generator.random(count) < 1 / 3, random, (1.5 * (x[:, 0] + 1)).astype(int))
        return torch.from_numpy(x).float(), torch.from_numpy(y)

    def part(self, seeds: Sequence[int], name: int, count: int) -> Data:
        lanes = [self.drawn(3 * seed + name, count) for seed in seeds]
        return Data(*(torch.stack(part) for part in zip(*lanes, strict=True)))

    def data(self, seeds: Sequence[int]) -> Data:
        train = self.part(seeds, 0, 20)
        return Data(train.inputs, train.targets, self.part(seeds, 1, HELD))

    def reference_model(self, seeds: Sequence[int]) -> None:
        return None

    def evaluation_sets(self, seeds):
        raise NotImplementedError


@pytest.mark.parametrize("n_classes", [0, 3])
def test_sets_hold_as_many_targets_as_exchangeability_says(n_classes):
    """10 of 11: the largest of ten errors. Over 150 lanes the standard error is 0.007."""
    task, seeds = Noisy(n_classes), range(LANES)
    estimator = Conformal(task.problem, seeds, TrainingConfig(hidden=(4,)), CPU)
    estimator.fit(task.data(seeds), None, steps=20)
    test = task.part(seeds, 2, TESTED)
    said = estimator.predict(test.inputs)
    if n_classes:
        inside = said.classes.gather(-1, test.targets[..., None]).squeeze(-1)
    else:
        low, high = said.interval.unbind(-1)
        inside = (low <= test.targets) & (test.targets <= high)
    assert inside.double().mean().item() == pytest.approx(10 / 11, abs=0.025)
    assert inside.double().mean(1).std() > 0.03  # a lane's own coverage is a draw of Beta(10, 1)


def test_fewer_than_nine_validation_points_or_none_are_refused(toy):
    with pytest.raises(ValueError, match="at least 9 validation points, got 8"):
        quantile(torch.rand(1, 8))
    assert (quantile(torch.arange(9.0)[None]), quantile(torch.arange(19.0)[None])) == (8, 17)
    task = toy()
    estimator = Conformal(task.problem, [0], TrainingConfig(hidden=(4,)), CPU)
    with pytest.raises(ValueError, match="this task has none"):
        estimator.fit(task.data([0]), None, steps=1)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_sets_are_those_of_crepes(n_classes):
    crepes = pytest.importorskip("crepes", reason="pip install uqbench-predictive[conformal]")
    task = Noisy(n_classes)
    estimator = Conformal(task.problem, [5], TrainingConfig(hidden=(4,)), CPU)
    data = Data(task.data([5]).inputs, task.data([5]).targets, task.part([5], 1, 57))
    estimator.fit(data, None, steps=50)
    held, test = data.validation, task.part([5], 2, 30)
    known, said = estimator.predict(held.inputs), estimator.predict(test.inputs)
    if n_classes:
        errors = 1 - known.probs[0].gather(-1, held.targets[0, :, None]).squeeze(-1).numpy()
        theirs = crepes.ConformalClassifier().fit(errors)
        sets = theirs.predict_set(1 - said.probs[0].numpy(), confidence=0.9, smoothing=False)
        assert np.array_equal(sets, said.classes[0].numpy())
        assert 0 < sets.mean() < 1
    else:
        theirs = crepes.ConformalRegressor().fit((held.targets - known.mean)[0].double().numpy())
        intervals = theirs.predict_int(said.mean[0].double().numpy(), confidence=0.9)
        assert np.allclose(intervals, said.interval[0].numpy())
