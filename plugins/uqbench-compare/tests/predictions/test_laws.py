"""Four laws of every registered score, whichever plugin registers it.

A permutation of points changes nothing; a statement that is the same for every point scores at
chance; no valid statement beats the truth's expected score, where a score is proper; an invalid
statement has no score. Nothing here is drawn but by Hypothesis, and expected scores are exact: a
population has every target in the share that the truth gives it. So no test has an error rate; of
a normal law the population is 200 quantiles, which is exact for squares, and for the CRPS to 1e-3.
"""

from dataclasses import replace
from math import comb, inf, isnan, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from uqbench_compare.predictions import registered
from uqbench_testing.results import results

from uqbench.estimator import Predictions
from uqbench.registry import Host
from uqbench.specs import ScoreSpec
from uqbench.testing.conformance import scores as toys
from uqbench.testing.conformance.scores import Toy, labels_as_models, permuted, population, toy
from uqbench.uncertainty.predictions import score_of

SCORES = Host.load().scores
PROPER = [name for name in SCORES if SCORES[name].proper]
SEEDS, KINDS = st.integers(0, 2**32 - 1), st.sampled_from([0, 2, 3, 10])
law = settings(max_examples=15, deadline=None, derandomize=True)


def value(name: str, predictions: Toy) -> float:
    predictions["test"]  # what every score may read is checked before it is asked
    return score_of(SCORES[name], predictions)


def test_every_score_declares_its_laws():
    without = {name: [*SCORES[name].without] for name in SCORES}
    assert {n: of for n, of in without.items() if of} == {"joint_nll": ["permutation"]}
    for name in SCORES:
        assert SCORES[name].chance is not None, name


@pytest.mark.parametrize("name", SCORES)
def test_every_score_has_a_value_of_what_these_laws_are_tried_on(name):
    assert any(not isnan(value(name, toy(0, classes))) for classes in (0, 3))


@pytest.mark.parametrize("name", [name for name in SCORES if not SCORES[name].without])
@law
@given(seed=SEEDS, classes=KINDS, points=st.integers(1, 40))
def test_a_permutation_of_points_changes_nothing(name, seed, classes, points):
    before = toy(seed, classes, points)
    after = value(name, permuted(before, seed))
    assert value(name, before) == pytest.approx(after, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", SCORES)
@law
@given(seed=SEEDS, classes=KINDS, points=st.integers(1, 40))
def test_a_constant_statement_scores_at_chance(name, seed, classes, points):
    constant = toy(seed, classes, points, constant=True)
    found, chance = value(name, constant), SCORES[name].at_chance(constant)
    assert found == pytest.approx(chance, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", PROPER)
@law
@given(seed=SEEDS, how=SEEDS, classes=st.sampled_from([0, 3]))
def test_no_valid_statement_beats_the_truths_expected_score(name, seed, how, classes):
    truth = value(name, population(seed, classes))
    other = value(name, population(seed, classes, how))
    sign = 1 if SCORES[name].direction == "min" else -1
    assert isnan(truth) == isnan(other)
    assert isnan(truth) or sign * truth <= sign * other + (1e-9 if classes else 1e-3)


JOINT = [name for name in PROPER if name.startswith("joint")]


def copies(given):
    """A likelihood of two inputs, five times each with one label: proper of no law of labels."""
    one = given["test"]
    members = one.predicted.members
    if one.predicted.probs is None:
        return nan
    if members is None:
        return registered.nll(given)
    each = registered.at(members[:, 0], one.targets).clip(1e-12) ** 5
    return -float(np.log(each.T @ each / len(members)).mean()) / 10


@pytest.mark.parametrize("name", JOINT)
@pytest.mark.parametrize("classes", [0, 3])
def test_labels_that_are_called_models_do_not_beat_the_truth_jointly(name, classes):
    """They are what the truth says of each point by itself, and nothing of several together."""
    for seed in range(6):
        truth, planted = (value(name, one) for one in labels_as_models(seed, classes))
        assert truth + 0.1 < planted


def test_a_score_of_copies_of_a_label_is_seen_to_be_improper():
    """As `dyadic_nll` was: of six truths the planted labels beat each."""
    spec = ScoreSpec(name="copies", version="1", factory=copies, direction="min", proper=True,
                     chance=registered.nll)  # fmt: skip
    for seed in range(6):
        truth, planted = (copies(one) for one in labels_as_models(seed, 3))
        assert planted < truth - 0.1
    (found,) = results([toys.ScoreSubject(name="copies", spec=spec)], "score-proper")
    assert found.status == "failed"
    assert "labels called models" in found.message


def _put(number):
    def changed(x):
        x = x.copy()
        x.flat[3] = number
        return x

    return changed


PUT = {"NaN": _put(nan), "infinite": _put(inf), "negative": lambda x: x - 4}
NUMBERS = {"NaN": _put(nan), "infinite": _put(inf)}
SUMS = {"ones": lambda p: 0 * p + 1, "hundreds": lambda p: 100 * p, "a half": lambda p: p / 2,
        "1.002": lambda p: 1.002 * p, **PUT}  # fmt: skip
WAYS = {
    "total": PUT | {"none": lambda x: None},
    **dict.fromkeys(("aleatoric", "epistemic"), PUT),
    **dict.fromkeys(("mean", "score"), NUMBERS),
    "probs": SUMS | {"negative that sum to one": lambda p: p + np.array([1.0, -1.0, 0.0])},
    "members": SUMS,
    "interval": {of[0]: lambda x, of=of: np.broadcast_to(of[1:], (1, 30, 2))
                 for of in (("reversed", 1.0, -1.0), ("NaN", nan, 1.0))},
}  # fmt: skip


def spoiled(said, field, how):
    """A statement that is invalid in one way; None where it says nothing of the kind."""
    of = {"probs": "probs", "members": "probs", "mean": "mean", "score": "score"}.get(field)
    if of and getattr(said, of) is None:
        return None
    return replace(said, **{field: WAYS[field][how](getattr(said, field))})


@pytest.mark.parametrize(("field", "how"), [(field, how) for field in WAYS for how in WAYS[field]])
def test_an_invalid_statement_has_no_score(field, how):
    """In every set, since a score may read any."""

    def invalid(of):
        return replace(of, predicted=spoiled(of.predicted, field, how))

    both = [toy(1, classes) for classes in (0, 3)]
    able = [of for of in both if spoiled(of["test"].predicted, field, how) is not None]
    assert able
    for valid in able:
        given_ = Toy(lambda name, valid=valid: invalid(valid[name]))
        for name in SCORES:
            assert isnan(value(name, given_)), name


def test_scores_as_they_were_break_these_laws(monkeypatch):
    """Ties in the order of the file, and a library's thinned curve, are seen by the same tests."""
    monkeypatch.setattr(registered, "tie_means", lambda values, by: values)
    for name in ("ece", "corrupted_ece", "shifted_ece"):
        pairs = [(toy(s, 3), permuted(toy(s, 3), s)) for s in range(5)]
        assert any(toys.differ(value(name, one), value(name, other)) for one, other in pairs), name


def test_a_joint_likelihood_is_of_its_groups_in_any_order_within_and_among_them():
    one = toy(3, 3, 30)["test"]
    said = one.predicted
    order = np.concatenate([10 * k + np.arange(10)[::-1] for k in (2, 0, 1)])
    across = np.arange(30).reshape(3, 10).T.ravel()
    whole, same, apart = (
        registered.joint_nll({"test": Predictions(toys.taken(said, of), one.targets[:, of])})
        for of in (np.arange(30), order, across)
    )
    assert whole == pytest.approx(same)
    assert whole != pytest.approx(apart)


@law
@given(
    truth=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    said=st.lists(st.integers(0, 10), min_size=1, max_size=4),
)
def test_no_models_have_a_better_expected_joint_likelihood_than_the_truths(truth, said):
    """Of a coin thrown ten times k heads have ``mean_s C(10, k) p_s^k (1 − p_s)^(10−k)``.

    Exact, over the eleven outcomes. The law of the marginals alone is one of the statements.
    """

    def expected(stated: list[float]) -> float:
        p = np.array(stated)
        each = np.repeat(np.stack([1 - p, p], -1)[:, None, None], 10, 2)
        marginal, total = toys.of_probabilities(each.mean(0)), 0.0
        for heads in range(11):
            targets = (np.arange(10) < heads).astype(int)[None]
            law = comb(10, heads) * np.mean(np.power(coins, heads) * (1 - coins) ** (10 - heads))
            said_ = replace(marginal, members=each)
            total += law * registered.joint_nll({"test": Predictions(said_, targets)})
        return total

    coins = np.array(truth) / 10
    best = expected(coins)
    for other in ([one / 10 for one in said], [coins.mean()]):
        assert best <= expected(other) + 1e-9


def test_a_sum_beyond_one_gains_nothing_though_it_is_valid():
    """log 1.001 is a thousandth of a nat: more than many rows of a board are apart."""
    one = toy(0, 3)["test"]
    said = one.predicted
    more = replace(said, probs=1.0009 * said.probs, members=1.0009 * said.members)
    for name in ("nll", "joint_nll"):
        score = getattr(registered, name)
        assert score({"test": replace(one, predicted=more)}) == pytest.approx(score({"test": one}))


def test_the_first_models_alone_have_no_joint_likelihood():
    """The logarithm of a mean over 20 of 200 is too low, by (1/20 − 1/200)/2 of its variance."""
    g = np.random.default_rng(0)
    each = softmax(2 * g.normal(size=(200, 1, 40, 2)), -1)
    said = replace(toys.of_probabilities(each.mean(0)), members=each)
    targets = g.integers(2, size=(1, 40))
    assert registered.joint_nll({"test": Predictions(said, targets)}) > 0
    first = replace(said, members=each[:20])
    assert isnan(registered.joint_nll({"test": Predictions(first, targets)}))
    independent = {"test": Predictions(replace(said, members=None), targets)}
    assert registered.joint_nll(independent) == pytest.approx(registered.nll(independent))
    assert log(2) / 2 < registered.nll(independent) < 2 * log(2)
