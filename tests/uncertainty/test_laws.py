"""Four laws of every score of uncertainty that the harness makes of an agent's statements.

A permutation of points changes nothing; a statement that is the same for every point scores at
chance, here by closed forms; no valid statement beats the truth's expected score, where a score is
proper; an invalid statement has no score. Expected scores are sums over laws, not draws, so that
no test has an error rate.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.registry import Host
from uqbench.truth import Climatology, Truth
from uqbench.uncertainty.interval_scores import score_return_distribution, score_uncertainty
from uqbench.uncertainty.query_scores import contraction, novelty, score_queries
from uqbench.uncertainty.scores import SCORING_RULES

STATES, ACTIONS = 12, 3
CLIMATOLOGY = Climatology(0.5, 1.5, 2.0)
SEEDS = st.integers(0, 2**32 - 1)
law = settings(max_examples=20, deadline=None, derandomize=True)
SHAPE = 1, STATES, ACTIONS


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(seed: int, high: int, *shape: int) -> Tensor:
    """Few different numbers, 0 to high − 1."""
    return torch.randint(high, shape, generator=generator(seed)).double()


def stated(seed: int) -> Uncertainty:
    """By few different numbers, so that there are ties of means and of variances."""
    probs = drawn(seed + 1, 4, *SHAPE, 4) + 1
    return Uncertainty(
        mean=drawn(seed + 2, 3, *SHAPE),
        epistemic_var=(drawn(seed + 3, 3, *SHAPE) + 1) / 4,
        oracle_var=(drawn(seed + 4, 3, *SHAPE) + 1) / 4,
        aleatoric_var=(drawn(seed + 5, 3, *SHAPE) + 1) / 2,
        return_atoms=drawn(seed + 6, 5, *SHAPE, 4),
        return_probs=probs / probs.sum(-1, keepdim=True),
    )


def constant(value: float = 1.0, std: float = 0.5) -> Uncertainty:
    ones = torch.ones(SHAPE, dtype=torch.float64)
    atoms = torch.tensor([3.0, 0.0, 1.0], dtype=torch.float64)  # in no order
    probs = torch.tensor([5.0, 1.0, 6.0], dtype=torch.float64) / 12
    law = {"return_atoms": atoms.expand(*SHAPE, 3), "return_probs": probs.expand(*SHAPE, 3)}
    spread = {"epistemic_var": std**2 * ones, "aleatoric_var": 2 * ones}
    return Uncertainty(mean=value * ones, **spread, **law)


def truth_of(seed: int) -> Truth:
    """Exact: two returns each, of few different values."""
    returns = drawn(seed + 7, 4, *SHAPE, 2)
    probs = torch.tensor([0.75, 0.25], dtype=torch.float64).expand_as(returns)
    q = (probs * returns).sum(-1)
    return Truth(q, torch.zeros_like(q), returns=returns, probs=probs)


def all_scores(said: Uncertainty, truth: Truth, seed: int) -> dict[str, float]:
    """Every score by name: of Q^π, of single returns, of Q*, of visits and novelty."""
    (own,) = score_queries(said, truth, [CLIMATOLOGY])
    (single,) = score_queries(said, Truth.of_one_return(truth.returns[..., 0]), [CLIMATOLOGY])
    found = {f"realized/{name}": value for name, value in single.scores.items()} | dict(own.scores)
    optimal = dict(score_uncertainty(said, truth.q[0]))
    optimal |= score_return_distribution(said, truth.returns[0], truth.probs[0])
    found |= {name: float(value[0]) for name, value in optimal.items()}
    half = STATES // 2
    if said.epistemic_var is not None:
        halves = (said.epistemic_var[:, part] for part in (slice(half), slice(half, None)))
        seen, unseen = (Uncertainty(epistemic_var=of) for of in halves)
        (found["novelty_auroc"],) = novelty(seen, unseen) or [math.nan]
        visits = drawn(seed + 8, 4, 1, STATES)
        (found["contraction"],) = contraction(said, ~truth.q.isnan(), visits) or [math.nan]
    return found


def reordered(order, dim, said, truth):
    def part(thing: Uncertainty | Truth) -> dict[str, Tensor]:
        known = {name: x for name, x in vars(thing).items() if x is not None}
        return {name: x.index_select(dim, order) for name, x in known.items()}

    return Uncertainty(**part(said)), Truth(**part(truth))


def test_every_rule_is_a_score_that_these_laws_are_tried_on():
    found = {name.rpartition("/")[2] for name in all_scores(stated(0), truth_of(0), 0)}
    derived = {"novelty"}  # the AUROC minus numbers that do not depend on what is stated
    samples = {"epistemic_std"}
    assert SCORING_RULES.keys() - derived <= found | samples
    assert found <= SCORING_RULES.keys()


def test_at_most_five_scores_are_without_a_law_and_say_why():
    own = {name: [*rule.without] for name, rule in SCORING_RULES.items() if rule.without}
    assert own == {"information": ["chance"], "first_rank": ["permutation"]}
    registered = [spec for spec in Host.load().scores.values() if spec.without]
    assert len(own) + len(registered) <= 5


@law
@given(seed=SEEDS, dim=st.sampled_from([1, 2]))
def test_a_permutation_of_states_or_actions_changes_nothing(seed, dim):
    """Visits and the unseen half stay with their states; the first point stays the first."""
    said, truth = stated(seed), truth_of(seed)
    size = SHAPE[dim]
    halves = [torch.arange(size)] if dim == 2 else torch.arange(size).split(size // 2)
    draw = generator(seed)
    order = torch.cat([half[torch.randperm(len(half), generator=draw)] for half in halves])
    before = all_scores(said, truth, seed)
    other = reordered(order, dim, said, truth)
    after = all_scores(*other, seed)
    if dim == 1:
        visits = drawn(seed + 8, 4, 1, STATES)[:, order]
        (after["contraction"],) = contraction(other[0], ~other[1].q.isnan(), visits) or [math.nan]
    assert before.keys() == after.keys()
    lacking = {name for name, rule in SCORING_RULES.items() if "permutation" in rule.without}
    for name in before.keys() - lacking:
        assert before[name] == pytest.approx(after[name], rel=1e-6, abs=1e-6, nan_ok=True), name


def crps(atoms, probs, outcome) -> float:
    law = list(zip(atoms, probs, strict=True))
    among = sum(p * q * abs(a - b) for a, p in law for b, q in law)
    return sum(p * abs(a - outcome) for a, p in law) - among / 2


def normal_crps(mean, std, q) -> float:
    """Gneiting & Raftery 2007, equation 21."""
    z = (q - mean) / std
    density = math.sqrt(2 / math.pi) * math.exp(-z * z / 2)
    return std * (z * math.erf(z / math.sqrt(2)) + density - 1 / math.sqrt(math.pi))


@law
@given(seed=SEEDS, m=st.sampled_from([0.0, 0.5, 1.0]), s=st.sampled_from([0.5, 1.5]))
def test_a_statement_that_is_the_same_for_all_points_scores_at_chance(seed, m, s):
    truth, said = truth_of(seed), constant(m, s)
    said = replace(said, oracle_var=(drawn(seed, 3, *SHAPE) + 1) / 4)
    found, q = all_scores(said, truth, seed), truth.q.flatten().numpy()
    outcomes = truth.returns.flatten(0, 2).numpy()
    atoms, probs, w = [3.0, 0.0, 1.0], [5 / 12, 1 / 12, 6 / 12], [0.75, 0.25]
    ref = np.mean([normal_crps(0.5, 1.5, one) for one in q])
    z = {50: 0.6744897501960817, 90: 1.6448536269514722, 95: 1.959963984540054}
    levels = (torch.arange(64).double() + 0.5) / 64
    quantiles = (0.5 + 2 * torch.special.ndtri(levels)).tolist()

    def expected_crps(*law):
        return np.mean(
            [sum(v * crps(*law, o) for v, o in zip(w, own, strict=True)) for own in outcomes]
        )

    mean_crps, constant_crps = expected_crps(atoms, probs), expected_crps(quantiles, [1 / 64] * 64)
    best_crps = np.mean([w[0] * w[1] * abs(own[0] - own[1]) for own in outcomes])
    tails = [min(own) if own[0] > own[1] else own[0] for own in outcomes]
    variance = np.array([w[0] * w[1] * (own[0] - own[1]) ** 2 for own in outcomes])
    wasserstein = np.mean([wasserstein_distance(atoms, own, probs, w) for own in outcomes])
    oracle = said.oracle_var.flatten().numpy()
    expected = {
        "proper": 1 - np.mean([normal_crps(m, s, one) for one in q]) / ref,
        "q_error": math.sqrt(np.mean((m - q) ** 2)),
        "bias": m - q.mean(),
        "error_std": q.std(),
        "epistemic_std": s,
        "scale": 0.5 * math.log10(np.mean((m - q) ** 2) / s**2),
        "novelty_auroc": 0.5,
        "contraction": 0.0,
        "crps": mean_crps,
        "cvar25_error": np.mean([abs(2 / 3 - t) for t in tails]),  # a twelfth at 0, two at 1
        "aleatoric_std": math.sqrt(2),
        "aleatoric_error": math.sqrt(np.mean((math.sqrt(2) - np.sqrt(variance)) ** 2)),
        "uncertainty/wasserstein": wasserstein,
        "uncertainty/error": math.sqrt(np.mean((m - q) ** 2)),
        "uncertainty/interval_score_95": 2 * z[95] * s
        + 40 * np.mean(np.maximum(np.abs(q - m) - z[95] * s, 0)),
        "uncertainty/width_95": 2 * z[95] * s,
        "uncertainty/variance_ratio": math.exp(np.mean(np.log(s**2 / oracle))),
        "uncertainty/bound_share": np.mean(s**2 >= oracle),
        "first_rank": 0.5 * (1 + math.erf((q[0] - m) / s / math.sqrt(2))),
        "realized/crps": np.mean([crps(atoms, probs, own[0]) for own in outcomes]),
    }
    if constant_crps > best_crps:
        expected["return_proper"] = (constant_crps - mean_crps) / (constant_crps - best_crps)
    if variance.mean() > 0.01:
        expected["return_scale"] = 0.5 * math.log10(variance.mean() / 2)
    for level, reach in z.items():
        expected[f"coverage_{level}"] = np.mean(np.abs(q - m) <= reach * s)
        expected[f"uncertainty/coverage_{level}"] = expected[f"coverage_{level}"]
        expected[f"coverage_{level}_ceiling"] = level / 100
    if (m, s) == (0.5, 1.5):
        assert found["proper"] == pytest.approx(0, abs=1e-9)
    assert "difference_coverage_90" not in found  # no action is better: there is no difference
    for name, value in expected.items():
        tolerance = 1e-4 if "scale" in name else 1e-6  # what is told from zero is added there
        assert found[name] == pytest.approx(value, rel=tolerance, abs=tolerance), name
    left = found.keys() - expected.keys()
    assert left <= {"information", "return_proper", "return_scale", "realized/pit_ks"}


def test_the_pit_of_one_law_for_all_is_that_of_its_draws():
    """Returns at the law's own quantiles are calibrated, at one point not."""
    said = constant()
    returns = torch.tensor([0.0] * 3 + [1.0] * 18 + [3.0] * 15, dtype=torch.float64).view(SHAPE)
    (found,) = score_queries(said, Truth.of_one_return(returns))
    assert found.scores["pit_ks"] == pytest.approx(0, abs=1e-9)
    (found,) = score_queries(said, Truth.of_one_return(torch.full_like(returns, 7.0)))
    assert found.scores["pit_ks"] == pytest.approx(0.99)  # the last step of a hundred


def population(means: Tensor, stds: Tensor, count: int = 60) -> Tensor:
    """Truths at the quantiles of normals, with their variance, ``[1, count, len(means)]``."""
    z = torch.special.ndtri((torch.arange(count).double() + 0.5) / count)
    return (means + stds * (z / z.std(correction=0))[:, None])[None]


@law
@given(
    seed=SEEDS,
    shift=st.sampled_from([0, 0.3, 2.0]),
    factor=st.sampled_from([0.0, 0.3, 1.0, 1.4, 4.0]),
)
def test_no_statement_about_q_beats_the_law_that_truths_are_drawn_from(seed, shift, factor):
    """Sixty truths at the quantiles of each of three laws: the expectation up to 3e-3."""
    means, stds = drawn(seed, 4, 3), (drawn(seed + 1, 4, 3) + 1) / 2
    q = population(means, stds)
    truth = Truth(q, torch.zeros_like(q), return_var=torch.ones_like(q))

    def scores(mean: Tensor, std: Tensor) -> dict[str, float]:
        said = Uncertainty(mean=mean.expand_as(q), epistemic_var=std.square().expand_as(q))
        (own,) = score_queries(said, truth, [CLIMATOLOGY])
        optimal = score_uncertainty(said, q[0])
        return {**own.scores, **{name: float(x) for name, x in optimal.items()}}

    best = scores(means, stds)
    wrong = scores(means + shift * drawn(seed + 2, 2, 3), stds * factor ** drawn(seed + 3, 2, 3))
    for name in ("proper", "information"):
        assert best[name] >= wrong[name] - 3e-3, name
    name = "uncertainty/interval_score_95"
    assert best[name] <= wrong[name] + 0.05 * float(stds.mean())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    seed=SEEDS,
    missing=st.sampled_from([-9e-4, 0.0, 1e-7, 9e-4]),
    far=st.sampled_from([0.0, 1.0, 1e6, 1e12]),
    tiny=st.sampled_from([0.0, 1e-30, 1e-6]),
    honest=st.booleans(),
)
def test_no_return_distribution_beats_the_true_one(seed, missing, far, tiny, honest):
    """Whatever its sum, if it is valid, and however far atoms lie that have next to no mass."""
    truth = truth_of(seed)
    law_ = Uncertainty(return_atoms=truth.returns, return_probs=truth.probs)
    of = law_ if honest else stated(seed)
    more = torch.full((*SHAPE, 1), far, dtype=torch.float64)
    atoms = torch.cat([of.return_atoms, more], -1)
    probs = torch.cat([(1 - missing) * of.return_probs, torch.full_like(more, tiny)], -1)
    said = Uncertainty(return_atoms=atoms, return_probs=probs)
    best, wrong = (all_scores(one, truth, seed) for one in (law_, said))
    assert wrong.keys() == best.keys()
    assert best["uncertainty/wasserstein"] == pytest.approx(0, abs=1e-12)
    assert wrong["uncertainty/wasserstein"] >= 0
    assert best["crps"] <= wrong["crps"] + 1e-9
    if not math.isnan(best["return_proper"]):
        assert best["return_proper"] == pytest.approx(1)
        assert wrong["return_proper"] <= 1 + 1e-9


def spoiled(name: str, number: float) -> Uncertainty:
    said = stated(3)
    value = getattr(said, name).clone()
    value.view(-1)[5] = number
    return replace(said, **{name: value})


NUMBERS = ("mean", "epistemic_var", "oracle_var", "aleatoric_var", "return_atoms", "return_probs")
INVALID = [
    *((name, math.nan) for name in NUMBERS),
    *((name, math.inf) for name in ("mean", "aleatoric_var", "return_atoms", "return_probs")),
    *((name, -1.0) for name in ("epistemic_var", "oracle_var", "aleatoric_var", "return_probs")),
    ("return_probs", 0.9),
]


@pytest.mark.parametrize(("name", "number"), INVALID)
def test_an_invalid_statement_has_no_score(name, number):
    """Novelty and contraction read the variance alone."""
    found = all_scores(spoiled(name, number), truth_of(3), 3)
    of_variance = {"novelty_auroc", "contraction"}
    if name != "epistemic_var":
        found = {key: value for key, value in found.items() if key != "novelty_auroc"}
    assert all(math.isnan(value) for value in found.values()), found
    assert found.keys() <= of_variance | {key for key in found if key.startswith("uncertainty/")}


def test_an_infinite_variance_is_a_statement_of_what_was_never_seen():
    found = all_scores(spoiled("epistemic_var", math.inf), truth_of(3), 3)
    assert found["coverage_90"] > 0
    assert not math.isnan(found["novelty_auroc"])


def test_what_is_the_same_in_every_state_does_not_contract_by_the_last_bit():
    """A mean of three tenths is not a tenth in float64: states with more actions seemed newer."""
    var = torch.full((1, 40, 3), 0.01, dtype=torch.float64)
    known = torch.ones(1, 40, 3, dtype=torch.bool)
    known[:, 20:, 1:] = False
    visits = torch.cat([torch.ones(1, 20), torch.full((1, 20), 9.0)], 1)
    assert (var.sqrt().masked_fill(~known, torch.nan).nanmean(-1).unique()).numel() >= 1
    assert contraction(Uncertainty(epistemic_var=var), known, visits) == [0]


def test_actions_that_are_stated_to_be_equally_good_are_one_alternative_by_their_mean():
    """Q is 0, 2 and 1, the first two stated as 1 ± 0, the third as 0: the difference to their mean
    is stated as −1, true 0; the interval of the third alone, ± z s, must reach 1."""
    said = Uncertainty(
        mean=torch.tensor([[[1.0, 1.0, 0.0]]]).double(),
        epistemic_var=torch.tensor([[[0.0, 0.0, 0.36]]]).double(),
    )
    q = torch.tensor([[[0.0, 2.0, 1.0]]]).double()
    truth = Truth(q, torch.zeros_like(q), return_var=torch.ones_like(q))
    (no,) = score_queries(said, truth)
    assert no.scores["difference_coverage_90"] == 0  # 1.645 · 0.6 = 0.987
    wider = replace(said, epistemic_var=torch.tensor([[[0.0, 0.0, 0.38]]]).double())
    (yes,) = score_queries(wider, truth)
    assert yes.scores["difference_coverage_90"] == 1  # 1.645 · 0.616 = 1.014
