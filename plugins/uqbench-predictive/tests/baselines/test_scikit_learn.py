"""Classifiers of scikit-learn, against scikit-learn."""

import warnings
from itertools import product

import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from uqbench_predictive.baselines.scikit_learn import MODELS, ScikitLearn, ScikitLearnConfig

from uqbench.estimator import Data
from uqbench.registry import Host
from uqbench.seeding import derive_seed
from uqbench.suites import method_config, read_suites

CPU = torch.device("cpu")
SEEDS = [3, 4]


def fitted(task, model: str, data: Data, **config) -> ScikitLearn:
    estimator = ScikitLearn(task.problem, SEEDS, ScikitLearnConfig(model=model, **config), CPU)
    estimator.fit(data, None, steps=1)
    return estimator


def test_probabilities_are_scikit_learns_and_a_vote_more(toy, points):
    task = toy()
    data = task.data(SEEDS)
    forest = fitted(task, "random-forest", data).predict(points.expand(2, -1, -1)).probs
    neighbors = fitted(task, "k-neighbors", data).predict(points.expand(2, -1, -1)).probs
    for lane, seed in enumerate(SEEDS):
        x, y = data.inputs[lane].double().numpy(), data.targets[lane].numpy()
        new = points.double().numpy()
        own = derive_seed("scikit-learn", seed) % 2**32
        trees = RandomForestClassifier(500, random_state=own).fit(x, y).predict_proba(new)
        assert torch.allclose(forest[lane], torch.tensor((500 * trees + 1 / 3) / 501))
        ten = KNeighborsClassifier(10).fit(x, y).predict_proba(new)
        assert torch.allclose(neighbors[lane], torch.tensor((10 * ten + 1 / 3) / 11))


def test_the_trees_of_a_forest_are_its_models(toy, points):
    """Their mean is the forest; how much they disagree is epistemic, by all 500."""
    task = toy()
    task.members = 500
    data = task.data(SEEDS)
    estimator = fitted(task, "random-forest", data)
    said = estimator.predict(points.expand(2, -1, -1))
    assert said.members.shape == (500, 2, len(points), 3)
    assert torch.allclose(said.members.mean(0), said.probs)
    one = estimator.models[1].estimators_[7].predict_proba(points.numpy())
    assert torch.allclose(said.members[7, 1], torch.tensor((500 * one + 1 / 3) / 501))
    among = torch.special.entr(said.members).sum(-1).mean(0)
    assert torch.allclose(said.aleatoric, among)
    assert torch.allclose(said.total, torch.special.entr(said.probs).sum(-1))
    assert torch.allclose(said.epistemic, said.total - among)
    estimator.kept = 50
    fewer = estimator.predict(points.expand(2, -1, -1))
    assert torch.equal(fewer.members, said.members[:50])
    assert torch.equal(fewer.epistemic, said.epistemic)


def test_a_gaussian_process_starts_at_the_distance_of_two_points_and_takes_the_first_ones(
    toy, points
):
    task = toy()
    data = task.data(SEEDS)
    estimator = fitted(task, "gaussian-process", data, points=12)
    said = estimator.predict(points.expand(2, -1, -1))
    x, y = data.inputs[0, :12].double(), data.targets[0, :12]
    length = torch.cdist(x, x).square().mean().sqrt().item()
    model = GaussianProcessClassifier(1.0 * RBF(length)).fit(x.numpy(), y.numpy())
    expected = torch.tensor(model.predict_proba(points.double().numpy()))
    assert estimator.models[0].kernel.k2.length_scale == pytest.approx(length)
    assert torch.allclose(said.probs[0], expected, atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_a_class_that_was_not_seen_keeps_its_place(toy, model):
    task = toy()
    data = task.data(SEEDS)
    merged = Data(data.inputs, torch.where(data.targets == 1, 2, data.targets))
    said = fitted(task, model, merged).predict(data.inputs)
    assert said.probs.shape == (2, 24, 3)
    assert torch.allclose(said.probs.sum(-1), torch.ones(2, 24).double())
    assert (said.probs[..., 1] < 0.04).all()
    assert ((said.probs.argmax(-1) == merged.targets).double().mean(-1) > 0.7).all()
    assert said.total.isfinite().all()
    assert said.score is None
    assert (said.epistemic.abs().max() > 0) == (model == "random-forest")
    alone = ScikitLearn(task.problem, SEEDS[1:], ScikitLearnConfig(model=model), CPU)
    alone.fit(Data(merged.inputs[1:], merged.targets[1:]), None, steps=1)
    assert torch.equal(alone.predict(data.inputs[1:]).probs[0], said.probs[1])


def test_a_vector_machine_has_scikit_learns_probabilities_at_the_cost_of_its_decay(toy, points):
    task = toy()
    data = task.data(SEEDS)
    said = fitted(task, "svm", data, weight_decay=0.01).predict(points.expand(2, -1, -1))
    x, y = data.inputs[0].double().numpy(), data.targets[0].numpy()
    own = derive_seed("scikit-learn", SEEDS[0]) % 2**32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = SVC(C=100 / 24, probability=True, random_state=own).fit(x, y)
    assert torch.allclose(said.probs[0], torch.tensor(model.predict_proba(points.numpy())))
    with pytest.raises(ValueError, match="weight_decay above 0"):
        ScikitLearnConfig(model="svm", weight_decay=0.0)


def test_regressions_of_a_classifier_and_reference_models_are_refused(toy):
    for task, model in ((toy(0), "svm"), (toy(reference=True), "k-neighbors")):
        estimator = ScikitLearn(task.problem, [3], ScikitLearnConfig(model=model), CPU)
        with pytest.raises(ValueError, match=r"expected a (classification|task) in setting"):
            estimator.fit(task.data([3]), task.reference_model([3]), steps=1)


def test_where_boosting_is_not_tuned_it_has_a_learning_rate_of_its_own():
    """A budget's is of networks: with theirs, 3e-3, boosting was the last of a board."""
    host, met = Host.load(), 0
    for suite in read_suites(host, check=()).suites.values():
        boosting = [one for one in suite.methods if one.config.get("model") == "gradient-boosting"]
        for method, name in product(boosting, suite.budgets):
            budget = suite.budgets[name]
            if budget.tuned != "only" and budget.ranks:
                task, met = suite.tasks_of(budget)[0], met + 1
                config = method_config(method, task, host, where="", budget=(name, budget))
                assert config.learning_rate == 0.1, (suite.name, method.name, name)
    assert met >= 4
