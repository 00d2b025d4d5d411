"""Problems with a known posterior: what the exact one, the prior and planted predictions score."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from uqbench_predictive.baselines.exact import Exact, ExactConfig, Prior
from uqbench_predictive.problems import known_classes, known_regression
from uqbench_predictive.problems.known_classes import KnownClasses, KnownClassesConfig
from uqbench_predictive.problems.known_regression import KnownRegression, KnownRegressionConfig
from uqbench_predictive.problems.testbed import PAIRS, TOGETHER, lane_of
from uqbench_predictive.testing import Toy

from uqbench.testing.worlds import asked_once

CPU = torch.device("cpu")
SEEDS = [3, 4, 5]
TASKS = {
    "one input": KnownRegression(KnownRegressionConfig()),
    "ten inputs": KnownRegression(KnownRegressionConfig(width=10, points=40)),
    "classes": KnownClasses(KnownClassesConfig(points=10)),
}
every = pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))


def predicted(task, kind=Exact):
    """The predictions of a row that knows the prior."""
    estimator = kind(task.problem, SEEDS, ExactConfig(), CPU)
    estimator.fit(task.data(SEEDS), None, 0)
    return asked_once(task, SEEDS, estimator.predict)


def scores(task, predictions, **changed):
    """``kl`` and the sum of joint divergences, ``[L]``, of predictions with some fields changed."""
    one = predictions["test"]
    said = task.score(SEEDS, {"test": replace(one, predicted=replace(one.predicted, **changed))})
    return said["kl"], said["joint_kl"] + said["joint_kl_100"]


@every
def test_exact_is_exact_unless_it_forgets_which_points_go_together_and_the_prior_is_far(task):
    exact = predicted(task)
    each, together = scores(task, exact)
    apart, forgotten = scores(task, exact, members=None)
    assert max(each.abs().max(), apart.abs().max()) < 1e-9
    assert together.abs().max() < 1e-4
    assert forgotten.min() > 3e-3
    each, together = scores(task, predicted(task, Prior))
    assert each.min() > 0.02
    assert together.min() > 0.01


@pytest.mark.parametrize("factor", [0.2, 0.6, 1.6, 5.0])
@pytest.mark.parametrize("name", ["one input", "ten inputs"])
def test_a_variance_that_is_off_costs_on_either_side(name, factor):
    given = predicted(TASKS[name])
    said = given["test"].predicted
    wider = said.mean + factor**0.5 * (said.members[..., 0] - said.mean)
    own = {"epistemic": factor * said.epistemic, "members": wider[..., None]}
    assert min(map(torch.min, scores(TASKS[name], given, **own))) > 1e-4


@pytest.mark.parametrize("name", ["one input", "ten inputs"])
def test_members_of_another_law_than_the_one_that_is_stated_are_refused(name):
    given = predicted(TASKS[name])
    said = given["test"].predicted
    for other in ({"members": said.members + 100}, {"epistemic": said.epistemic + 5}):
        with pytest.raises(ValueError, match="expected members whose mean"):
            scores(TASKS[name], given, **other)


@pytest.mark.parametrize("power", [0.3, 0.8, 1.3, 4.0])
def test_probabilities_that_are_too_sure_or_unsure_cost(power):
    task = TASKS["classes"]
    given = predicted(task)
    raised = given["test"].predicted.probs ** power
    own = {"probs": raised / raised.sum(-1, keepdim=True), "members": None}
    assert min(map(torch.min, scores(task, given, **own))) > 1e-4


def test_worst_is_who_is_sure_of_the_wrong():
    task = TASKS["classes"]
    given = predicted(task)
    wrong = 1 - given["test"].predicted.probs.round()
    assert scores(task, given, probs=wrong, members=None)[0].min() > 5
    task = TASKS["one input"]
    given = predicted(task)
    said = given["test"].predicted
    off = scores(task, given, mean=said.mean + 3, epistemic=0 * said.epistemic, members=None)[0]
    assert off.min() > 5


def test_targets_have_the_likelihood_that_the_exact_prediction_states():
    """The mean log-likelihood of targets is minus the entropy, in a hundred problems."""
    task, seeds = TASKS["one input"], list(range(100))
    estimator = Exact(task.problem, seeds, ExactConfig(), CPU)
    estimator.fit(task.data(seeds), None, 0)
    test = task.evaluation_sets(seeds)["test"]
    said = estimator.predict(test.inputs)
    squares = (test.targets.double() - said.mean).square() / said.total
    assert squares.mean() == pytest.approx(1, abs=0.06)


def test_the_quadrature_is_importance_sampling_from_the_prior():
    data = TASKS["classes"].data([7])
    inputs, targets = data.inputs[0], data.targets[0]
    points = torch.tensor([[2.0, -1.0], [0.3, 0.1], [-3.0, 2.0]])
    known = known_classes.LogisticPosterior(inputs, targets)
    own = known.predict(points, torch.Generator().manual_seed(0)).probs[:, 1]
    drawn = torch.randn(400_000, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    drawn *= known_classes.PRIOR_VAR**0.5
    likely = (drawn @ known_classes.with_one(inputs).T).sigmoid()
    weight = torch.where(targets > 0, likely, 1 - likely).prod(-1)
    at_points = (drawn @ known_classes.with_one(points).T).sigmoid()
    assert torch.allclose(own, (at_points * weight[:, None]).sum(0) / weight.sum(), atol=0.01)


def test_the_divergence_by_counts_is_that_of_all_sequences_of_classes():
    """Four targets at two inputs: sixteen sequences, one by one."""
    one = torch.tensor([[0.2, 0.9], [0.6, 0.1]], dtype=torch.float64)
    other = torch.tensor([[0.3, 0.7]], dtype=torch.float64)
    mass, sure = torch.tensor([0.25, 0.75]).double(), torch.ones(1).double()
    p, q = known_classes.counts(one, mass, 2), known_classes.counts(other, sure, 2)
    found, wanted = (p * (p / q).log()).sum(), 0.0
    for classes in product((0, 1), repeat=4):
        at = torch.tensor([0, 0, 1, 1])
        own, theirs = (
            (m * torch.where(torch.tensor(classes) > 0, of[:, at], 1 - of[:, at]).prod(-1)).sum()
            for of, m in ((one, mass), (other, sure))
        )
        wanted += own * (own / theirs).log()
    assert found == pytest.approx(float(wanted))


@pytest.mark.parametrize("alone", [False, True], ids=["together", "alone"])
def test_the_divergence_of_means_is_that_of_all_ten_targets(alone):
    """Ten targets at two inputs, five each, as one normal of ten dimensions."""
    task = TASKS["ten inputs"]
    data, test = task.data([3]), task.evaluation_sets([3])["test"].inputs[0]
    known = task.posterior(data.inputs[0], data.targets[0])
    estimator = Prior(task.problem, [3], ExactConfig(), CPU)
    estimator.fit(data, None, 0)
    said = lane_of(estimator.predict(test[None]), 0)
    members = None if alone else said.members + 0.3
    said = replace(said, mean=said.mean + 0.3, members=members)
    found, at = known.divergences(test, said)[1][0], torch.tensor([0] * 5 + [1] * 5)
    mean, covariance = known.function(test)
    noise = known_regression.NOISE_VAR * torch.eye(10, dtype=torch.float64)
    spread = said.epistemic[:2].diag()[at][:, at] * torch.eye(10)
    if not alone:
        own = said.members[:, :2, 0] - said.members[:, :2, 0].mean(0)
        spread = (own.T @ own / len(own))[at][:, at]
    exact = covariance[:2, :2][at][:, at] + noise
    law, own = (
        torch.distributions.MultivariateNormal(of[at], covariance)
        for of, covariance in ((mean, exact), (said.mean, spread + noise))
    )
    assert found == pytest.approx(float(torch.distributions.kl_divergence(law, own)))


@every
def test_a_problem_follows_from_its_seed_alone(task):
    both, alone = task.data([8, 9]), task.data([9])
    assert torch.equal(both.inputs[1:], alone.inputs)
    assert torch.equal(both.targets[1:], alone.targets)
    test = task.evaluation_sets([9])["test"]
    assert all(count % 2 == 0 for count in TOGETHER)
    inputs = torch.cat([test.inputs[0], alone.inputs[0]])
    assert len(torch.unique(inputs, dim=0)) == 2 * PAIRS + len(alone.inputs[0])


def test_noise_is_the_problems():
    task = TASKS["one input"]
    given = predicted(task)
    assert scores(task, given, aleatoric=torch.full((3, 2 * PAIRS), 9.0))[0].abs().max() < 1e-9
    assert torch.all(given["test"].predicted.aleatoric == known_regression.NOISE_VAR)


def test_only_a_testbed_knows_its_posterior():
    with pytest.raises(ValueError, match="whose posterior is known"):
        Exact(Toy().problem, [0], ExactConfig(), CPU)
