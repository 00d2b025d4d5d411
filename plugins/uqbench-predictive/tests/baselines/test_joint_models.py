"""Models that predict all inputs together: prior functions, epistemic indices, shared draws."""

from dataclasses import replace

import pytest
import torch
from uqbench_predictive.baselines import indexed
from uqbench_predictive.baselines.csg_hmc import CyclicalSGHMC, CyclicalSGHMCConfig
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig
from uqbench_predictive.baselines.indexed import Epinet, Hypermodel, PriorIndexedConfig
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig
from uqbench_predictive.baselines.swag import SWAG, SWAGConfig

SMALL = {"hidden": (8,), "weight_decay": 1.0, "posterior": True}
NOISE_VAR = 0.25
METHODS = {
    "ensemble-plus": (DeepEnsemble, DeepEnsembleConfig(members=3, prior_scale=1.0, **SMALL)),
    "bbb": (indexed.BayesByBackprop, indexed.IndexedConfig(samples=20, **SMALL)),
    "hypermodel": (Hypermodel, PriorIndexedConfig(samples=20, **SMALL)),
    "epinet": (Epinet, PriorIndexedConfig(samples=20, **SMALL)),
    "mc-dropout": (MCDropout, MCDropoutConfig(passes=20, shared=True, **SMALL)),
    "laplace": (Laplace, LaplaceConfig(samples=20, precision="decay", shared=True, **SMALL)),
}
LINE = {"hidden": (), "weight_decay": 1.0, "posterior": True, "learning_rate": 2e-2}


def noisy(toy):
    """A line in two dimensions whose noise is known."""
    task = toy(0)
    task.noise_var = NOISE_VAR
    return task


@pytest.mark.parametrize(("kind", "config"), METHODS.values(), ids=list(METHODS))
@pytest.mark.parametrize("classes", [0, 3])
def test_a_model_predicts_all_inputs_and_lanes_are_alone(toy, fit, predict, kind, config, classes):
    task = toy(classes)
    task.noise_var = NOISE_VAR if classes == 0 else None
    both, alone = (predict(kind, config, task, seeds) for seeds in ([0, 1], [1]))
    assert torch.equal(both.members[:, 1:], alone.members)
    center = alone.members.mean(0)
    assert torch.allclose(center, alone.mean[..., None] if classes == 0 else alone.probs)
    estimator = fit(kind, config, task, steps=5)
    inputs = torch.randn(1, 6, 2, generator=torch.Generator().manual_seed(0))
    whole, part = estimator.predict(inputs), estimator.predict(inputs[:, 2:5])
    assert torch.allclose(whole.members[:, :, 2:5], part.members, atol=1e-6)
    assert whole.members.var(0).mean() > 0


def test_a_line_with_prior_functions_and_noise_is_a_draw_from_the_posterior(toy, points, fit, line):
    """Weights of variance 2 / 2 inputs, biases of 1, λ = 1: standard errors of 1,000 members."""
    task = noisy(toy)
    mean, variance = line(task.data([1]), 1 / NOISE_VAR, 1.0)
    config = DeepEnsembleConfig(members=1000, prior_scale=1.0, **LINE)
    said = fit(DeepEnsemble, config, task, steps=600).predict(points[None])
    assert torch.all((said.mean[0] - mean).abs() < 4 * (variance / 1000).sqrt())
    assert torch.allclose(said.epistemic[0], variance, rtol=4 * (2 / 1000) ** 0.5)


def test_bayes_by_backprop_of_a_line_has_the_best_normal_that_factorizes(toy, fit):
    """Its means are the posterior's, its variances one over the precision's diagonal."""
    task = noisy(toy)
    data, config = task.data([1]), indexed.IndexedConfig(draws=32, **LINE | {"learning_rate": 1e-2})
    x = torch.cat([data.inputs[0], torch.ones(24, 1)], -1).double()  # the bias last
    precision = x.T @ x / NOISE_VAR + torch.eye(3)
    mean = torch.linalg.solve(precision, x.T @ data.targets[0].double() / NOISE_VAR)
    learned = fit(indexed.BayesByBackprop, config, task, steps=3000).learned
    own, rho = (
        torch.cat([learned[f"head.{name}{end}"].flatten() for name in ("weight", "bias")]).double()
        for end in ("", ".rho")
    )
    assert torch.allclose(own, mean, atol=0.03)
    variance = torch.nn.functional.softplus(rho).square()
    assert torch.allclose(variance, 1 / precision.diagonal(), rtol=0.15)


@pytest.mark.parametrize("classes", [0, 3])
def test_shared_draws_of_the_last_layer_have_each_inputs_own_law(toy, points, fit, classes):
    task = toy(classes)
    config = LaplaceConfig(samples=20_000, precision="decay", **SMALL)
    each = (fit(Laplace, replace(config, shared=on), task, steps=60) for on in (False, True))
    own, shared = (one.predict(points[None]) for one in each)
    assert own.members is None
    if classes == 0:
        assert torch.allclose(shared.epistemic, own.epistemic, rtol=4 * (2 / 20_000) ** 0.5)
    else:
        assert torch.allclose(shared.probs, own.probs, atol=0.015)


@pytest.mark.parametrize("name", ["epinet", "mc-dropout", "laplace", "ensemble-plus"])
def test_the_energy_is_that_of_the_models_logits(toy, predict, name):
    """One number an input, of classifiers alone."""
    said = predict(*METHODS[name], toy(), [1])
    assert said.energy.shape == said.total.shape
    assert predict(*METHODS[name], toy(0), [1]).energy is None


def test_a_precision_needs_to_be_one():
    with pytest.raises(ValueError, match="needs posterior = true"):
        LaplaceConfig(precision="decay")


@pytest.mark.parametrize("kind", [Epinet, Hypermodel])
@pytest.mark.parametrize("classes", [0, 3])
def test_a_batch_of_all_rows_is_all_rows_reordered_each_with_its_own_noise(toy, fit, kind, classes):
    task = noisy(toy) if classes == 0 else toy(classes)
    rows = task.data([1]).targets.shape[1]
    given = {"hidden": (8,), "draws": 3, "samples": 5}
    each = (PriorIndexedConfig(batch_size=size, **given) for size in (None, rows, rows // 2))
    whole, batched, half = (fit(kind, config, task, steps=20).learned for config in each)
    for name, own in whole.items():
        torch.testing.assert_close(own, batched[name], rtol=0, atol=1e-4)
    assert max((own - half[name]).abs().max() for name, own in whole.items()) > 1e-3


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (DeepEnsemble, DeepEnsembleConfig(members=2, hidden=(8,))),
        (SWAG, SWAGConfig(hidden=(8,), iterations=20, states=5, rank=2, samples=3)),
        (CyclicalSGHMC, CyclicalSGHMCConfig(hidden=(8,), iterations=20, cycles=1, samples=4)),
    ],
    ids=["network", "swag", "csg-hmc"],
)
def test_a_prior_precision_is_a_penalty_over_the_number_of_points(toy, predict, kind, config):
    """Twenty-four points: λ = 2.4 of a mean loss is a weight decay of 0.1."""
    of_mean = predict(kind, replace(config, weight_decay=0.1), toy(), [1])
    whole = predict(kind, replace(config, weight_decay=2.4, posterior=True), toy(), [1])
    assert torch.allclose(of_mean.probs, whole.probs, atol=1e-5)
    assert not torch.allclose(of_mean.probs, predict(kind, config, toy(), [1]).probs, atol=1e-3)
