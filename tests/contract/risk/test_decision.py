"""Decision rules: what risk makes of several models' return distributions."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from uqbench.risk import (
    CVaR,
    DecisionRule,
    Expectation,
    MarginalRisk,
    MeanStd,
    RiskMeasure,
    compose,
)

EXACT = torch.float64
VALUES = torch.tensor([[0.0, 4.0], [2.0, 10.0]], dtype=EXACT)  # two models
PROBS = torch.tensor([[0.5, 0.5], [0.75, 0.25]], dtype=EXACT)
BELIEF = torch.tensor([0.4, 0.6], dtype=EXACT)


@dataclass(frozen=True)
class Best(RiskMeasure):
    """A third party's measure: the highest value with mass."""

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        return values.masked_fill(probabilities == 0, -torch.inf).amax(dim)


def test_the_marginal_is_the_mixture_of_the_models():
    """Masses 0.2, 0.2 of the first model, 0.45, 0.15 of the second; the worst half by hand."""
    given = MarginalRisk(CVaR(0.5))(VALUES, PROBS, BELIEF)
    assert given.item() == pytest.approx((0.2 * 0 + 0.3 * 2) / 0.5)
    assert MarginalRisk(Expectation())(VALUES, PROBS, BELIEF).item() == pytest.approx(3.2)
    assert compose(CVaR(0.5), CVaR(0.5))(VALUES, PROBS, BELIEF).item() == pytest.approx(
        (0.4 * 0 + 0.1 * 2) / 0.5
    )


@pytest.mark.parametrize("measure", [CVaR(0.25), MeanStd(0.5), Best()])
def test_one_model_or_samples_of_q_are_what_the_measure_says_bit_for_bit(measure):
    generator = torch.Generator().manual_seed(0)
    values, probs = torch.rand(2, 4, 3, 7, generator=generator)
    rule: DecisionRule = MarginalRisk(measure)
    assert torch.equal(rule.of_distribution(values, probs), measure(values, probs))
    assert torch.equal(rule.of_samples(values), measure.of_quantiles(values))
