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

SEEDS = [3, 4]


@pytest.fixture
def fitted(fit, toy):
    """From a model's name to one of two lanes that has learned the problem, or other data."""

    def fitted(model: str, data: Data | None = None, task=None, **config) -> ScikitLearn:
        own = ScikitLearnConfig(model=model, **config)
        return fit(ScikitLearn, own, task or toy(), data, seeds=SEEDS)

    return fitted


def test_probabilities_are_scikit_learns_and_a_vote_more(toy, points, fitted):
    data = toy().data(SEEDS)
    each = (fitted(model) for model in ("random-forest", "k-neighbors"))
    forest, neighbors = (one.predict(points.expand(2, -1, -1)).probs for one in each)
    for lane, seed in enumerate(SEEDS):
        x, y = data.inputs[lane].double().numpy(), data.targets[lane].numpy()
        new = points.double().numpy()
        own = derive_seed("scikit-learn", seed) % 2**32
        trees = RandomForestClassifier(500, random_state=own).fit(x, y).predict_proba(new)
        assert torch.allclose(forest[lane], torch.tensor((500 * trees + 1 / 3) / 501))
        ten = KNeighborsClassifier(10).fit(x, y).predict_proba(new)
        assert torch.allclose(neighbors[lane], torch.tensor((10 * ten + 1 / 3) / 11))


def test_the_trees_of_a_forest_are_its_models(toy, points, fitted):
    """Their mean is the forest; how much they disagree is epistemic, by all 500."""
    task = toy()
    task.members = 500
    estimator = fitted("random-forest", task=task)
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


def test_a_gaussian_process_starts_at_the_distance_of_two_points(toy, points, fitted):
    data, estimator = toy().data(SEEDS), fitted("gaussian-process", points=12)
    said = estimator.predict(points.expand(2, -1, -1))
    x, y = data.inputs[0, :12].double(), data.targets[0, :12]
    length = torch.cdist(x, x).square().mean().sqrt().item()
    model = GaussianProcessClassifier(1.0 * RBF(length)).fit(x.numpy(), y.numpy())
    expected = torch.tensor(model.predict_proba(points.double().numpy()))
    assert estimator.models[0].kernel.k2.length_scale == pytest.approx(length)
    assert torch.allclose(said.probs[0], expected, atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_a_class_that_was_not_seen_keeps_its_place(toy, fit, fitted, model):
    data = toy().data(SEEDS)
    merged = Data(data.inputs, torch.where(data.targets == 1, 2, data.targets))
    said = fitted(model, merged).predict(data.inputs)
    assert said.probs.shape == (2, 24, 3)
    assert torch.allclose(said.probs.sum(-1), torch.ones(2, 24).double())
    assert (said.probs[..., 1] < 0.04).all()
    assert ((said.probs.argmax(-1) == merged.targets).double().mean(-1) > 0.7).all()
    assert said.total.isfinite().all()
    assert said.score is None
    assert (said.epistemic.abs().max() > 0) == (model == "random-forest")
    last = Data(merged.inputs[1:], merged.targets[1:])
    alone = fit(ScikitLearn, ScikitLearnConfig(model=model), toy(), last, seeds=SEEDS[1:])
    assert torch.equal(alone.predict(data.inputs[1:]).probs[0], said.probs[1])


def test_a_vector_machine_is_scikit_learns_at_the_cost_of_its_decay(toy, points, fitted):
    data = toy().data(SEEDS)
    said = fitted("svm", weight_decay=0.01).predict(points.expand(2, -1, -1))
    x, y = data.inputs[0].double().numpy(), data.targets[0].numpy()
    own = derive_seed("scikit-learn", SEEDS[0]) % 2**32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = SVC(C=100 / 24, probability=True, random_state=own).fit(x, y)
    assert torch.allclose(said.probs[0], torch.tensor(model.predict_proba(points.numpy())))
    with pytest.raises(ValueError, match="weight_decay above 0"):
        ScikitLearnConfig(model="svm", weight_decay=0.0)


def test_regressions_of_a_classifier_and_reference_models_are_refused(toy, fitted):
    for task, model in ((toy(0), "svm"), (toy(reference=True), "k-neighbors")):
        with pytest.raises(ValueError, match=r"expected a (classification|task) in setting"):
            fitted(model, task=task)


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
