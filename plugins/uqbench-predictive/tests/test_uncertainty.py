"""The decompositions and the corrected formulas."""

import math

import pytest
import torch
from uqbench_predictive.uncertainty import (
    classification,
    divergence,
    energy,
    entropy,
    gaussian_divergence,
    gaussian_entropy,
    regression,
    setting_a,
    setting_b,
)


def random_probs(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(*shape, generator=generator, dtype=torch.float64).softmax(-1)


def random_weights(*shape: int) -> torch.Tensor:
    return random_probs(*shape[1:], shape[0]).movedim(-1, 0)


def test_entropy_of_a_fair_coin_is_log_two_and_a_divergence_from_itself_zero():
    fair = torch.tensor([0.5, 0.5], dtype=torch.float64).log()
    assert entropy(fair).item() == pytest.approx(math.log(2))
    assert divergence(fair, fair).item() == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_in_setting_a_the_epistemic_part_is_the_mutual_information(weighted):
    members = random_probs(7, 4, 3)
    weights = random_weights(7, 4) if weighted else torch.full((7, 4), 1 / 7, dtype=torch.float64)
    predicted = setting_a(members.log(), weights if weighted else None)
    mean = (weights[..., None] * members).sum(0)
    total = -(mean * mean.log()).sum(-1)
    aleatoric = (weights * -(members * members.log()).sum(-1)).sum(0)
    assert torch.allclose(predicted.probs, mean)
    assert torch.allclose(predicted.total, total)
    assert torch.allclose(predicted.aleatoric, aleatoric)
    assert torch.allclose(predicted.epistemic, total - aleatoric)
    assert torch.equal(predicted.total, predicted.aleatoric + predicted.epistemic)
    assert torch.equal(predicted.highest, members.log().exp().amax(0))


@pytest.mark.parametrize("weighted", [False, True])
def test_in_setting_b_the_epistemic_part_is_the_mean_divergence_from_the_reference(weighted):
    members, reference = random_probs(7, 4, 3), random_probs(1, 4, 3)[0]
    weights = random_weights(7, 4) if weighted else torch.full((7, 4), 1 / 7, dtype=torch.float64)
    predicted = setting_b(reference.log(), members.log(), weights if weighted else None)
    cross = (weights * -(reference * members.log()).sum(-1)).sum(0)
    aleatoric = -(reference * reference.log()).sum(-1)
    assert torch.allclose(predicted.total, cross)
    assert torch.allclose(predicted.aleatoric, aleatoric)
    assert torch.allclose(predicted.epistemic, cross - aleatoric)
    assert torch.equal(predicted.probs, reference.log().exp())


def test_a_weight_of_zero_is_a_model_that_is_not_there():
    members = random_probs(3, 4, 3).log()
    weights = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)[:, None].expand(3, 4)
    for predicted, pair in (
        (setting_a(members, weights), setting_a(members[:2])),
        (setting_b(members[0], members, weights), setting_b(members[0], members[:2])),
    ):
        assert torch.allclose(predicted.epistemic, pair.epistemic, atol=1e-15)
        assert torch.allclose(predicted.probs, pair.probs)


def test_epistemic_parts_are_not_negative_where_everybody_is_certain():
    logits = torch.randn(10, 500, 2, generator=torch.Generator().manual_seed(0)) + torch.tensor(
        [40.0, 0.0]
    )
    members = logits.double().log_softmax(-1)
    weights = random_weights(10, 500)
    assert (setting_a(members).epistemic > -1e-15).all()
    assert (setting_a(members, weights).epistemic > -1e-15).all()
    assert (setting_b(members[0], members[1:]).epistemic > -1e-15).all()


def test_gaussian_entropy_and_divergence_are_the_integrals():
    y = torch.linspace(-30, 30, 60_001, dtype=torch.float64)

    def log_density(mean, variance):
        return -0.5 * ((y - mean) ** 2 / variance + math.log(2 * math.pi * variance))

    p, q = log_density(0.3, 1.7), log_density(-1.1, 0.6)
    width = (y[1] - y[0]).item()
    three = [torch.tensor(v, dtype=torch.float64) for v in (0.3, 1.7, -1.1, 0.6)]
    assert gaussian_entropy(three[1]).item() == pytest.approx(-(p.exp() * p).sum().item() * width)
    expected = (p.exp() * (p - q)).sum().item() * width
    assert gaussian_divergence(*three).item() == pytest.approx(expected)


def test_at_equal_variances_the_divergence_is_half_the_squared_distance():
    # equation 29's last line lacks the half
    one = torch.tensor(1.0, dtype=torch.float64)
    assert gaussian_divergence(0 * one, 4 * one, 3 * one, 4 * one).item() == pytest.approx(9 / 8)


def test_a_regressions_total_variance_is_noise_plus_the_variance_of_the_means():
    means = torch.tensor([[[1.0, 5.0]], [[3.0, 5.0]]], dtype=torch.float64)
    predicted = regression(means, torch.tensor([[0.25]], dtype=torch.float64))
    assert predicted.mean.tolist() == [[2.0, 5.0]]
    assert predicted.epistemic.tolist() == [[1.0, 0.0]]
    assert predicted.total.tolist() == [[1.25, 0.25]]
    assert predicted.probs is None
    assert predicted.unit == "variance"


def test_the_energy_is_minus_the_log_of_the_sum_of_exponentials_averaged_over_models():
    logits = torch.tensor([[[0.0, 0.0]], [[1.0, 3.0]]], dtype=torch.float64)  # [S, M, C]
    expected = -(math.log(2) + math.log(math.exp(1) + math.exp(3))) / 2
    assert energy(logits).item() == pytest.approx(expected)
    said = classification(None, torch.zeros(1, 1), logits[:, None])
    assert said.energy.item() == pytest.approx(expected)
