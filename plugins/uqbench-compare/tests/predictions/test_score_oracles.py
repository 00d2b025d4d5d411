"""Scores are those of scikit-learn, scoringrules and netcal, to 1e-9."""

import numpy as np
import pytest

import uqbench

M = 120


@pytest.fixture(scope="module")
def classes():
    generator = np.random.default_rng(0)
    probs = generator.dirichlet(np.ones(4), M)
    targets = np.array([generator.choice(4, p=p) for p in probs])
    return probs, targets


@pytest.fixture(scope="module")
def values():
    generator = np.random.default_rng(1)
    mean, std = generator.normal(size=M), generator.uniform(0.5, 2, M)
    return mean, std, mean + std * generator.normal(size=M)


def test_classes_score_as_scikit_learn_says(classes):
    metrics = pytest.importorskip("sklearn.metrics")
    probs, targets = classes
    rows = uqbench.score(probs=probs, targets=targets)["value"]
    assert rows["nll"] == pytest.approx(metrics.log_loss(targets, probs), abs=1e-9)
    assert rows["accuracy"] == metrics.accuracy_score(targets, probs.argmax(1))
    binary = uqbench.score(probs=probs[:, 0], targets=targets == 0)["value"]
    half = metrics.brier_score_loss(targets == 0, probs[:, 0])
    assert binary["brier"] == pytest.approx(2 * half, abs=1e-9)


def test_detectors_score_as_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(2)
    inside, outside = generator.normal(size=M), generator.normal(1, 1, 50)
    rows = uqbench.score(score=inside, outside_score=outside)["value"]
    every, is_outside = np.concatenate([inside, outside]), np.arange(M + 50) >= M
    assert rows["auroc"] == pytest.approx(metrics.roc_auc_score(is_outside, every), abs=1e-9)
    assert rows["aupr"] == pytest.approx(
        metrics.average_precision_score(is_outside, every), abs=1e-9
    )


def test_values_score_as_scikit_learn_says(values):
    metrics = pytest.importorskip("sklearn.metrics")
    mean, std, targets = values
    levels = np.array([0.05, 0.2, 0.5, 0.95])
    quantiles = mean[:, None] + np.outer(std, [-1.6, -0.8, 0.0, 1.7])
    rows = uqbench.score(quantiles=quantiles, levels=levels, targets=targets)["value"]
    losses = [
        metrics.mean_pinball_loss(targets, q, alpha=a)
        for q, a in zip(quantiles.T, levels, strict=True)
    ]
    assert rows["quantile_loss"] == pytest.approx(np.mean(losses), abs=1e-9)
    rmse = uqbench.score(mean=mean, std=std, targets=targets).loc["rmse", "value"]
    assert rmse == pytest.approx(metrics.root_mean_squared_error(targets, mean), abs=1e-9)


def test_values_score_as_scoringrules_says(values):
    rules = pytest.importorskip("scoringrules")
    mean, std, targets = values
    rows = uqbench.score(mean=mean, std=std, targets=targets)["value"]
    assert rows["crps"] == pytest.approx(rules.crps_normal(targets, mean, std).mean(), abs=1e-9)
    assert rows["nll"] == pytest.approx(rules.logs_normal(targets, mean, std).mean(), abs=1e-9)
    drawn = mean + std * np.random.default_rng(3).normal(size=(25, M))
    crps = uqbench.score(samples=drawn, targets=targets).loc["crps", "value"]
    assert crps == pytest.approx(rules.crps_ensemble(targets, drawn.T).mean(), abs=1e-9)
    of_members = uqbench.score(members=drawn, targets=targets).loc["crps", "value"]
    assert of_members == pytest.approx(crps, abs=1e-9)
    ends = np.stack([mean - std, mean + 2 * std], 1)
    found = uqbench.score(interval=ends, targets=targets).loc["interval_score_90", "value"]
    assert found == pytest.approx(rules.interval_score(targets, *ends.T, 0.1).mean(), abs=1e-9)


def test_calibration_errors_of_equal_width_are_netcals(classes):
    netcal = pytest.importorskip("netcal.metrics")
    probs, targets = classes
    for bins in (10, 15, 20):
        rows = uqbench.score(probs=probs, targets=targets, bins=bins)["value"]
        assert rows["ece_width"] == pytest.approx(
            netcal.ECE(bins).measure(probs, targets), abs=1e-9
        )
