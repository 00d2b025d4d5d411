"""The decompositions and the corrected formulas."""

import math

import pytest
import torch
from uqbench_predictive import uncertainty
from uqbench_predictive.uncertainty import setting_a, setting_b


def random_probs(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(*shape, generator=generator, dtype=torch.float64).softmax(-1)


def random_weights(*shape: int) -> torch.Tensor:
    return random_probs(*shape[1:], shape[0]).movedim(-1, 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_epistemic_part_is_mutual_information_or_mean_divergence_from_the_reference(weighted):
    """In settings (a) and (b)."""
    members, reference = random_probs(7, 4, 3), random_probs(1, 4, 3)[0]
    weights = random_weights(7, 4) if weighted else torch.full((7, 4), 1 / 7, dtype=torch.float64)
    given = weights if weighted else None
    a, b = setting_a(members.log(), given), setting_b(reference.log(), members.log(), given)
    mean = (weights[..., None] * members).sum(0)
    among = (weights * -(members * members.log()).sum(-1)).sum(0)
    cross = (weights * -(reference * members.log()).sum(-1)).sum(0)
    own = -(reference * reference.log()).sum(-1)
    for said, probs, total, aleatoric in (
        (a, mean, -(mean * mean.log()).sum(-1), among), (b, reference, cross, own)
    ):  # fmt: skip
        assert torch.allclose(said.probs, probs)
        assert torch.allclose(said.total, total)
        assert torch.allclose(said.aleatoric, aleatoric)
        assert torch.allclose(said.epistemic, total - aleatoric)
        assert torch.equal(said.total, said.aleatoric + said.epistemic)
    assert torch.equal(a.highest, members.log().exp().amax(0))


def test_epistemic_parts_are_not_negative_where_everybody_is_certain():
    logits = torch.randn(10, 500, 2, generator=torch.Generator().manual_seed(0))
    members = (logits + torch.tensor([40.0, 0.0])).double().log_softmax(-1)
    for weights in (None, random_weights(10, 500)):
        assert (setting_a(members, weights).epistemic > -1e-15).all()
    assert (setting_b(members[0], members[1:]).epistemic > -1e-15).all()


def test_gaussian_entropy_and_divergence_are_torchs():
    """The last line of equation 29 lacks the half of the squared distance."""
    three = [torch.tensor(v, dtype=torch.float64) for v in (0.3, 1.7, -1.1, 0.6)]
    p, q = (torch.distributions.Normal(mean, var.sqrt()) for mean, var in (three[:2], three[2:]))
    assert torch.allclose(uncertainty.gaussian_entropy(three[1]), p.entropy())
    expected = torch.distributions.kl_divergence(p, q)
    assert torch.allclose(uncertainty.gaussian_divergence(*three), expected)


def test_a_regressions_total_variance_is_noise_plus_the_variance_of_the_means():
    means = torch.tensor([[[1.0, 5.0]], [[3.0, 5.0]]], dtype=torch.float64)
    predicted = uncertainty.regression(means, torch.tensor([[0.25]], dtype=torch.float64))
    assert predicted.mean.tolist() == [[2.0, 5.0]]
    assert predicted.epistemic.tolist() == [[1.0, 0.0]]
    assert predicted.total.tolist() == [[1.25, 0.25]]
    assert predicted.probs is None
    assert predicted.unit == "variance"


def test_the_energy_is_minus_the_log_of_the_sum_of_exponentials_averaged_over_models():
    logits = torch.tensor([[[0.0, 0.0]], [[1.0, 3.0]]], dtype=torch.float64)  # [S, M, C]
    expected = -(math.log(2) + math.log(math.exp(1) + math.exp(3))) / 2
    assert uncertainty.energy(logits).item() == pytest.approx(expected)
    said = uncertainty.classification(None, torch.zeros(1, 1), logits[:, None])
    assert said.energy.item() == pytest.approx(expected)
