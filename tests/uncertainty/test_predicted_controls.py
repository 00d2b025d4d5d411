"""Planted estimators against controls: a skill is what no control has.

Three classes in a plane, inputs with a third coordinate that is noise of five times the size; a
fourth cluster, of no class, is outside. 100 training points, 200 of each set, 40 runs; an estimator
is above its controls in a skill where the mean over runs of what is beyond the best of them is
three standard errors above zero: chance does so in one of 700.

| beyond the best control | NLL | Brier | accuracy | AURC | AUROC, own score | AUROC, MSP |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| exact posterior | 0.66 | 0.41 | 0.35 | 0.11 | 0.04 | −0.47 |
| its uncertainties shuffled | 0.66 | 0.41 | 0.35 | −0.01 | −0.43 | −0.47 |
| all of it shuffled | −2.91 | −0.58 | −0.20 | 0.00 | −0.43 | −0.46 |
| label leak | 1.01 | 0.62 | 0.50 | 0.00 | −0.46 | −0.23 |
| uniform | −0.07 | −0.05 | −0.16 | 0.00 | −0.46 | −0.46 |
| class shares | 0.00 | 0.00 | 0.00 | −0.07 | −0.46 | −0.46 |
| nearest | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | −0.46 |
| posterior, nearest | 0.66 | 0.41 | 0.35 | −0.01 | 0.00 | −0.47 |
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from uqbench.registry import Host
from uqbench.suites import Metric
from uqbench.suites.controls import control_of, with_controls
from uqbench.uncertainty.predicted_controls import instead, predicted_scores
from uqbench.uncertainty.predictions import nearest, stored_predictions

RUNS, POINTS, TRAINING = 40, 200, 100
SKILLS = ("nll", "brier", "accuracy", "aurc", "auroc", "near_msp")
PRIOR = np.array([0.5, 0.3, 0.2])
CENTERS = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])


def columns(run: int) -> dict[str, np.ndarray]:
    """Columns of an exact posterior, whose score of novelty is the inputs' log density."""
    rng = np.random.default_rng(run)

    def drawn(centers: np.ndarray) -> np.ndarray:
        plane = centers + rng.standard_normal(centers.shape)
        return np.column_stack([plane, 5 * rng.standard_normal(len(plane))])

    training = drawn(CENTERS[rng.choice(3, TRAINING, p=PRIOR)])
    target = rng.choice(3, POINTS, p=PRIOR)
    outside = drawn(np.full((POINTS, 2), 4.0))
    x = np.concatenate([drawn(CENTERS[target]), outside, outside])
    law = [p * multivariate_normal(c).pdf(x[:, :2]) for p, c in zip(PRIOR, CENTERS, strict=True)]
    density = np.sum(law, 0)
    probs = np.transpose(law / density)
    entropy = -(probs * np.log(probs + 1e-30)).sum(1)
    distance = nearest(torch.from_numpy(x), torch.from_numpy(training))
    return {
        "set": np.repeat(np.array(["test", "outside", "near"], object), POINTS),
        "unit": np.full(3 * POINTS, "nats", object),
        "target": np.concatenate([target, np.full(2 * POINTS, np.nan)]),
        "probs": probs,
        "total": entropy,
        "aleatoric": entropy,
        "epistemic": 0 * entropy,
        "score": -np.log(density),
        "nearest": distance,
    }


def scored(name: str, of: dict[str, np.ndarray], host: Host) -> float:
    """A registered score, of statements whose parts need not add up."""
    return float(host.scores[name].load_factory()(stored_predictions(of)))


def constant(of: dict[str, np.ndarray], probs: np.ndarray) -> dict[str, np.ndarray]:
    one = np.ones(len(of["set"]))
    return of | {"probs": one[:, None] * probs, "total": one, "aleatoric": one, "score": one}


def leak(of: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Targets with a probability of .98; where there are none, the posterior's."""
    told, rows = of["probs"].copy(), ~np.isnan(of["target"])
    told[rows] = 0.01 + 0.97 * np.eye(3)[of["target"][rows].astype(int)]
    return of | {"probs": told, "score": 0 * of["score"]}


def shuffled(*names: str) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    def statement(of: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        order = np.random.default_rng(0).permutation(len(of["set"]))
        return of | {name: of[name][order] for name in names}

    return statement


ESTIMATORS: dict[str, Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]] = {
    "exact posterior": lambda of: of,
    "its uncertainties shuffled": shuffled("total", "score"),
    "all of it shuffled": shuffled("total", "score", "probs"),
    "label leak": leak,
    "uniform": lambda of: constant(of, np.full(3, 1 / 3)),
    "class shares": lambda of: constant(of, PRIOR),
    "nearest": lambda of: constant(of, PRIOR) | {"total": of["nearest"], "score": of["nearest"]},
    "posterior, nearest": lambda of: of | {"total": of["nearest"], "score": of["nearest"]},
}
ABOVE = {
    "exact posterior": {"nll", "brier", "accuracy", "aurc", "auroc"},
    "its uncertainties shuffled": {"nll", "brier", "accuracy"},
    "label leak": {"nll", "brier", "accuracy"},
    "posterior, nearest": {"nll", "brier", "accuracy"},
}
"""Skills of the estimators that know more than a control: of a leak no control tells."""


@pytest.fixture(scope="module")
def host() -> Host:
    return Host.load()


def beyond(estimator: str, host: Host) -> dict[str, tuple[float, float]]:
    """By skill: the mean over runs of what it is worth beyond its best control, and its error."""
    skills = {name: host.scores[name].skill for name in SKILLS}
    own = [Metric(name=name, summary="", kind="predictions", statistic=name) for name in SKILLS]
    metrics = with_controls(own, skills)
    found = {name: ([], []) for name in SKILLS}
    for run in range(RUNS):
        stated = ESTIMATORS[estimator](columns(run))
        scores = predicted_scores(metrics, stated, host)
        for name, (values, others) in found.items():
            sign = 1 if host.scores[name].direction == "max" else -1
            mine = [m for m in metrics if control_of(m) and m.statistic.endswith(f"/{name}")]
            values.append(sign * scored(name, stated, host))
            others.append([sign * scores[metric.statistic] for metric in mine])
    gains = {}
    for name, (values, others) in found.items():
        gain = np.array(values) - np.array(others)[:, np.mean(others, 0).argmax()]
        gains[name] = float(gain.mean()), float(gain.std(ddof=1) / RUNS**0.5)
    return gains


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_is_above_its_controls_where_it_knows_more_than_they_do(estimator, host):
    found = beyond(estimator, host)
    above = {name for name, (mean, error) in found.items() if mean > 3 * error + 1e-9}
    assert above == ABOVE.get(estimator, set()), found
    row = " | ".join(
        f"{mean:.2f}".replace("-", "−").replace("−0.00", "0.00") for mean, _ in found.values()
    )
    assert f"| {estimator} | {row} |" in (__doc__ or ""), row


def test_no_constant_is_more_likely_than_the_shares_of_the_targets(host):
    """Nor any normal than that of their mean and variance, up to float32."""
    of = columns(0)
    value = scored("nll", instead(of, "shares", "prediction"), host)
    for probs in np.random.default_rng(0).dirichlet(np.ones(3), 200):
        assert scored("nll", constant(of, probs), host) > value
    target = np.random.default_rng(1).normal(3, 2, len(of["set"]))
    del of["probs"]
    of |= {"target": target, "mean": target}
    value = scored("nll", instead(of, "shares", "prediction"), host)
    test = target[:POINTS]
    for mean, var in ((test.mean() + 0.1, test.var()), (test.mean(), 1.2 * test.var())):
        other = of | {"mean": np.full(len(target), mean), "total": np.full(len(target), var)}
        assert scored("nll", other, host) > value


@pytest.mark.parametrize("order", ["auroc", "near_msp", "near_entropy"])
def test_a_distance_orders_inputs_by_whatever_question_and_one_number_does_not(order, host):
    of = columns(0)
    told = scored(order, instead(of, "nearest", "detection"), host)
    rows = {name: of["nearest"][of["set"] == name] for name in ("test", "outside")}
    pairs = rows["outside"][:, None] - rows["test"]
    assert told == pytest.approx((pairs > 0).mean() + (pairs == 0).mean() / 2, abs=1e-4)
    assert scored(order, instead(of, "constant", "detection"), host) == 0.5


def test_the_mean_of_shuffled_uncertainties_is_that_of_one_for_all(host):
    """500 orders: the standard error is a twentieth of what one order has."""
    of = columns(0)
    chance = scored("aurc", instead(of, "constant", "order"), host)
    rng = np.random.default_rng(0)
    drawn = [scored("aurc", of | {"total": rng.permutation(of["total"])}, host) for _ in range(500)]
    assert np.mean(drawn) == pytest.approx(chance, abs=4 * np.std(drawn) / 500**0.5)


def test_runs_from_before_distances_have_no_control_of_them(host):
    of = {name: column for name, column in columns(0).items() if name != "nearest"}
    own = Metric(name="auroc", summary="", kind="predictions", statistic="auroc")
    found = predicted_scores(with_controls([own], {"auroc": "detection"}), of, host)
    assert found == {"predictions/constant/auroc": 0.5, "predictions/nearest/auroc": None}
