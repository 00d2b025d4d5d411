"""Rules of every risk measure: a function of a return distribution."""

from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench.contract.risk import RiskMeasure
from uqbench_testing.conformance.check import Subject, applies, check, expect

ATOL = 1e-4


@dataclass(kw_only=True)
class RiskSubject(Subject, kind="risk measure"):
    """A risk measure with its default parameters, and with those that make it neutral."""

    measure: RiskMeasure
    neutral: RiskMeasure | None = None


def laws(seed: int = 0, laws: int = 6, atoms: int = 9) -> tuple[Tensor, Tensor]:
    """Random return distributions: values and probabilities ``[laws, atoms]``, float64."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(laws, atoms, generator=generator, dtype=torch.float64) * 3
    weights = torch.rand(laws, atoms, generator=generator, dtype=torch.float64) + 0.05
    return values, weights / weights.sum(-1, keepdim=True)


@check(RiskSubject, "risk-forms")
def forms(subject: RiskSubject) -> None:
    """`dim` is reduced, wherever it is; probabilities broadcast; float32 stays float32.

    The last dimension and the first, and one distribution's weights for all.

    Fix:
        Reduce along dim alone: values.movedim(dim, -1) first.
    """
    values, probs = laws()
    value = subject.measure(values, probs)
    made = f"of [6, 9] with dim = -1 it made {getattr(value, 'shape', type(value))}"
    expect(isinstance(value, Tensor) and value.shape == values.shape[:1], made)
    each = [subject.measure(z, p) for z, p in zip(values, probs, strict=True)]
    _close(torch.stack(each), value, "of each distribution alone")
    _close(subject.measure(values.T, probs.T, 0), value, "along the first dimension")
    shared = subject.measure(values, probs[0].expand_as(values))
    _close(subject.measure(values, probs[0]), shared, "with broadcast probabilities")
    single = subject.measure(values.float(), probs.float())
    expect(single.dtype == torch.float32, "of float32 it does not make float32")


@check(RiskSubject, "risk-law", after=("risk-forms",))
def law(subject: RiskSubject) -> None:
    """The value is of the law alone, whatever says it, and probabilities count.

    The same distributions backwards; with seven times the probabilities; with six of nine values
    that stand there twice, with a quarter of their own and with the rest; sorted, by of_sorted;
    and equally likely values by of_quantiles.

    Fix:
        Sort the values with their probabilities where the measure needs an order; weight by the
        probabilities, and divide by probabilities.sum(dim); leave of_sorted and of_quantiles out,
        or let them agree with __call__.
    """
    values, probs = laws()
    rho, some = subject.measure, probs[:, :6]
    twice, split = [values, values[:, :6]], [some / 4, probs[:, 6:], 3 * some / 4]
    ordered, index = values.sort(-1)
    alike = {
        "in another order": rho(values.flip(-1), probs.flip(-1)),
        "times seven": rho(values, 7 * probs),
        "with six values in two parts": rho(torch.cat(twice, -1), torch.cat(split, -1)),
        "by of_sorted": rho.of_sorted(ordered, probs.gather(-1, index)),
    }
    for what, value in alike.items():
        _close(value, rho(values, probs), what)
    _close(rho.of_quantiles(values), rho(values, torch.ones_like(values)), "by of_quantiles")


@check(RiskSubject, "risk-neutral", after=("risk-forms",))
def neutral(subject: RiskSubject) -> None:
    """With its neutral parameters the measure is the mean.

    On random distributions.

    Fix:
        Correct `neutral`, or leave it None.
    """
    measure = applies(subject.neutral, "it names no neutral parameters")
    values, probs = laws()
    _close(measure(values, probs), (values * probs).sum(-1), "with neutral parameters")


@check(RiskSubject, "risk-averse", after=("risk-forms",))
def averse(subject: RiskSubject) -> None:
    """Returns, not costs: a measure grows with all returns, and looks at the lower tail.

    Over 200 distributions, and these plus one; on average it is at most the mean.

    Fix:
        Turn the sign, or the tail, round: worse returns have the smaller value. A measure that is
        meant to seek risk is an expected failure.
    """
    values, probs = laws(3, 200)
    value, more = subject.measure(values, probs), subject.measure(values + 1, probs)
    rises = (more > value - ATOL).all() and more.mean() > value.mean()
    expect(rises, "it falls where returns rise")
    above = float((value - (values * probs).sum(-1)).mean())
    expect(above <= ATOL, f"it lies {above:.3g} above the mean, on average: it seeks risk")


@check(RiskSubject, "risk-monotone", after=("risk-law",))
def monotone(subject: RiskSubject) -> None:
    """A measure falls nowhere where a return rises, or says that it does.

    The highest of nine returns, by up to a hundred times their spread, in 200 distributions.

    Fix:
        Return False from `monotone`, as a mean minus a multiple of the variance must: a rare high
        return lowers it.
    """
    rho = subject.measure
    applies(rho.monotone, "it says that it is not monotone")
    values, probs = laws(4, 200)
    value, highest = rho(values, probs), values == values.amax(-1, keepdim=True)
    for rise in (1.0, 10.0, 300.0):
        fallen = float((value - rho(values + rise * highest, probs)).max())
        expect(fallen <= ATOL * rise, f"it falls by {fallen:.3g} where one return rises by {rise}")


@check(RiskSubject, "risk-coherent", after=("risk-law",))
def coherent(subject: RiskSubject) -> None:
    """A measure that says `coherent` obeys the four axioms.

    Monotone, translation-equivariant, homogeneous, superadditive, on 200 random pairs.

    Fix:
        Return False from `coherent`, or repair the measure (Artzner et al. 1999).
    """
    rho = subject.measure
    applies(rho.coherent, "it does not say that it is coherent")
    one, probs = laws(1, 200)
    other, _ = laws(2, 200)
    value, second = rho(one, probs), rho(other, probs)
    _close(rho(one + 2.5, probs), value + 2.5, "of X + 2.5, against ρ(X) + 2.5,")
    _close(rho(3 * one, probs), 3 * value, "of 3 X, against 3 ρ(X),")
    monotone = (rho(one + other.abs(), probs) >= value - ATOL).all()
    expect(monotone, "not monotone: ρ(X + |Y|) lies below ρ(X)")
    superadditive = (rho(one + other, probs) >= value + second - ATOL).all()
    expect(superadditive, "not superadditive: ρ(X + Y) lies below ρ(X) + ρ(Y)")


@check(RiskSubject, "risk-gradients", after=("risk-forms",))
def gradients(subject: RiskSubject) -> None:
    """Gradients are finite, also where values are equal or a probability is zero.

    By values and probabilities.

    Fix:
        Keep roots, logarithms and powers away from zero with torch.where on both sides.
    """
    values, probs = laws()
    cases = {
        "": (values, probs),
        " where all values are equal": (torch.ones_like(values), probs),
        " where a probability is zero": (values, probs * (torch.arange(9) > 0)),
    }
    for where, (z, p) in cases.items():
        z, p = z.clone().requires_grad_(), p.clone().requires_grad_()
        for value in torch.autograd.grad(subject.measure(z, p).sum(), (z, p), allow_unused=True):
            expect(value is None or value.isfinite().all(), f"a gradient is not finite{where}")


def _close(value: Tensor, expected: Tensor, what: str) -> None:
    both = (x.flatten()[:4].tolist() for x in (value, expected))
    given, wanted = (", ".join(f"{one:.4g}" for one in of) for of in both)
    alike = value.shape == expected.shape
    alike = alike and torch.allclose(value.double(), expected.double(), rtol=1e-5, atol=ATOL)
    expect(alike, f"{what} it is {given}, …; expected {wanted}, …")
