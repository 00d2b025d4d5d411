"""Risk measures of returns: hand-computed values, and the axioms of coherence in returns' sign."""

from __future__ import annotations

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
    Expectation(),
    CVaR(0.01),
    CVaR(0.25),
    CVaR(0.7),
    CVaR(1.0),
    Wang(0.05),
    Wang(0.25),
    Wang(0.5),
    EVaR(0.1),
    EVaR(0.6),
    EVaR(1.0),
    ProportionalHazard(0.3),
    ProportionalHazard(1.0),
    MeanStd(0.0),
]
OTHERS = [Wang(0.8), VaR(0.3), VaR(1.0), ProportionalHazard(2.0), MeanStd(1.0)]
SCENARIOS = 7
returns = st.lists(st.integers(-1000, 1000), min_size=SCENARIOS, max_size=SCENARIOS).map(
    lambda numbers: torch.tensor(numbers, dtype=torch.float64) / 8
)
every_coherent = pytest.mark.parametrize("risk", COHERENT, ids=repr)
examples = settings(max_examples=25, deadline=None, derandomize=True)


def of(risk: RiskMeasure, values: Tensor | list[float], mass: list[float] | None = None) -> Tensor:
    values = torch.as_tensor(values, dtype=torch.float64)
    if mass is None:
        return risk(values, torch.full_like(values, 1 / len(values)))
    return risk(values, torch.tensor(mass, dtype=torch.float64))


def assert_close(given: Tensor, expected: Tensor | float) -> None:
    expected = torch.as_tensor(expected, dtype=given.dtype)
    torch.testing.assert_close(given, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "kind", [Expectation, CVaR, Wang, EVaR, ProportionalHazard, MeanStd], ids=lambda k: k.__name__
)
@examples
@given(values=returns)
def test_neutral_parameters_give_the_mean(kind: type[RiskMeasure], values: Tensor) -> None:
    assert kind.neutral is not None
    assert_close(of(kind(**kind.neutral), values), values.mean())


@pytest.mark.parametrize("risk", COHERENT, ids=repr)
def test_those_that_are_tested_as_coherent_say_so(risk: RiskMeasure) -> None:
    assert risk.coherent


@pytest.mark.parametrize("risk", OTHERS, ids=repr)
def test_the_others_do_not_say_so(risk: RiskMeasure) -> None:
    assert not risk.coherent


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        (0.1, -10.0),  # within the worst atom
        (0.2, -10.0),  # the worst atom
        (0.25, (0.2 * -10 + 0.05 * 0) / 0.25),  # a part of the second
        (0.5, (0.2 * -10 + 0.3 * 0) / 0.5),
        (0.8, (0.2 * -10 + 0.5 * 0 + 0.1 * 5) / 0.8),  # a part of the last
        (1.0, -0.5),
    ],
)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_cvar_is_the_mean_of_the_worst_mass(
    alpha: float, expected: float, order: list[int]
) -> None:
    values, mass = [-10.0, 0.0, 5.0], [0.2, 0.5, 0.3]
    given = of(CVaR(alpha), [values[i] for i in order], [mass[i] for i in order])
    assert_close(given, expected)


def test_cvar_looks_at_low_returns() -> None:
    assert of(CVaR(0.25), [0.0, 1.0, 2.0, 3.0]) == 0.0


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.9])
@pytest.mark.parametrize("p", [0.2, 0.5])
def test_wang_of_two_atoms_is_its_distortion_of_the_low_one(alpha: float, p: float) -> None:
    """Returns −1 (probability p) and 3: ρ = 3 − 4 g(p)."""
    normal = NormalDist()
    g = normal.cdf(normal.inv_cdf(p) - normal.inv_cdf(alpha))
    assert_close(of(Wang(alpha), [3.0, -1.0], [1 - p, p]), 3 - 4 * g)


def test_wang_of_a_normal_law_shifts_its_mean_by_the_normal_quantile() -> None:
    """ρ of N(μ, σ²) is μ + σ Φ⁻¹(α); 20,000 midpoint quantiles come within 0.01."""
    levels = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    values = 2.0 + 3.0 * torch.special.ndtri(levels)
    for alpha in (0.1, 0.25, 0.5, 0.75):
        expected = 2.0 + 3.0 * NormalDist().inv_cdf(alpha)
        assert of(Wang(alpha), values).item() == pytest.approx(expected, abs=1e-2)


@pytest.mark.parametrize("risk", [CVaR(0.25), Wang(0.25)], ids=repr)
def test_averse_measures_are_below_the_mean_and_above_the_worst(risk: RiskMeasure) -> None:
    assert -10.0 < of(risk, [-10.0, 0.0, 4.0], [0.2, 0.5, 0.3]) < -0.8


def test_wang_above_one_half_seeks_risk() -> None:
    assert of(Wang(0.75), [-1.0, 1.0]) > 0


@pytest.mark.parametrize("kind", [CVaR, Wang])
def test_a_smaller_alpha_is_more_averse(kind: type[CVaR] | type[Wang]) -> None:
    law = torch.linspace(-3, 5, 20)
    values = [of(kind(alpha), law).item() for alpha in (0.05, 0.2, 0.5, 0.8)]
    assert values == sorted(values)
    assert len(set(values)) == 4


@every_coherent
@examples
@given(x=returns, y=returns)
def test_monotone(risk: RiskMeasure, x: Tensor, y: Tensor) -> None:
    assert of(risk, torch.maximum(x, y)) >= of(risk, x) - 1e-9


@every_coherent
@examples
@given(x=returns, shift=st.integers(-500, 500))
def test_translation_equivariant(risk: RiskMeasure, x: Tensor, shift: int) -> None:
    assert_close(of(risk, x + shift), of(risk, x) + shift)


@every_coherent
@examples
@given(x=returns, scale=st.integers(0, 80))
def test_positively_homogeneous(risk: RiskMeasure, x: Tensor, scale: int) -> None:
    assert_close(of(risk, scale / 8 * x), scale / 8 * of(risk, x))


@every_coherent
@examples
@given(x=returns, y=returns)
def test_superadditive(risk: RiskMeasure, x: Tensor, y: Tensor) -> None:
    assert of(risk, x + y) >= of(risk, x) + of(risk, y) - 1e-9


def test_a_risk_seeking_distortion_is_not_superadditive() -> None:
    """So the axiom is one that can fail: two returns that cancel out."""
    x, risk = torch.tensor([-1.0, 1.0]), Wang(0.75)
    assert of(risk, x - x) < of(risk, x) + of(risk, -x)


@every_coherent
@examples
@given(x=returns, order=st.permutations(range(SCENARIOS)))
def test_the_order_of_atoms_does_not_matter(risk: RiskMeasure, x: Tensor, order: list[int]) -> None:
    mass = torch.arange(1.0, SCENARIOS + 1, dtype=torch.float64) / 28
    assert_close(risk(x[order], mass[order]), risk(x, mass))


@pytest.mark.parametrize("risk", [*COHERENT, *OTHERS], ids=repr)
@examples
@given(x=returns, counts=st.lists(st.integers(1, 4), min_size=SCENARIOS, max_size=SCENARIOS))
def test_an_atom_of_k_times_the_mass_equals_k_equal_atoms(
    risk: RiskMeasure, x: Tensor, counts: list[int]
) -> None:
    repeated = x.repeat_interleave(torch.tensor(counts))
    assert_close(of(risk, x, [k / sum(counts) for k in counts]), of(risk, repeated))


@pytest.mark.parametrize("risk", [*COHERENT, *OTHERS], ids=repr)
def test_atoms_without_mass_do_not_matter(risk: RiskMeasure) -> None:
    mass = [0.0, 0.25, 0.75, 0.0]
    assert_close(of(risk, [-1e6, 1.0, 2.0, 1e6], mass), of(risk, [1.0, 2.0], mass[1:3]))


@pytest.mark.parametrize("risk", [*COHERENT, *OTHERS], ids=repr)
def test_a_certain_return_is_worth_itself(risk: RiskMeasure) -> None:
    assert_close(of(risk, [4.25]), 4.25)
    assert_close(of(risk, [4.25] * 50), 4.25)


@every_coherent
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_one_dimension_is_reduced_and_the_others_kept(risk: RiskMeasure, dim: int) -> None:
    values = torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(0)).double()
    mass = torch.rand(4, 5, 6, generator=torch.Generator().manual_seed(1)).double()
    mass /= mass.sum(dim, keepdim=True)
    given = risk(values, mass, dim=dim)
    laws = zip(
        values.movedim(dim, -1).reshape(-1, values.shape[dim]),
        mass.movedim(dim, -1).reshape(-1, values.shape[dim]),
        strict=True,
    )
    assert_close(given.flatten(), torch.stack([risk(v, m) for v, m in laws]))


def test_one_vector_of_probabilities_serves_many_laws() -> None:
    values = torch.tensor([[0.0, 4.0], [8.0, 2.0]])
    given = CVaR(0.5)(values, torch.tensor([0.75, 0.25]))
    torch.testing.assert_close(given, torch.tensor([0.0, (2 * 0.25 + 8 * 0.25) / 0.5]))


def test_thousands_of_atoms_in_single_precision_still_have_mass_one() -> None:
    values = torch.ones(10_000)
    for risk in COHERENT:
        assert risk(values, torch.full_like(values, 1e-4)).item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, -0.1, 1.1, float("nan")])
@pytest.mark.parametrize("kind", [CVaR, VaR, EVaR, Wang])
def test_alpha_outside_its_interval_is_refused(
    kind: type[CVaR | VaR | EVaR | Wang], alpha: float
) -> None:
    with pytest.raises(ValueError, match=f"alpha must be in .* got {alpha}"):
        kind(alpha)


def test_wang_at_one_is_refused_where_cvar_is_the_mean() -> None:
    assert CVaR(1.0).alpha == 1.0
    with pytest.raises(ValueError, match="alpha"):
        Wang(1.0)
