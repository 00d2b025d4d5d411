"""Planted agents: nobody gains by stating anything but what is known, and who knows all has 1.

An honest agent states the posterior that its errors are drawn from: Q is normal around its mean,
and has the climatology's distribution over all. Scores are means over RUNS runs of 192 pairs, as a
light query has. Another statement's gain is taken run by run, and counts above three standard
errors: a test fails by chance once in 700.
"""

import functools
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.truth import Climatology, Truth
from uqbench.uncertainty.query_scores import score_queries

RUNS, STATES, ACTIONS = 60, 32, 6
SHAPE = (RUNS, STATES, ACTIONS)
LEVELS = torch.special.ndtri((torch.arange(32).double() + 0.5) / 32)
TRUTHS = ("exact", "normal-4", "counts-4", "normal-32")
SCALE = {"exact": 0.02, "normal-32": 0.02, "normal-4": 0.05, "counts-4": 0.05}
"""How far the mean of a scale is from 0: it is the logarithm of a noisy mean square."""
RESOLVED = {"exact": True, "normal-32": True, "normal-4": False, "counts-4": False}
"""Whether the standard error of differences between actions is at most half of their deviation: of
four returns of variance 1 it is 1/2 of 1, of counts 1."""


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


IGNORANCE = torch.linspace(0.1, 0.8, STATES * ACTIONS).double().view(1, STATES, ACTIONS)
IGNORANCE = IGNORANCE.flip(1).expand(SHAPE)
MEAN = 4 + (1 - IGNORANCE.square()).sqrt() * normal(0, *SHAPE)
Q = (MEAN + IGNORANCE * normal(2, *SHAPE)).clamp(min=0)  # one in 30,000 is below
CLIMATOLOGY = Climatology(4.0, 1.0, 2**0.5)


@functools.cache
def truth(kind: str) -> Truth:
    """Returns have a variance of 1; that of counts is their mean."""
    law, _, rollouts = kind.partition("-")
    if law == "exact":
        atoms = Q[..., None] + LEVELS / LEVELS.std(correction=0)
        return Truth(Q, torch.zeros_like(Q), returns=atoms, probs=torch.full_like(atoms, 1 / 32))
    shape = (*SHAPE, int(rollouts))
    if law == "counts":
        rate = Q[..., None].expand(shape)
        return Truth.from_samples(torch.poisson(rate, torch.Generator().manual_seed(1)))
    return Truth.from_samples(Q[..., None] + normal(1, *shape))


def stated(mean: Tensor, std: Tensor) -> Uncertainty:
    return Uncertainty(mean=mean, epistemic_var=std.square().expand(SHAPE))


def with_law(what: Uncertainty, return_std: float = 1.0) -> Uncertainty:
    """Also the law of the return: normal, as wide as noise and ignorance together."""
    width = (return_std**2 + what.epistemic_var).sqrt()
    atoms = what.mean[..., None] + width[..., None] * LEVELS / LEVELS.std(correction=0)
    own = {"return_atoms": atoms, "return_probs": torch.full_like(atoms, 1 / len(LEVELS))}
    return replace(what, aleatoric_var=torch.full(SHAPE, return_std**2).double(), **own)


def scores(what: Uncertainty, kind: str) -> dict[str, Tensor]:
    """``[RUNS]`` by name."""
    each = [one.scores for one in score_queries(what, truth(kind), [CLIMATOLOGY] * RUNS)]
    return {name: torch.tensor([one[name] for one in each]) for name in each[0]}


@pytest.mark.parametrize("kind", TRUTHS)
def test_who_knows_everything_has_one_whatever_the_rollouts(kind):
    perfect = scores(with_law(stated(Q, torch.zeros(SHAPE))), kind)
    assert 0.95 < perfect["proper"].mean() < 1.02
    assert 0.95 < perfect["information"].mean() < 1.06
    assert abs(perfect["scale"].mean()) < 0.15
    assert 0.88 < perfect["coverage_90"].mean() <= 1
    if RESOLVED[kind]:
        assert 0.88 < perfect["difference_coverage_90"].mean() <= 1
    if kind != "counts-4":  # whose law is another
        assert 0.95 < perfect["return_proper"].mean() < 1.02
        assert abs(perfect["return_scale"].mean()) < 0.02


@pytest.mark.parametrize("kind", TRUTHS)
def test_the_climatology_has_zero(kind):
    constant = with_law(stated(torch.full(SHAPE, 4.0).double(), torch.ones(SHAPE)))
    found = scores(constant, kind)
    assert found["proper"].abs().max() < 1e-9  # the same forecast, run by run
    assert abs(found["return_proper"].mean()) < 0.02
    assert abs(found["scale"].mean()) < 0.02


@pytest.mark.parametrize("kind", TRUTHS)
def test_an_honest_posterior_is_calibrated(kind):
    found = scores(stated(MEAN, IGNORANCE), kind)
    assert 0.3 < found["proper"].mean() < 0.95
    assert abs(found["scale"].mean()) < SCALE[kind]
    assert found["coverage_90"].mean() == pytest.approx(0.9, abs=0.02)
    differences = found["difference_coverage_90"]
    assert differences.isnan().any() == (not RESOLVED[kind])
    if RESOLVED[kind]:
        assert differences.mean() == pytest.approx(0.9, abs=0.02)
    assert (found["information"] >= found["proper"].clamp(min=0)).all()
    assert abs(found["bias"].mean()) < 0.02


def distortions() -> dict[str, object]:
    """From the honest mean and standard deviations to what is stated instead."""
    half = (torch.arange(STATES) % 2 == 0).double()[None, :, None].expand(SHAPE)
    loud = 10 ** (2 * torch.rand(SHAPE, generator=torch.Generator().manual_seed(3)).double() - 1)
    added = loud * normal(4, *SHAPE)
    shuffle = torch.randperm(STATES, generator=torch.Generator().manual_seed(5))
    return {
        "shifted up": lambda m, s: (m + 0.5, s),
        "shift admitted": lambda m, s: (m + 0.5, (s**2 + 0.25).sqrt()),
        "noise": lambda m, s: (m + 0.3 * normal(6, *SHAPE), s),
        "noise admitted": lambda m, s: (m + 0.3 * normal(6, *SHAPE), (s**2 + 0.09).sqrt()),
        "noise of many sizes admitted": lambda m, s: (m + added, (s**2 + loud**2).sqrt()),
        "sabotage of half admitted": lambda m, s: (m + 3 * half, (s**2 + 9 * half).sqrt()),
        "sabotage of half kept quiet": lambda m, s: (m + 3 * half, s),
        "overconfident, 10": lambda m, s: (m, s / 10),
        "underconfident, 10": lambda m, s: (m, 10 * s),
        "silent": lambda m, s: (m, 0 * s),
        "constant width": lambda m, s: (m, s.square().mean().sqrt().expand(SHAPE)),
        "shuffled": lambda m, s: (m, s[:, shuffle]),
        "mean zero, sd one": lambda m, s: (0 * m, torch.ones(SHAPE).double()),
        "shrunk to the climatology": lambda m, s: (0.7 * m + 1.2, s),
        "stretched": lambda m, s: (1.3 * m - 1.2, 1.3 * s),
        "rounded": lambda m, s: (m.round(), (s**2 + 1 / 12).sqrt()),
        "wider where returns are larger": lambda m, s: (m, s * m.clamp(min=0) / 2),
    }


@pytest.mark.parametrize("kind", ["exact", "counts-4"])
@pytest.mark.parametrize("name", distortions())
def test_no_distortion_of_what_is_stated_raises_a_score(name, kind):
    mean, std = distortions()[name](MEAN, IGNORANCE)  # type: ignore[operator]
    before, after = scores(stated(MEAN, IGNORANCE), kind), scores(stated(mean, std), kind)
    for score in ("proper", "information", "q_error", "error_std"):
        gain = after[score] - before[score]
        if score in ("q_error", "error_std"):  # the bias of a mean that is shifted is no error
            gain = -gain
        assert gain.mean() < 3 * gain.std() / RUNS**0.5 + 0.002, score
    nearer = abs(before["scale"].mean()) - abs(after["scale"].mean())
    assert nearer < SCALE[kind]


@pytest.mark.parametrize("kind", ["exact", "normal-4"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_law_of_returns_has_a_lower_score(kind, factor):
    honest = stated(MEAN, IGNORANCE)
    right, wrong = scores(with_law(honest), kind), scores(with_law(honest, factor), kind)
    for score, least in (("return_proper", 0.02), ("crps", 0.005), ("aleatoric_error", 0.2)):
        sign = 1 if score == "return_proper" else -1
        assert sign * (right[score] - wrong[score]).mean() > least
    lacking = -float(torch.tensor(factor).log10())
    assert wrong["return_scale"].mean().item() == pytest.approx(lacking, abs=0.02)


def test_who_states_a_mean_alone_is_scored_as_certain_and_has_no_scale():
    silent = scores(stated(MEAN, 0 * IGNORANCE), "exact")
    alone = scores(Uncertainty(mean=MEAN), "exact")
    assert torch.equal(alone["proper"], silent["proper"])
    assert {"scale", "coverage_90", "epistemic_std"}.isdisjoint(alone)
