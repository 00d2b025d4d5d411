"""Predictions that somebody has: the registered scores, intervals over points, one validator."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_predictive.scores import registered

import uqbench
from uqbench.contract.errors import UqbenchError
from uqbench.contract.specs import ScoreSpec
from uqbench.uncertainty.stated import scored, stated


def spec(name: str) -> ScoreSpec:
    factory = f"uqbench_predictive.scores.registered:{name}"
    without = {"permutation": "groups of ten"} if name == "joint_nll" else {}
    return ScoreSpec(name=name, version="1", factory=factory, direction="min", without=without)


def classes(seed: int, count: int = 200, sharp: float = 1.0) -> dict[str, np.ndarray]:
    """Calibrated probabilities of three classes where ``sharp`` is 1."""
    generator = np.random.default_rng(seed)
    probs = generator.dirichlet(np.ones(3), count)
    targets = [generator.choice(3, p=p) for p in probs]
    stated = probs**sharp / (probs**sharp).sum(1, keepdims=True)
    return {"probs": stated, "targets": np.array(targets)}


def test_scores_are_those_of_the_formulas(tmp_path):
    given = classes(0)
    rows = uqbench.score(**given)
    said = given["probs"][np.arange(200), given["targets"]]
    assert rows.loc["nll", "value"] == pytest.approx(-np.log(said).mean(), rel=1e-9)
    right = given["probs"].argmax(1) == given["targets"]
    assert rows.loc["accuracy", "value"] == pytest.approx(right.mean(), rel=1e-9)
    assert {"brier", "ece", "aurc", "coverage_90", "joint_nll"} <= {*rows.index}
    assert "crps" not in rows.index
    np.savez(tmp_path / "p.npz", **given)
    assert uqbench.score(tmp_path / "p.npz").equals(rows)


def test_members_say_how_much_is_epistemic_and_a_second_set_is_detected():
    generator = np.random.default_rng(1)
    members = generator.dirichlet([90.0, 5.0, 5.0], (8, 100))
    foreign = generator.dirichlet(np.full(3, 0.5), (8, 100))
    rows = uqbench.score(members=members, targets=np.zeros(100, int), outside_members=foreign)
    assert rows.loc["auroc", "value"] > 0.99
    assert math.isnan(rows.loc["auroc", "calibrated"])  # it reads no targets
    means = generator.normal(size=(8, 100))
    given = stated({"members": means, "var": np.full(100, 9.0), "targets": np.zeros(100)}, "here")
    said = given["test"].predicted
    assert torch.allclose(said.epistemic[0], torch.from_numpy(means.var(0)))
    assert torch.allclose(said.total, said.aleatoric + said.epistemic)


def test_the_interval_of_a_mean_is_students_of_its_groups():
    """Fifty groups of four: left out one at a time, a mean's are as good as kept one at a time."""
    given = stated(classes(2), "here")
    value, low, high, _ = scored(spec("nll"), given)
    losses = -given["test"].predicted.probs[0].gather(1, given["test"].targets[0][:, None]).log()
    generator = torch.Generator().manual_seed(
        uqbench.contract.seeding.derive_seed("points") % 2**63
    )
    labels = torch.randperm(200, generator=generator) % 20
    groups = np.array([float(losses[labels == k].mean()) for k in range(20)])
    half = stats.t.ppf(0.975, 19) * groups.std(ddof=1) / math.sqrt(20)
    assert (value - low, high - value) == pytest.approx((half, half), rel=1e-6)


@pytest.mark.parametrize("name", ["nll", "accuracy", "rmse", "joint_nll"])
def test_intervals_cover_as_often_as_they_say(name):
    """100 sets; below 87 of intervals that cover with 95 % has probability 5e-4 (binomial)."""

    def drawn(seed: int, count: int = 150):
        if name != "rmse":
            return classes(seed, count)
        noise = np.random.default_rng(seed).normal(size=count)
        return {"mean": np.zeros(count), "var": np.ones(count), "targets": noise}

    truth = scored_alone(name, drawn(10**6, 60_000))
    inside = 0
    for seed in range(100):
        _, low, high, _ = scored(spec(name), stated(drawn(seed), "here"))
        inside += low <= truth <= high
    assert inside >= 87


def scored_alone(name: str, arrays: dict[str, np.ndarray]) -> float:
    return float(getattr(registered, name)(stated(arrays, "here")))


def test_a_calibrated_method_of_few_points_has_a_calibration_error():
    """A coin that is stated as such: E|heads/n − ½| of n tosses, binomial."""
    count = 60
    given = {"probs": np.full((count, 2), 0.5), "targets": np.arange(count) % 2}
    # equal probabilities: half of a point is right whatever comes, and the error is zero
    assert (
        scored(spec("ece"), stated(given, "here"))[3]
        != scored(spec("ece"), stated(given, "here"))[3]
    )
    given["probs"] = np.tile([0.6, 0.4], (count, 1))
    heads = np.arange(count + 1)
    expected = (abs(heads / count - 0.6) * stats.binom.pmf(heads, count, 0.6)).sum()
    spread = math.sqrt(0.24 / count * (1 - 2 / math.pi) / 20)
    found = scored(spec("ece"), stated(given, "here"))[3]
    assert abs(found - expected) < 4 * spread
    over = uqbench.score(**classes(3, 500, sharp=3.0))
    assert over.loc["nll", "low"] > over.loc["nll", "calibrated"]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"probs": np.full((4, 3), 0.5), "targets": [0] * 4}, r"sum to one .*1\.5 in lane 0 at"),
        (
            {"probs": [[0.5, 0.5]] * 4, "targets": [0, 1, 2, 0]},
            "no class .* 2 in lane 0 at point 2",
        ),
        ({"probs": [[0.5, 0.5]] * 4, "targets": [0, 1]}, r"shape \(1, 2\); expected .*\(1, 4\)"),
        ({"mean": [0.0], "var": [-1.0], "targets": [0.0]}, "total is negative"),
        ({"mean": [0.0], "targets": [0.0]}, "expected probs, members, mean and var, or interval"),
        ({"probs": [[0.5, 0.5]] * 4}, r"expected targets \[M\]"),
        (
            {"probs": [[0.5, 0.5]] * 4, "targets": [0.5, 1, 0, 0]},
            "no class .* 0.5 in lane 0 at point 0",
        ),
        ({"probs": [[0.5, 0.5]] * 4, "targets": [0, 1, 0, 0]}, "at least 20 points"),
        ({"probs": [["a", "b"]] * 4, "targets": [0, 1, 0, 0]}, "expected numbers in probs"),
        ({"logits": [[0.5, 0.5]] * 4, "targets": [0] * 4}, "no array of .* 'logits'"),
    ],
)
def test_what_a_run_may_not_state_is_not_scored(arrays, said):
    with pytest.raises(UqbenchError, match=said):
        uqbench.score(**{name: np.array(value) for name, value in arrays.items()})


def test_no_pickle_in_a_file_is_opened(tmp_path):
    np.savez(tmp_path / "p.npz", probs=np.array([None], object), targets=[0])
    with pytest.raises(UqbenchError, match="damaged"):
        uqbench.score(tmp_path / "p.npz")
