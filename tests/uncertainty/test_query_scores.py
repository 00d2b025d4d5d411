"""Planted agents: those that know, those that are wrong, those that say nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.truth import Truth
from uqbench.uncertainty.query_scores import contraction, novelty, score_queries

STATES, ROLLOUTS = 2_000, 8
LEVELS = (torch.arange(50).double() + 0.5) / 50
NORMAL = torch.distributions.Normal(0.0, 1.0).icdf(LEVELS)


def noise(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()


Q = 3 * noise(0, 1, STATES, 2)
SPREAD = torch.linspace(0.3, 2.0, 2 * STATES).double().view(1, STATES, 2)
IGNORANCE = SPREAD.flip(1)
SAMPLED = Truth.from_samples(Q[..., None] + SPREAD[..., None] * noise(1, 1, STATES, 2, ROLLOUTS))
EXACT = Truth(Q, torch.zeros_like(Q), return_var=SPREAD.square())
KNOWN = Uncertainty(
    mean=Q + IGNORANCE * noise(2, 1, STATES, 2),
    epistemic_var=IGNORANCE.square(),
    aleatoric_var=SPREAD.square(),
    return_atoms=Q[..., None] + SPREAD[..., None] * NORMAL,
    return_probs=torch.full((1, STATES, 2, 50), 0.02).double(),
)


def scores(stated: Uncertainty, truth: Truth = SAMPLED) -> dict[str, float]:
    [one] = score_queries(stated, truth)
    return dict(one.scores)


def spread(factor: float | Tensor) -> Uncertainty:
    """The true means of the return, with another spread."""
    return Uncertainty(
        return_atoms=Q[..., None] + (factor * SPREAD)[..., None] * NORMAL,
        return_probs=KNOWN.return_probs,
        aleatoric_var=(factor * SPREAD).square(),
    )


def test_who_knows_all_has_skills_of_one_and_is_calibrated():
    found = scores(KNOWN)
    assert found["crps_skill"] == pytest.approx(1, abs=0.05)  # 50 atoms are not a normal
    assert found["aleatoric_skill"] == pytest.approx(1, abs=0.05)
    assert found["pit_ks"] < 0.02
    assert found["aleatoric_error"] < 0.15
    for level in (50, 90, 95):  # a share of 4,000 has a standard error below 0.8 %
        assert found[f"coverage_{level}"] == pytest.approx(level / 100, abs=0.035)
        assert found[f"coverage_{level}_ceiling"] == level / 100
    assert found["ence"] < 0.1
    assert 0.05 < found["interval_skill"] < 1
    assert found["rank_correlation"] > 0.3
    assert found["sparsification_skill"] > 0.3
    error = (KNOWN.mean - Q).square().mean().sqrt().item()
    assert found["q_error"] == pytest.approx(error, rel=0.01)


def test_a_constant_spread_has_no_skill_and_a_wrong_one_less():
    """The constant distribution of the residuals; half and twice the true spread."""
    constant = (SPREAD.square().mean().sqrt() / SPREAD).expand_as(SPREAD)
    assert abs(scores(spread(constant))["crps_skill"]) < 0.15
    mean = (SPREAD.mean() / SPREAD).expand_as(SPREAD)
    assert abs(scores(spread(mean))["aleatoric_skill"]) < 0.05
    known = scores(spread(1.0))
    for factor in (0.3, 3.0):
        wrong = scores(spread(factor))
        assert wrong["crps_skill"] < known["crps_skill"] - 0.3
        assert wrong["aleatoric_skill"] < known["aleatoric_skill"] - 0.5
        assert wrong["pit_ks"] > known["pit_ks"] + 0.1
        assert wrong["cvar25_error"] > known["cvar25_error"] + 0.2
        assert wrong["crps"] > known["crps"]


def test_ignorance_that_is_understated_or_upside_down_is_found_out():
    known = scores(KNOWN, EXACT)
    sure = scores(replace(KNOWN, epistemic_var=0.04 * IGNORANCE.square()), EXACT)
    assert sure["coverage_90"] < 0.35
    assert sure["interval_skill"] < 0 < known["interval_skill"]
    assert sure["ence"] > 3
    assert sure["sparsification_skill"] == pytest.approx(known["sparsification_skill"])
    upside_down = scores(replace(KNOWN, epistemic_var=IGNORANCE.flip(1).square()), EXACT)
    assert upside_down["sparsification_skill"] < -0.2
    assert upside_down["rank_correlation"] < -0.2
    assert upside_down["interval_skill"] < known["interval_skill"]


def test_exact_distributions_are_compared_exactly():
    """A coin: its own law has the skill 1, another the CRPS of two atoms by hand."""
    atoms = torch.tensor([0.0, 4.0]).double().expand(1, 2, 1, 2)
    probs = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).double().view(1, 2, 1, 2)
    q = (atoms * probs).sum(-1)
    truth = Truth(q, torch.zeros_like(q), returns=atoms, probs=probs)
    stated = Uncertainty(
        return_atoms=atoms, return_probs=probs, aleatoric_var=torch.tensor([[[4.0], [3.0]]])
    )
    right = scores(stated, truth)
    assert right["crps_skill"] == pytest.approx(1)
    assert right["aleatoric_skill"] == pytest.approx(1)
    assert right["cvar25_error"] == 0
    assert right["crps"] == pytest.approx(0.5 * 4 * (2 * 0.25 + 2 * 0.1875) / 2)
    assert "pit_ks" not in right
    other = replace(stated, return_probs=torch.tensor([1.0, 0.0]).expand(1, 2, 1, 2))
    assert scores(other, truth)["crps"] == pytest.approx((0.5 * 4 + 0.75 * 4) / 2)


def test_few_heads_are_told_their_ceiling():
    heads = KNOWN.mean[..., None] + IGNORANCE[..., None] * noise(3, 1, STATES, 2, 10)
    found = scores(Uncertainty(mean=KNOWN.mean, value_samples=heads))
    assert found["coverage_95_ceiling"] == pytest.approx(9 / 11)
    assert found["coverage_95"] == pytest.approx(9 / 11, abs=0.04)


def test_nothing_stated_nothing_scored_and_unavailable_actions_do_not_count():
    assert scores(Uncertainty()) == {}
    assert scores(Uncertainty(mean=KNOWN.mean)).keys() == {"q_error"}
    missing = replace(SAMPLED, q=SAMPLED.q.clone())
    missing.q[:, :, 1] = math.nan
    half = Uncertainty(mean=KNOWN.mean.clone())
    half.mean[:, :, 1] = 1e9
    assert scores(half, missing)["q_error"] < 2


def test_novelty_asks_whether_unseen_states_are_more_uncertain():
    seen, unseen = (Uncertainty(epistemic_var=torch.full((2, 5, 3), value)) for value in (1.0, 2.0))
    assert novelty(seen, unseen) == [1, 1]
    assert novelty(seen, seen) == [0.5, 0.5]
    assert novelty(unseen, seen) == [0, 0]
    assert novelty(Uncertainty(), unseen) is None


def test_contraction_asks_whether_uncertainty_falls_with_visits():
    """An independent mean of n + 1 samples in each state, its mirror image, and a constant."""
    visits = torch.tensor([[0, 5, 2, 90, 17], [3, 0, 1, 8, 8]])
    known = torch.ones(2, 5, 2, dtype=torch.bool)
    honest = (1 / (visits + 1.0))[..., None].expand(2, 5, 2)
    assert contraction(Uncertainty(epistemic_var=honest), known, visits) == pytest.approx([1, 1])
    wrong = Uncertainty(epistemic_var=1 / honest)
    assert contraction(wrong, known, visits) == pytest.approx([-1, -1])
    constant = Uncertainty(epistemic_var=torch.ones(2, 5, 2))
    assert all(math.isnan(one) for one in contraction(constant, known, visits) or [0.0])
    assert contraction(Uncertainty(mean=honest), known, visits) is None


def test_contraction_looks_at_actions_that_there_are():
    visits = torch.tensor([[4, 1, 0, 7]])
    known = torch.tensor([[[1, 0], [1, 1], [0, 1], [0, 0]]]).bool()
    var = (1 / (visits + 1.0))[..., None].expand(1, 4, 2).masked_fill(~known, 1e9)
    assert contraction(Uncertainty(epistemic_var=var), known, visits) == pytest.approx([1])


# -- single realized returns ----------------------------------------------------------------------


REALIZED = Truth.realized(Q + SPREAD * noise(7, 1, STATES, 2))


def test_single_returns_have_the_scores_that_need_no_standard_error():
    found = scores(KNOWN, REALIZED)
    assert set(found) == {
        "crps", "crps_skill", "pit_ks", "rank_correlation", "sparsification_skill"
    }  # fmt: skip
    assert found["pit_ks"] < 0.04  # 1.63 / √4000 = 0.026 at 1 %, and 50 atoms


def test_single_returns_tell_who_knows_their_distribution():
    """Expected CRPS of the truth: Σ σ / √π; the best constant spread of these is worse."""
    known = scores(KNOWN, REALIZED)
    assert known["crps"] == pytest.approx(float(SPREAD.mean()) / math.sqrt(math.pi), rel=0.05)
    assert 0 < known["crps_skill"] < 0.5
    assert scores(spread(4.0), REALIZED)["crps_skill"] < 0
    assert scores(spread(0.25), REALIZED)["crps_skill"] < 0


def test_single_returns_tell_who_knows_its_errors():
    error = KNOWN.mean - REALIZED.q
    honest = replace(KNOWN, epistemic_var=error.square())
    upside_down = replace(KNOWN, epistemic_var=1 / error.square())
    assert scores(honest, REALIZED)["sparsification_skill"] == pytest.approx(1)
    assert scores(upside_down, REALIZED)["sparsification_skill"] < -0.5


def test_a_lane_of_which_nothing_is_known_has_no_scores():
    unknown = torch.full_like(Q, torch.nan)
    both = Truth.realized(torch.cat([unknown, REALIZED.q]))
    stated = Uncertainty(
        **{name: torch.cat([x, x]) for name, x in vars(KNOWN).items() if x is not None}
    )
    first, second = score_queries(stated, both)
    assert first.scores == {}
    assert second.scores == scores(KNOWN, REALIZED)
