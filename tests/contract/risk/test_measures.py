"""Risk measures: closed forms, hand-computed values, the axioms of coherence, gradients."""

import math
from statistics import NormalDist

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from uqbench import testing
from uqbench.registry import Host
from uqbench.risk import CVaR, EVaR, Expectation, MeanStd, ProportionalHazard, VaR, Wang

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


def of(risk, values, mass=None):
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
    assert_close(of(CVaR(alpha), [values[i] for i in order], [mass[i] for i in order]), expected)


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
def test_atoms_without_mass_do_not_matter_and_a_certain_return_is_worth_itself(risk):
    mass = [0.0, 0.25, 0.75, 0.0]
    assert_close(of(risk, [-1e6, 1.0, 2.0, 1e6], mass), of(risk, [1.0, 2.0], mass[1:3]))
    assert_close(of(risk, [4.25]), 4.25)
    assert_close(of(risk, [4.25] * 50), 4.25)


def test_thousands_of_atoms_in_single_precision_still_have_mass_one():
    values = torch.ones(10_000)
    for risk in COHERENT:
        assert risk(values, torch.full_like(values, 1e-4)).item() == pytest.approx(1, abs=1e-5)


OUTSIDE = [(kind, x) for kind in (CVaR, VaR, EVaR, Wang) for x in (0.0, -0.1, 1.1, math.nan)]
OUTSIDE += [(Wang, 1.0), (ProportionalHazard, -0.1), (MeanStd, -0.1)]


@pytest.mark.parametrize(("kind", "value"), OUTSIDE)
def test_a_setting_outside_its_interval_is_refused(kind, value):
    with pytest.raises(ValueError, match=f"must .* got {value}"):
        kind(value)


ATOMS = 200_000
laws = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-1000, 1000), min_size=n, max_size=n),
        st.lists(st.integers(1, 50), min_size=n, max_size=n),
    )
)


def law(drawn: tuple[list[int], list[int]]) -> tuple[Tensor, Tensor]:
    values, counts = (torch.tensor(numbers, dtype=torch.float64) for numbers in drawn)
    return values / 8, counts / counts.sum()


def normal_quantiles(mean: float, std: float) -> Tensor:
    levels = (torch.arange(ATOMS, dtype=torch.float64) + 0.5) / ATOMS
    return mean + std * torch.special.ndtri(levels)


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.5, 0.9])
def test_measures_of_a_normal_law_are_their_closed_forms(alpha):
    """CVaR: μ − σφ(z)/α. Wang: μ + σz. EVaR: μ − σ√(−2 ln α). VaR: μ + σz. mean − c std."""
    normal, mu, sigma = NormalDist(), 2.0, 3.0
    z = normal.inv_cdf(alpha)
    expected = [
        (CVaR(alpha), mu - sigma * normal.pdf(z) / alpha, 1e-4),
        (Wang(alpha), mu + sigma * z, 1e-2),
        (EVaR(alpha), mu - sigma * math.sqrt(-2 * math.log(alpha)), 1e-2),
        (VaR(alpha), mu + sigma * z, 1e-4),
        (MeanStd(alpha), mu - alpha * sigma, 1e-4),
    ]
    for risk, value, error in expected:
        given = risk.of_quantiles(normal_quantiles(mu, sigma)).item()
        assert given == pytest.approx(value, abs=error), risk


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.5])
def test_proportional_hazard_of_a_uniform_law(alpha):
    """Of U(0, 1): ``∫ q dg(q) = α / (α + 1)``."""
    levels = (torch.arange(ATOMS, dtype=torch.float64) + 0.5) / ATOMS
    given = ProportionalHazard(alpha).of_quantiles(levels).item()
    assert given == pytest.approx(alpha / (alpha + 1), abs=1e-4)


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(0.1, -3.0), (0.2, -3.0), (0.21, 1.0), (0.7, 1.0), (0.71, 5.0), (1.0, 5.0)],
)
def test_var_is_the_lower_quantile(alpha, expected):
    values, mass = torch.tensor([5.0, -3.0, 1.0]), torch.tensor([0.3, 0.2, 0.5])
    assert VaR(alpha)(values, mass).item() == expected


def test_var_takes_ten_times_a_tenth_for_what_it_is():
    """0.1 + 0.1 + 0.1 is more than 0.3 in double precision, 0.7 summed so is less."""
    values = torch.arange(10, dtype=torch.float64)
    for k in range(1, 11):
        assert VaR(k / 10)(values, torch.full((10,), 0.1, dtype=torch.float64)).item() == k - 1


@examples
@given(drawn=laws, alpha=st.sampled_from([0.05, 0.25, 0.5, 0.9]))
def test_worst_is_below_evar_below_cvar_below_var_and_mean(drawn, alpha):
    values, mass = law(drawn)
    evar, cvar, var = (kind(alpha)(values, mass).item() for kind in (EVaR, CVaR, VaR))
    mean = Expectation()(values, mass).item()
    assert values.min() - 1e-6 <= evar <= cvar + 1e-6
    assert cvar <= min(var, mean) + 1e-9


SMOOTH = CVaR(0.37), Wang(0.2), EVaR(0.37), ProportionalHazard(0.4), MeanStd(0.7), Expectation()


@pytest.mark.parametrize("risk", SMOOTH, ids=repr)
def test_gradients_are_those_of_finite_differences(risk):
    """In the values and in the weights, at a law with no ties."""
    values = torch.tensor([0.3, -1.2, 2.5, 0.9], dtype=torch.float64, requires_grad=True)
    mass = torch.tensor([0.2, 0.31, 0.19, 0.3], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(risk, (values, mass), eps=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", Host.load().risk_measures)
def test_a_registered_measure_keeps_the_rules_of_conformance(name):
    testing.check(f"uqbench:{name}")
