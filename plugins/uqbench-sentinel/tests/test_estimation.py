"""Risk of beliefs: closed forms, the order of example 1, examples 3 and 4."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
import torch
from uqbench_sentinel.estimation.beliefs import (
    BeliefConfig,
    Beliefs,
    divergences,
    gaussian_mixture_cvar,
    three_gaussians,
)
from uqbench_sentinel.estimation.composite import (
    CompositeRiskConfig,
    CompositeRiskEstimator,
    standard_atoms,
)
from uqbench_sentinel.plugin import uqbench_datasets, uqbench_suites

from uqbench.registry import Host
from uqbench.risk import CVaR, Expectation, compose
from uqbench.risk import additive as additive_risk
from uqbench.suites import read_suites
from uqbench.testing.worlds import asked_once

CPU = torch.device("cpu")


def scores(belief: BeliefConfig, seeds: range, **config: object) -> dict[str, torch.Tensor]:
    task = Beliefs(belief)
    estimator = CompositeRiskEstimator(
        task.problem, list(seeds), CompositeRiskConfig(**config), CPU
    )  # type: ignore[arg-type]
    estimator.fit(task.data(seeds), task.reference_model(seeds), 1)
    return dict(task.score(seeds, asked_once(task, seeds, estimator.predict)))


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.9])
def test_cvar_of_one_gaussian_is_its_closed_form(alpha: float) -> None:
    z = NormalDist().inv_cdf(alpha)
    expected = 2 - 3 * NormalDist().pdf(z) / alpha
    law = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    assert gaussian_mixture_cvar(*law, alpha).item() == pytest.approx(expected, abs=1e-9)


def test_cvar_of_a_mixture_is_the_mean_of_the_worst_quarter_of_a_sample() -> None:
    """10⁶ draws; the standard error is 0.003, six of them are allowed."""
    rng = np.random.default_rng(0)
    weights, means, stds = (
        np.array([0.2, 0.5, 0.3]),
        np.array([-1.0, 0.5, 2.0]),
        np.array([2, 0.3, 1]),
    )
    which = rng.choice(3, 1_000_000, p=weights)
    worst = np.sort(rng.normal(means[which], stds[which]))[:250_000].mean()
    given = gaussian_mixture_cvar(
        *(torch.from_numpy(a).double() for a in (weights, means, stds)), 0.25
    )
    assert given.item() == pytest.approx(worst, abs=0.02)


def test_the_atoms_of_a_gaussian_have_its_mean_and_tail_means() -> None:
    atoms = standard_atoms()
    assert atoms.mean().item() == pytest.approx(0, abs=1e-12)
    assert atoms[:100].mean().item() == pytest.approx(
        -NormalDist().pdf(NormalDist().inv_cdf(0.25)) * 4
    )


def test_divergences_of_example_4() -> None:
    near = divergences(three_gaussians())
    torch.testing.assert_close(
        near, torch.tensor([0.481, 0.922, 0.740]).double(), atol=1e-3, rtol=0
    )
    printed = divergences(three_gaussians(), "mix-to-member")
    torch.testing.assert_close(
        printed, torch.tensor([0.725, 13.157, 2.725]).double(), atol=1e-3, rtol=0
    )


def test_example_4_in_the_printed_reading_and_in_the_texts() -> None:
    belief, seeds = BeliefConfig("three"), range(1)
    assert scores(belief, seeds, ftrl_lambda=1.0)["nearest_weight"].item() == pytest.approx(
        0.414, abs=5e-3
    )
    literal = scores(belief, seeds, ftrl_lambda=1.0, ftrl_sign=1)["nearest_weight"].item()
    assert literal == pytest.approx(0.26, abs=5e-3)
    assert scores(belief, seeds)["nearest_weight"].item() == pytest.approx(1 / 3)
    assert scores(belief, seeds, ftrl_lambda=1e6)["nearest_weight"].item() == 1
    assert scores(belief, seeds, ftrl_lambda=1e6, ftrl_sign=1)["nearest_weight"].item() == 0


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.75])
def test_on_example_1_composite_is_below_total_below_additive_in_every_run(alpha: float) -> None:
    """And the additive one is the nearer in most runs where α ≤ ½: the claim does not hold."""
    belief, seeds = BeliefConfig("mixture", alpha), range(25)
    composite = scores(belief, seeds, risk=compose(CVaR(alpha), CVaR(alpha)))
    additive = scores(belief, seeds, risk=additive_risk(CVaR(alpha)))
    assert (composite["error"] < 0).all()
    assert (additive["error"] > 0).all()
    if alpha <= 0.5:
        assert (additive["abs_error"] < composite["abs_error"]).double().mean() > 0.6


def test_on_example_3_both_are_averse_and_agree_with_the_total_as_the_belief_concentrates() -> None:
    gaps = []
    for concentration in (1.0, 10.0, 100.0, 1_000.0):
        belief = BeliefConfig("beta", 0.25, concentration)
        for risk in (compose(CVaR(0.25), CVaR(0.25)), additive_risk(CVaR(0.25))):
            given = scores(belief, range(1), risk=risk)
            assert given["margin"].item() > 0  # a₁
            gaps.append(given["abs_error"].item())
    assert gaps[0::2] == sorted(gaps[0::2], reverse=True)
    assert gaps[1::2] == sorted(gaps[1::2], reverse=True)
    assert gaps[-2] < 0.05
    assert gaps[-1] < 0.01
    neutral = scores(BeliefConfig("beta"), range(1), risk=compose(Expectation(), Expectation()))
    assert neutral["stated"].item() == pytest.approx(0, abs=1e-9)


def test_the_parts_add_up() -> None:
    task = Beliefs(BeliefConfig("mixture"))
    estimator = CompositeRiskEstimator(task.problem, [0], CompositeRiskConfig(), CPU)
    given = estimator.predict(task.data([0, 1]).inputs)
    assert given.total.shape == (2, 1)
    torch.testing.assert_close(given.aleatoric + given.epistemic, given.total)
    assert (given.epistemic < 0).all()
    additive = CompositeRiskEstimator(
        task, [0], CompositeRiskConfig(risk=additive_risk(CVaR(0.25))), CPU
    )
    stated = additive.predict(task.data([0, 1]).inputs)
    torch.testing.assert_close(given.aleatoric, stated.total)


def test_the_normalization_constants_of_the_suite_are_the_error_of_the_mean() -> None:
    """Zero: |mean − CVaR_α| averaged over seeds 0 to 999."""
    suites = {suite.name: suite for suite in read_suites(Host.load()).suites.values()}
    suite = suites["risk-estimation"]
    constants = suite.normalization["abs_error"].constants
    for task in suite.tasks:
        belief = BeliefConfig(**task.config)
        beliefs = Beliefs(belief)._beliefs(range(1_000 if belief.example == "mixture" else 1))
        weights, means, stds = beliefs[:, 0].flatten(1, 2).unbind(-1)
        total = gaussian_mixture_cvar(weights, means, stds, belief.alpha)
        error = ((weights * means).sum(-1) - total).abs().mean().item()
        assert constants[task.name].zero == pytest.approx(error, abs=1e-3), task.name
    assert uqbench_datasets()
    assert uqbench_suites()
