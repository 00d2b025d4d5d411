"""Risk measures of returns: hand-computed values, and the axioms of coherence in returns' sign."""

from statistics import NormalDist

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from uqbench.risk import (
    CVaR,
    EVaR,
    Expectation,
    MeanStd,
    ProportionalHazard,
    RiskMeasure,
    VaR,
    Wang,
)

COHERENT = [
    Expectation(), CVaR(0.01), CVaR(0.25), CVaR(0.7), CVaR(1.0), Wang(0.05), Wang(0.25), Wang(0.5),
    EVaR(0.1), EVaR(0.6), EVaR(1.0), ProportionalHazard(0.3), ProportionalHazard(1.0), MeanStd(0.0),
]  # fmt: skip
OTHERS = [Wang(0.8), VaR(0.3), VaR(1.0), ProportionalHazard(2.0), MeanStd(1.0)]
SCENARIOS = 7
returns = st.lists(st.integers(-1000, 1000), min_size=SCENARIOS, max_size=SCENARIOS).map(
    lambda numbers: torch.tensor(numbers, dtype=torch.float64) / 8
)
examples = settings(max_examples=25, deadline=None, derandomize=True)


def of(risk: RiskMeasure, values: Tensor | list[float], mass: list[float] | None = None) -> Tensor:
    values = torch.as_tensor(values, dtype=torch.float64)
    if mass is None:
        return risk(values, torch.full_like(values, 1 / len(values)))
    return risk(values, torch.tensor(mass, dtype=torch.float64))


def assert_close(given: Tensor, expected: Tensor | float) -> None:
    expected = torch.as_tensor(expected, dtype=given.dtype)
    torch.testing.assert_close(given, expected, rtol=1e-9, atol=1e-9)


# within the worst atom, all of it, with parts of the second, with one of the last, with all
CVARS = [(0.1, -10.0), (0.2, -10.0), (0.25, -8.0), (0.5, -4.0), (0.8, -1.875), (1.0, -0.5)]


@pytest.mark.parametrize(("alpha", "expected"), CVARS)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_cvar_is_the_mean_of_the_worst_mass(alpha, expected, order):
    values, mass = [-10.0, 0.0, 5.0], [0.2, 0.5, 0.3]
    given = of(CVaR(alpha), [values[i] for i in order], [mass[i] for i in order])
    assert_close(given, expected)


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.9])
@pytest.mark.parametrize("p", [0.2, 0.5])
def test_wang_of_two_atoms_is_its_distortion_of_the_low_one(alpha, p):
    """Returns −1 (probability p) and 3: ρ = 3 − 4 g(p)."""
    normal = NormalDist()
    g = normal.cdf(normal.inv_cdf(p) - normal.inv_cdf(alpha))
    assert_close(of(Wang(alpha), [3.0, -1.0], [1 - p, p]), 3 - 4 * g)


@pytest.mark.parametrize("risk", COHERENT, ids=repr)
@examples
@given(x=returns, y=returns, shift=st.integers(-500, 500), scale=st.integers(0, 80))
def test_a_coherent_measure_obeys_the_four_axioms(risk, x, y, shift, scale):
    """Monotone, translation-equivariant, positively homogeneous, superadditive; and says so."""
    assert risk.coherent
    assert of(risk, torch.maximum(x, y)) >= of(risk, x) - 1e-9
    assert_close(of(risk, x + shift), of(risk, x) + shift)
    assert_close(of(risk, scale / 8 * x), scale / 8 * of(risk, x))
    assert of(risk, x + y) >= of(risk, x) + of(risk, y) - 1e-9


def test_a_risk_seeking_distortion_is_not_superadditive():
    """So the axiom is one that can fail: two returns that cancel out."""
    x, risk = torch.tensor([-1.0, 1.0]), Wang(0.75)
    assert not risk.coherent
    assert of(risk, x - x) < of(risk, x) + of(risk, -x)


@pytest.mark.parametrize("risk", [*COHERENT, *OTHERS], ids=repr)
def test_atoms_without_mass_do_not_matter(risk):
    mass = [0.0, 0.25, 0.75, 0.0]
    assert_close(of(risk, [-1e6, 1.0, 2.0, 1e6], mass), of(risk, [1.0, 2.0], mass[1:3]))


@pytest.mark.parametrize("risk", [*COHERENT, *OTHERS], ids=repr)
def test_a_certain_return_is_worth_itself(risk):
    assert_close(of(risk, [4.25]), 4.25)
    assert_close(of(risk, [4.25] * 50), 4.25)


def test_thousands_of_atoms_in_single_precision_still_have_mass_one():
    values = torch.ones(10_000)
    for risk in COHERENT:
        assert risk(values, torch.full_like(values, 1e-4)).item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, -0.1, 1.1, float("nan")])
@pytest.mark.parametrize("kind", [CVaR, VaR, EVaR, Wang])
def test_alpha_outside_its_interval_is_refused(kind, alpha):
    with pytest.raises(ValueError, match=f"alpha must be in .* got {alpha}"):
        kind(alpha)


def test_wang_at_one_is_refused_where_cvar_is_the_mean():
    with pytest.raises(ValueError, match="alpha"):
        Wang(1.0)
