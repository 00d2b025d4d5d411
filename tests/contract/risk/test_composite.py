"""Composite risk: theorem 3, coherence, example 1; and decision rules of several models."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from uqbench import risk as risks
from uqbench.risk import CVaR, Expectation, MarginalRisk, MeanStd, Wang, additive, compose

K, N = 3, 4
examples = settings(max_examples=20, deadline=None, derandomize=True)
tables = st.lists(st.integers(-400, 400), min_size=K * N, max_size=K * N).map(
    lambda numbers: torch.tensor(numbers, dtype=torch.float64).view(K, N) / 8
)
counts = st.lists(st.integers(1, 9), min_size=K * N + K, max_size=K * N + K)
AVERSE = [CVaR(0.4), Wang(0.1), Expectation()]
pairs = pytest.mark.parametrize(
    ("epistemic", "aleatoric"), [(e, a) for e in AVERSE for a in AVERSE], ids=str
)


def masses(drawn: list[int]) -> tuple[Tensor, Tensor]:
    """Laws of the returns ``[K, N]`` and a belief ``[K]``."""
    numbers = torch.tensor(drawn, dtype=torch.float64)
    laws, belief = numbers[: K * N].view(K, N), numbers[K * N :]
    return laws / laws.sum(-1, keepdim=True), belief / belief.sum()


def test_the_worst_models_worst_returns_by_hand():
    """CVaR_½ of each: −1, 0, −4; the worse half of the belief: the last, a part of the first."""
    values = torch.tensor([[-1.0, 3.0], [0.0, 0.0], [2.0, -4.0]])
    even, belief = torch.full((3, 2), 0.5), torch.tensor([0.4, 0.35, 0.25])
    given = compose(CVaR(0.5), CVaR(0.5))(values, even, belief)
    assert given.item() == pytest.approx((0.25 * -4 + 0.25 * -1) / 0.5)


@examples
@given(values=tables, drawn=counts)
def test_a_neutral_epistemic_measure_makes_it_additive(values, drawn):
    """Theorem 3 (i): α_E = 1."""
    laws, belief = masses(drawn)
    for aleatoric in AVERSE:
        by_hand = (belief * aleatoric(values, laws)).sum()
        for rule in (compose(CVaR(1.0), aleatoric), additive(aleatoric)):
            torch.testing.assert_close(rule(values, laws, belief), by_hand)


@pairs
@examples
@given(values=tables, drawn=counts)
def test_it_is_below_the_additive_one(epistemic, aleatoric, values, drawn):
    """Theorem 3 (ii), in the sign for returns; and the total risk is below the additive one too."""
    laws, belief = masses(drawn)
    composite = compose(epistemic, aleatoric)(values, laws, belief)
    sum_ = additive(aleatoric)(values, laws, belief)
    assert composite <= sum_ + 1e-9
    assert aleatoric(values.flatten(), (belief[:, None] * laws).flatten()) <= sum_ + 1e-9


def test_it_need_not_be_below_the_total_risk():
    """That order holds on the paper's example 1, not always: −2.71 is below −2 here."""
    values = torch.tensor([[-10.0, 0.0], [-1.9, -1.9]], dtype=torch.float64)
    laws = torch.tensor([[0.1, 0.9], [0.5, 0.5]], dtype=torch.float64)
    belief, half = torch.tensor([0.5, 0.5], dtype=torch.float64), CVaR(0.5)
    assert compose(half, half)(values, laws, belief).item() == pytest.approx(-2)
    assert half(values.flatten(), (belief[:, None] * laws).flatten()).item() == pytest.approx(-2.71)


@pairs
@examples
@given(x=tables, y=tables, drawn=counts)
def test_it_is_coherent(epistemic, aleatoric, x, y, drawn):
    """Theorem 2: monotone, translation-equivariant, positively homogeneous, superadditive."""
    laws, belief = masses(drawn)
    risk = compose(epistemic, aleatoric)

    def rho(values: Tensor) -> Tensor:
        return risk(values, laws, belief)

    assert rho(torch.maximum(x, y)) >= rho(x) - 1e-9
    torch.testing.assert_close(rho(x + 7), rho(x) + 7)
    torch.testing.assert_close(rho(2.5 * x), 2.5 * rho(x))
    assert rho(x + y) >= rho(x) + rho(y) - 1e-9


EXACT = torch.float64
VALUES = torch.tensor([[0.0, 4.0], [2.0, 10.0]], dtype=EXACT)  # two models
PROBS = torch.tensor([[0.5, 0.5], [0.75, 0.25]], dtype=EXACT)
BELIEF = torch.tensor([0.4, 0.6], dtype=EXACT)


@dataclass(frozen=True)
class Best(risks.RiskMeasure):
    """A third party's measure: the highest value with mass."""

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        return values.masked_fill(probabilities == 0, -torch.inf).amax(dim)


def test_the_marginal_is_the_mixture_of_the_models():
    """Masses 0.2, 0.2 of the first model, 0.45, 0.15 of the second; the worst half by hand."""
    given = MarginalRisk(CVaR(0.5))(VALUES, PROBS, BELIEF)
    assert given.item() == pytest.approx((0.2 * 0 + 0.3 * 2) / 0.5)
    assert MarginalRisk(Expectation())(VALUES, PROBS, BELIEF).item() == pytest.approx(3.2)
    composite = compose(CVaR(0.5), CVaR(0.5))(VALUES, PROBS, BELIEF)
    assert composite.item() == pytest.approx((0.4 * 0 + 0.1 * 2) / 0.5)


@pytest.mark.parametrize("measure", [CVaR(0.25), MeanStd(0.5), Best()])
def test_one_model_or_samples_of_q_are_what_the_measure_says_bit_for_bit(measure):
    values, probs = torch.rand(2, 4, 3, 7, generator=torch.Generator().manual_seed(0))
    rule: risks.DecisionRule = MarginalRisk(measure)
    assert torch.equal(rule.of_distribution(values, probs), measure(values, probs))
    assert torch.equal(rule.of_samples(values), measure.of_quantiles(values))
