"""What is scored at query states, of exact laws, samples and single returns."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.truth import Climatology, Truth
from uqbench.uncertainty.epistemic import score_predictions
from uqbench.uncertainty.query_scores import contraction, novelty, score_queries

STATES = 2_000


def noise(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()


Q = 3 * noise(0, 1, STATES, 2)
SPREAD = torch.linspace(0.3, 2.0, 2 * STATES).double().view(1, STATES, 2)
SAMPLED = Truth.from_samples(Q[..., None] + SPREAD[..., None] * noise(1, 1, STATES, 2, 8))
REALIZED = Truth.of_one_return(Q + SPREAD * noise(7, 1, STATES, 2))
NORMAL = torch.special.ndtri((torch.arange(50).double() + 0.5) / 50)
KNOWN = Uncertainty(
    mean=Q + SPREAD.flip(1) * noise(2, 1, STATES, 2),
    epistemic_var=SPREAD.flip(1).square(),
    aleatoric_var=SPREAD.square(),
    return_atoms=Q[..., None] + SPREAD[..., None] * NORMAL,
    return_probs=torch.full((1, STATES, 2, 50), 0.02).double(),
)


def scores(stated: Uncertainty, truth: Truth = SAMPLED) -> dict[str, float]:
    [one] = score_queries(stated, truth, [Climatology(0.0, 3.0, 3.3)])
    return dict(one.scores)


def test_stored_predictions_have_the_scores_of_the_run():
    """Rounded to what a file keeps, in the run too: bit for bit."""
    [one] = score_queries(KNOWN, SAMPLED, [Climatology(0.0, 3.0, 3.3)])
    columns = {name: x.float() for name, x in vars(one.predictions).items()}
    stored = type(one.predictions)(**{name: x.double() for name, x in columns.items()})
    found = score_predictions(stored)
    assert {"proper", "information", "scale", "bias", "difference_coverage_90"} < found.keys()
    assert found == {name: one.scores[name] for name in found}


def test_differences_are_of_the_stated_greedy_action_by_joint_samples_where_there_are_some():
    """Heads that share an error know every difference, whatever each of them is worth."""
    shared = noise(3, 1, STATES, 1, 10).expand(1, STATES, 2, 10)
    heads = Q[..., None] + shared + 1e-3 * noise(4, 1, STATES, 2, 10)
    stated = Uncertainty(mean=heads.mean(-1), epistemic_var=heads.var(-1), value_samples=heads)
    exact = Truth(Q, torch.zeros_like(Q), return_var=SPREAD.square())
    [one] = score_queries(stated, exact)
    alternative = ~one.predictions.difference_std.isnan()
    assert alternative.sum() == STATES
    assert one.predictions.difference_std[alternative].max() < 0.01
    assert one.predictions.std.min() > 0.1
    [alone] = score_queries(replace(stated, value_samples=None), exact)
    assert alone.predictions.difference_std[alternative].min() > 0.1
    assert alone.scores["difference_coverage_90"] == 1 > one.scores["difference_coverage_90"]


def test_two_networks_cover_what_they_state_once_they_say_that_they_are_two():
    """A standard error of 0.02; by the normal quantile they cover 65 %.

    Of the differences between actions they would cover 76 and 65 %.
    """
    heads = KNOWN.mean[..., None] + SPREAD.flip(1)[..., None] * noise(3, 1, STATES, 2, 2)
    two = Uncertainty(mean=KNOWN.mean, epistemic_var=heads.var(-1))
    exact = Truth(Q, torch.zeros_like(Q), return_var=SPREAD.square())
    found = scores(replace(two, epistemic_dof=torch.ones_like(Q)), exact)
    assert found["coverage_90"] == pytest.approx(0.9, abs=0.03)
    assert found["coverage_90_ceiling"] == 0.9
    assert scores(two, exact)["coverage_90"] == pytest.approx(0.652, abs=0.03)

    joint = replace(two, mean=heads.mean(-1), value_samples=heads)

    def covered(stated: Uncertainty) -> float:
        return scores(stated, exact)["difference_coverage_90"]

    # two variances of one degree of freedom each have one to two (Satterthwaite): rather too wide
    assert covered(replace(two, epistemic_dof=torch.ones_like(Q))) == pytest.approx(0.93, abs=0.03)
    assert covered(joint) == pytest.approx(0.9, abs=0.03)
    known = torch.full_like(Q, torch.inf)
    assert covered(two) == covered(replace(two, epistemic_dof=known)) < 0.8
    silent = replace(two, epistemic_var=torch.zeros_like(Q))
    assert covered(silent) == covered(replace(silent, epistemic_dof=torch.ones_like(Q))) == 0


def test_nothing_stated_nothing_scored_and_unavailable_actions_do_not_count():
    assert scores(Uncertainty()) == {}
    missing = replace(SAMPLED, q=SAMPLED.q.clone())
    missing.q[:, :, 1] = math.nan
    half = Uncertainty(mean=KNOWN.mean.clone())
    half.mean[:, :, 1] = 1e9
    assert scores(half, missing)["q_error"] < 2


def test_novelty_asks_whether_unseen_states_are_more_uncertain():
    seen, unseen = (Uncertainty(epistemic_var=torch.full((2, 5, 3), value)) for value in (1.0, 2.0))
    assert (novelty(seen, unseen), novelty(seen, seen)) == ([1, 1], [0.5, 0.5])
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
    assert contraction(Uncertainty(epistemic_var=torch.ones(2, 5, 2)), known, visits) == [0, 0]
    alike = contraction(Uncertainty(epistemic_var=honest), known, torch.ones(2, 5))
    assert all(math.isnan(one) for one in alike or [0.0])
    assert contraction(Uncertainty(mean=honest), known, visits) is None


def test_contraction_looks_at_actions_that_there_are():
    visits = torch.tensor([[4, 1, 0, 7]])
    known = torch.tensor([[[1, 0], [1, 1], [0, 1], [0, 0]]]).bool()
    var = (1 / (visits + 1.0))[..., None].expand(1, 4, 2).masked_fill(~known, 1e9)
    assert contraction(Uncertainty(epistemic_var=var), known, visits) == pytest.approx([1])


def test_single_returns_have_the_scores_that_need_no_standard_error():
    found = scores(KNOWN, REALIZED)
    assert set(found) == {"crps", "pit_ks"}
    assert found["pit_ks"] < 0.04  # 1.63 / √4000 = 0.026 at 1 %, and 50 atoms


def test_a_lane_of_which_nothing_is_known_has_no_scores():
    both = Truth.of_one_return(torch.cat([torch.full_like(Q, torch.nan), REALIZED.q]))
    twice = {name: torch.cat([x, x]) for name, x in vars(KNOWN).items() if x is not None}
    first, second = score_queries(Uncertainty(**twice), both)
    assert (first.scores, second.scores) == ({}, scores(KNOWN, REALIZED))


def test_the_example_of_the_docs_has_these_numbers():
    page = (Path(__file__).parents[2] / "docs" / "uncertainty.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    here = {
        name.strip(" `"): float(value)
        for names, _, _, _, values, _ in (row[1:-1] for row in rows if len(row) == 8)
        for name, value in zip(names.split(","), values.split(","), strict=values.strip() != "–")
        if value.strip() != "–"
    }

    def of_both(right, around):
        return torch.tensor([[[right, around]]]).double()

    law = of_both([4.0, -3.0], [2.0, 2.0])
    odds, exact = of_both([0.75, 0.25], [0.5, 0.5]), torch.zeros(1, 1, 2).double()
    truth = Truth(of_both(2.25, 2.0), exact, returns=law, probs=odds)
    stated = Uncertainty(
        mean=of_both(3.0, 1.8), epistemic_var=of_both(0.5, 0.3).square(),
        aleatoric_var=of_both(6.0, 0.0), return_atoms=of_both([4.0, -3.0], [1.8, 1.8]),
        return_probs=of_both([6 / 7, 1 / 7], [0.5, 0.5]))  # fmt: skip
    (found,) = score_queries(stated, truth, [Climatology(1.0, 2.0, 3.0)])
    assert len(here) == 13
    for name, value in here.items():
        assert found.scores[name] == pytest.approx(value, abs=0.005), name
