"""Risk of beliefs and FTRL weights: closed forms, bounds, examples 1, 3 and 4."""

import math
from statistics import NormalDist

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from uqbench_sentinel import ftrl
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

from uqbench.registry import Host
from uqbench.risk import CVaR, Expectation, compose
from uqbench.risk import additive as additive_risk
from uqbench.suites import read_suites
from uqbench.testing.worlds import asked_once

CPU = torch.device("cpu")


def scores(belief: BeliefConfig, seeds: range, **config: object) -> dict[str, torch.Tensor]:
    task = Beliefs(belief)
    own = CompositeRiskConfig(**config)
    estimator = CompositeRiskEstimator(task.problem, list(seeds), own, CPU)
    estimator.fit(task.data(seeds), task.reference_model(seeds), 1)
    return dict(task.score(seeds, asked_once(task, seeds, estimator.predict)))


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.9])
def test_cvar_of_one_gaussian_is_its_closed_form(alpha):
    z = NormalDist().inv_cdf(alpha)
    expected = 2 - 3 * NormalDist().pdf(z) / alpha
    law = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    assert gaussian_mixture_cvar(*law, alpha).item() == pytest.approx(expected, abs=1e-9)


def test_cvar_of_a_mixture_is_the_mean_of_the_worst_quarter_of_a_sample():
    """10⁶ draws; the standard error is 0.003, six of them are allowed."""
    rng = np.random.default_rng(0)
    law = np.array([[0.2, 0.5, 0.3], [-1.0, 0.5, 2.0], [2, 0.3, 1]])
    which = rng.choice(3, 1_000_000, p=law[0])
    worst = np.sort(rng.normal(law[1, which], law[2, which]))[:250_000].mean()
    given = gaussian_mixture_cvar(*torch.from_numpy(law), 0.25)
    assert given.item() == pytest.approx(worst, abs=0.02)


def test_the_atoms_of_a_gaussian_have_its_mean_and_tail_means():
    atoms = standard_atoms()
    assert atoms.mean().item() == pytest.approx(0, abs=1e-12)
    tail = -NormalDist().pdf(NormalDist().inv_cdf(0.25)) * 4
    assert atoms[:100].mean().item() == pytest.approx(tail)


EXAMPLE_4 = [
    ({"ftrl_lambda": 1.0}, 0.414),
    ({"ftrl_lambda": 1.0, "ftrl_sign": 1}, 0.26),
    ({}, 1 / 3),
    ({"ftrl_lambda": 1e6}, 1),
    ({"ftrl_lambda": 1e6, "ftrl_sign": 1}, 0),
]


@pytest.mark.parametrize(("settings", "expected"), EXAMPLE_4)
def test_example_4_in_the_texts_reading_and_with_the_printed_sign(settings, expected):
    found = scores(BeliefConfig("three"), range(1), **settings)["nearest_weight"].item()
    assert found == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.75])
def test_on_example_1_composite_is_below_total_below_additive_in_every_run(alpha):
    """And the additive one is the nearer in most runs where α ≤ ½: the claim does not hold."""
    belief, seeds = BeliefConfig("mixture", alpha), range(25)
    composite = scores(belief, seeds, risk=compose(CVaR(alpha), CVaR(alpha)))
    additive = scores(belief, seeds, risk=additive_risk(CVaR(alpha)))
    assert (composite["error"] < 0).all()
    assert (additive["error"] > 0).all()
    if alpha <= 0.5:
        assert (additive["abs_error"] < composite["abs_error"]).double().mean() > 0.6


def test_on_example_3_both_are_averse_and_agree_with_the_total_as_the_belief_concentrates():
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


def test_the_parts_add_up():
    task = Beliefs(BeliefConfig("mixture"))
    estimator = CompositeRiskEstimator(task.problem, [0], CompositeRiskConfig(), CPU)
    given = estimator.predict(task.data([0, 1]).inputs)
    assert given.total.shape == (2, 1)
    torch.testing.assert_close(given.aleatoric + given.epistemic, given.total)
    assert (given.epistemic < 0).all()
    config = CompositeRiskConfig(risk=additive_risk(CVaR(0.25)))
    stated = CompositeRiskEstimator(task, [0], config, CPU).predict(task.data([0, 1]).inputs)
    torch.testing.assert_close(given.aleatoric, stated.total)


def test_the_normalization_constants_of_the_suite_are_the_error_of_the_mean():
    """Zero: |mean − CVaR_α| averaged over seeds 0 to 999."""
    suite = read_suites(Host.load(), check=()).suite("risk-estimation")
    constants = suite.normalization["abs_error"].constants
    for task in suite.tasks:
        belief = BeliefConfig(**task.config)
        beliefs = Beliefs(belief)._beliefs(range(1_000 if belief.example == "mixture" else 1))
        weights, means, stds = beliefs[:, 0].flatten(1, 2).unbind(-1)
        total = gaussian_mixture_cvar(weights, means, stds, belief.alpha)
        error = ((weights * means).sum(-1) - total).abs().mean().item()
        assert constants[task.name].zero == pytest.approx(error, abs=1e-3), task.name


MEANS, STDS = (0.0, -2.0, 2.0), (1.0, 0.5, 1.0)
every_kl = pytest.mark.parametrize("kl", ["member-to-mix", "mix-to-member"])


def example_4() -> Tensor:
    """Log-masses of the three Gaussians on a fine grid, ``[3, N]``."""
    z = torch.linspace(-12, 12, 24_001, dtype=torch.float64)
    mean, std = (torch.tensor(numbers, dtype=torch.float64)[:, None] for numbers in (MEANS, STDS))
    return (-((z - mean) ** 2) / (2 * std**2) - std.log()).log_softmax(-1)


LOSSES = [("member-to-mix", [0.481, 0.922, 0.740]), ("mix-to-member", [0.725, 13.157, 2.725])]


@pytest.mark.parametrize(("kl", "expected"), LOSSES)
def test_the_losses_of_example_4_are_divergences_from_the_member_to_the_mixture(kl, expected):
    """The example prints [.48, .92, .74] as KL(P̂ ‖ P_i): they are KL(P_i ‖ P̂)."""
    expected = torch.tensor(expected).double()
    torch.testing.assert_close(ftrl.losses(example_4(), kl), expected, atol=1e-3, rtol=0)
    torch.testing.assert_close(divergences(three_gaussians(), kl), expected, atol=1e-3, rtol=0)


WEIGHTS = [(1, [0.26, 0.40, 0.34], [0, 1, 0]), (-1, [0.414, 0.267, 0.319], [1, 0, 0])]


@pytest.mark.parametrize(
    ("sign", "at_one", "in_the_limit"), WEIGHTS, ids=["printed", "of the text"]
)
def test_the_weights_of_example_4_are_those_of_the_printed_sign(sign, at_one, in_the_limit):
    """At λ = 1, equal at 0; as λ grows all on the farthest member, or the text's nearest."""
    loss = ftrl.losses(example_4(), "member-to-mix")
    expected = torch.tensor(at_one).double()
    torch.testing.assert_close(ftrl.weights(loss, 1.0, sign), expected, atol=5e-3, rtol=0)
    torch.testing.assert_close(ftrl.weights(loss, 0.0, sign), torch.full((3,), 1 / 3).double())
    assert ftrl.weights(loss, 1e6, sign).tolist() == in_the_limit


logits = st.lists(st.floats(-30, 30), min_size=12, max_size=12).map(
    lambda numbers: torch.tensor(numbers, dtype=torch.float64).view(4, 3)
)


@every_kl
@settings(max_examples=40, deadline=None, derandomize=True)
@given(logits=logits, lam=st.floats(0, 20), sign=st.sampled_from([-1, 1]))
def test_weights_are_a_distribution_and_losses_are_bounded(kl, logits, lam, sign):
    loss = ftrl.losses(logits.log_softmax(-1), kl)
    assert (loss >= -1e-9).all()
    if kl == "member-to-mix":
        assert (loss <= math.log(4) + 1e-9).all()
    weights = ftrl.weights(loss, lam, sign)
    assert (weights >= 0).all()
    assert weights.sum().item() == pytest.approx(1)
    rises = weights[loss.argsort()].diff() * sign
    assert (rises >= -1e-12).all()  # monotone in the loss, in the direction of the sign


@every_kl
def test_equal_members_have_no_loss_and_equal_weights(kl):
    same = torch.randn(51, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    loss = ftrl.losses(same.expand(2, 4, 51), kl)
    torch.testing.assert_close(loss, torch.zeros(2, 4), atol=1e-6, rtol=0)
    torch.testing.assert_close(ftrl.weights(loss, 5.0, -1), torch.full((2, 4), 0.25))
