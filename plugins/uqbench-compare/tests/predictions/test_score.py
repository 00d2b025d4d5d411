"""Predictions that somebody has: the registered scores, beside stored rows too; one validator."""

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from uqbench_compare.predictions import beside, registered
from uqbench_compare.predictions.beside import _test_targets
from uqbench_compare.predictions.formats import Score
from uqbench_compare.predictions.score import scored
from uqbench_compare.predictions.stated import generator_of, stated

import uqbench
from uqbench.boards import StoredBoard, from_csv
from uqbench.errors import UqbenchError
from uqbench.registry.load_host import load_host
from uqbench.results import Folder
from uqbench.suites import Selection


def spec(name: str) -> Score:
    return Score(getattr(registered, name), "min", name, joint=name == "joint_nll")


def classes(seed: int, count: int = 200, sharp: float = 1.0) -> dict[str, np.ndarray]:
    """Calibrated probabilities of three classes where ``sharp`` is 1."""
    generator = np.random.default_rng(seed)
    probs = generator.dirichlet(np.ones(3), count)
    targets = [generator.choice(3, p=p) for p in probs]
    stated = probs**sharp / (probs**sharp).sum(1, keepdims=True)
    return {"probs": stated, "targets": np.array(targets)}


def test_rows_are_the_scores_that_apply_and_of_others_what_they_need(tmp_path):
    given = classes(0)
    rows = uqbench.score(**given)
    assert {"nll", "accuracy", "brier", "ece", "aurc", "coverage_90", "ece_width"} <= {*rows.index}
    assert "crps" not in rows.index
    assert rows.attrs["absent"]["crps"] == "needs a mean with a variance, members, or samples"
    assert rows.attrs["absent"]["joint_nll"].startswith("needs members, without which")
    np.savez(tmp_path / "p.npz", **given)
    assert uqbench.score(tmp_path / "p.npz").equals(rows)


CHANGES = [
    (lambda probs, targets: (probs, targets), None),
    (lambda probs, targets: (np.full_like(probs, 1 / 3), targets), None),
    (lambda probs, targets: (np.tile(probs, (2, 1)), np.tile(targets, 2)), "400 points"),
    (lambda probs, targets: (probs[::-1], targets), "in the order of the targets"),
    (lambda probs, targets: (probs[:, [1, 2, 0]], targets), "columns of classes in theirs"),
]


@pytest.mark.parametrize(("change", "note"), CHANGES)
def test_a_copied_test_set_and_another_order_are_told(change, note):
    given = classes(0)
    probs, targets = change(given["probs"], given["targets"])
    notes = uqbench.score(probs=probs, targets=targets).attrs["notes"]
    assert len(notes) == (note is not None)
    assert (note or "") in "".join(notes)


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
    assert np.allclose(said.epistemic[0], means.var(0))
    assert np.allclose(said.total, said.aleatoric + said.epistemic)


def test_the_interval_of_a_mean_is_students_of_its_groups():
    """Fifty groups of four: left out one at a time, a mean's are as good as kept one at a time."""
    given = stated(classes(2), "here")
    value, low, high, _ = scored(spec("nll"), given)
    one = given["test"]
    losses = -np.log(registered.at(one.predicted.probs[0], one.targets[0]))
    labels = generator_of("points").permutation(200) % 20
    groups = np.array([losses[labels == k].mean() for k in range(20)])
    half = stats.t.ppf(0.975, 19) * groups.std(ddof=1) / math.sqrt(20)
    assert (value - low, high - value) == pytest.approx((half, half), rel=1e-6)


@pytest.mark.parametrize("name", ["nll", "accuracy", "rmse", "joint_nll"])
def test_intervals_cover_as_often_as_they_say(name):
    """100 sets; below 87 of intervals that cover with 95 % has probability 5e-4 (binomial)."""

    def drawn(seed: int, count: int = 150):
        noise = np.random.default_rng(seed).normal(size=count)
        values = {"mean": np.zeros(count), "var": np.ones(count), "targets": noise}
        return stated(values if name == "rmse" else classes(seed, count), "here")

    truth, inside = float(getattr(registered, name)(drawn(10**6, 60_000))), 0
    for seed in range(100):
        _, low, high, _ = scored(spec(name), drawn(seed))
        inside += low <= truth <= high
    assert inside >= 87


def test_a_calibrated_method_of_few_points_has_a_calibration_error():
    """A coin that is stated as such: E|heads/n − ½| of n tosses, binomial."""
    count = 60
    halves, coin = np.full((count, 2), 0.5), np.tile([0.6, 0.4], (count, 1))
    error, found = (
        scored(spec("ece"), stated({"probs": p, "targets": np.arange(count) % 2}, "here"))[3]
        for p in (halves, coin)
    )
    assert math.isnan(error)  # half of a point is right whatever comes, and the error is zero
    heads = np.arange(count + 1)
    expected = (abs(heads / count - 0.6) * stats.binom.pmf(heads, count, 0.6)).sum()
    spread = math.sqrt(0.24 / count * (1 - 2 / math.pi) / 20)
    assert abs(found - expected) < 4 * spread
    over = uqbench.score(**classes(3, 500, sharp=3.0))
    assert over.loc["nll", "low"] > over.loc["nll", "calibrated"]


HALVES, ZEROS = [[0.5, 0.5]] * 40, [0] * 40
MEANS = [0.0] * 40


INVALID = [
    ({"probs": np.full((40, 3), 0.5), "targets": ZEROS}, r"sum to one .*1\.5 at point 0"),
    ({"probs": HALVES, "targets": [0, 1, 2, *ZEROS[3:]]}, "no class .* 2 at point 2"),
    ({"probs": HALVES, "targets": [0, 1]}, r"as many points .* probs \(40, 2\)"),
    ({"probs": np.full((2, 40), 0.5), "targets": ZEROS}, r"as many points .* probs \(2, 40\)"),
    ({"mean": MEANS, "var": [-1.0] * 40, "targets": MEANS}, "total is negative"),
    ({"mean": MEANS, "std": [-1.0] * 40, "targets": MEANS}, "std is negative"),
    ({"mean": MEANS, "std": MEANS, "var": MEANS, "targets": MEANS}, "one of std, var"),
    ({"probs": HALVES, "logits": HALVES, "targets": ZEROS}, "one of logits, probs"),
    ({"probs": HALVES, "std": MEANS, "targets": ZEROS}, "std beside probabilities"),
    ({"classes": HALVES, "targets": ZEROS}, "expected probs, logits or members"),
    ({"targets": ZEROS}, "say no law.*expected probs, logits"),
    ({"probs": HALVES}, r"expected targets \[M\]"),
    ({"probs": HALVES, "targets": [0.5, *ZEROS[1:]]}, "no class .* 0.5 at point 0"),
    ({"probs": HALVES, "targets": np.ones((40, 2))}, "no class .* 2 at point 0"),
    ({"probs": HALVES[:4], "targets": ZEROS[:4]}, "at least 20 points .* got 4"),
    ({"probs": [["a", "b"]] * 4, "targets": ZEROS[:4]}, "expected numbers in probs"),
    ({"logit": HALVES, "targets": ZEROS}, "no array 'logit'. Did you mean 'logits'"),
    ({"quantiles": HALVES, "targets": MEANS}, "quantiles and levels are not both there"),
    ({"quantiles": HALVES, "levels": [0.5, 1.5], "targets": MEANS}, "between 0 and 1"),
    ({"quantiles": [[1, 0]] * 40, "levels": [0.1, 0.9], "targets": MEANS}, "fall .* point 0"),
    ({"interval": np.zeros((40, 3)), "targets": MEANS}, r"interval is of .* \[M, 2\]"),
    ({"members": np.zeros((3, 40)), "var": [-1.0] * 40, "targets": MEANS}, "negative"),
    ({"probs": np.log(HALVES), "targets": ZEROS}, "probs are negative .* -0.69.* at point 0"),
    ({"probs": [[np.nan, 1.0]] * 40, "targets": ZEROS}, "probs are not finite .* at point 0"),
    ({"members": [[[1.5, -0.5]] * 40] * 2, "targets": ZEROS}, "members are negative|probs are"),
    ({"logits": HALVES, "targets": ZEROS}, "logits are probabilities.*these as probs"),
    ({"logits": [[np.inf, 0.0]] * 40, "targets": ZEROS}, "logits are no numbers .* inf"),
    ({"quantiles": HALVES, "levels": [0.5, 0.5], "targets": MEANS}, "one of them twice"),
    ({"mean": [1e200] * 40, "std": [1e200] * 40, "targets": MEANS}, "not finite"),
    ({"probs": HALVES, "outside_probs": [[0.2, 0.3, 0.5]] * 40}, "as many classes in each set"),
]


@pytest.mark.parametrize(("arrays", "said"), INVALID)
def test_what_a_run_may_not_state_is_not_scored(arrays, said):
    with pytest.raises(UqbenchError, match=said):
        uqbench.score(**{name: np.array(value) for name, value in arrays.items()})


def drawn_values(seed: int = 3, count: int = 60) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    mean = generator.normal(size=count)
    return {"mean": mean, "targets": mean + generator.normal(size=count)}


def test_formats_that_say_the_same_have_the_same_scores():
    probs, targets = classes(4, 60)["probs"], classes(4, 60)["targets"]
    rows = uqbench.score(probs=probs, targets=targets)
    for given in (
        {"logits": np.log(probs) + 3.0, "targets": targets},
        {"probs": torch.from_numpy(probs), "targets": np.eye(3)[targets]},
        {"probs": probs.tolist(), "targets": [[t] for t in targets]},
    ):
        again = uqbench.score(**given)
        assert list(again.index) == list(rows.index)
        assert np.allclose(again["value"], rows["value"], rtol=1e-12)
    two = {"targets": (targets == 0).astype(int)}
    both = uqbench.score(probs=np.stack([1 - probs[:, 0], probs[:, 0]], 1), **two)
    for given in ({"probs": probs[:, 0]}, {"logits": np.log(probs[:, 0] / (1 - probs[:, 0]))}):
        assert np.allclose(uqbench.score(**given, **two)["value"], both["value"], rtol=1e-9)
    values, ones = drawn_values(), np.ones(60)
    normal = uqbench.score(**values, var=ones)
    assert uqbench.score(**values, std=ones[:, None]).equals(normal)
    alike = np.tile(values["mean"], (3, 1))
    noisy = uqbench.score(members=alike, noise=ones, targets=values["targets"])
    assert np.allclose(noisy["value"].reindex(normal.index), normal["value"])
    assert noisy.loc["joint_nll", "value"] == pytest.approx(normal.loc["nll", "value"])


def test_what_a_format_cannot_say_is_absent_with_its_reason():
    values, generator = drawn_values(), np.random.default_rng(5)
    means = values["mean"] + 0.1 * generator.normal(size=(4, 60))
    rows = uqbench.score(members=means, targets=values["targets"])
    assert {*rows.index} == {"rmse", "aurc", "crps"}
    for name in ("nll", "joint_nll", "coverage_90"):
        assert "noise of targets around the members" in rows.attrs["absent"][name]
    drawn = values["mean"] + generator.normal(size=(30, 60))
    rows = uqbench.score(samples=drawn, targets=values["targets"])
    assert rows.attrs["absent"]["nll"] == "needs a density, which samples have not"
    assert {"crps", "quantile_loss", "coverage_90", "interval_score_90", "rmse"} <= {*rows.index}
    rows = uqbench.score(**values, var=np.where(np.arange(60) == 7, 0.0, 1.0))
    assert rows.attrs["absent"]["nll"] == "needs a variance above 0 at all points; 1 have none"
    rows = uqbench.score(**values)
    assert list(rows.index) == ["rmse"]
    levels, at = [0.05, 0.5, 0.95], stats.norm.ppf([0.05, 0.5, 0.95])
    given = {"quantiles": values["mean"][:, None] + at, "targets": values["targets"]}
    rows = uqbench.score(**given, levels=levels)
    assert {*rows.index} == {"quantile_loss", "coverage_90", "width_90", "interval_score_90"}
    given["quantiles"] = given["quantiles"][:, ::-1]
    assert uqbench.score(**given, levels=levels[::-1]).equals(rows)
    rows = uqbench.score(score=drawn[0], outside_score=drawn[1] + 2)
    assert list(rows.index) == ["auroc", "aupr", "fpr95"]
    with pytest.raises(UqbenchError, match="at least 20 points of the set 'outside'"):
        uqbench.score(score=drawn[0], outside_score=[1.0])


def test_intervals_end_where_the_scores_range_does():
    for seed in range(3):
        rows = uqbench.score(**classes(seed, 60))
        assert rows.loc["ece", "low"] >= 0
        inside = rows.loc[["accuracy", "ece", "ece_width", "coverage_90"], ["low", "high"]]
        assert inside.stack().dropna().between(0, 1).all()


@pytest.mark.parametrize(("given", "bins"), [({"bins": 5}, 5), ({}, 15)])
def test_bins_are_chosen_and_named(given, bins):
    rows = uqbench.score(**classes(6, 60), **given)
    assert f"{bins} bins of equal mass" in rows.loc["ece", "summary"]
    assert f"{bins} bins of equal width" in rows.loc["ece_width", "summary"]
    with pytest.raises(UqbenchError, match="bins=0: expected a whole number"):
        uqbench.score(**classes(6, 60), bins=0)


def test_the_best_constant_stands_beside():
    given = classes(7, 60)
    rows, shares = uqbench.score(**given), np.bincount(given["targets"]) / 60
    entropy = -(shares * np.log(shares)).sum()
    assert rows.loc["nll", "climatology"] == pytest.approx(entropy, rel=1e-9)
    values = drawn_values()
    rows = uqbench.score(**values, std=np.ones(60))
    assert rows.loc["rmse", "climatology"] == pytest.approx(values["targets"].std(), rel=1e-9)


def test_labels_that_say_another_order_than_places_do_are_refused():
    values, given = drawn_values(), classes(9, 60)
    table = {name: pd.Series(of) for name, of in values.items()} | {"std": np.ones(60)}
    assert uqbench.score(**table).equals(uqbench.score(**values, std=np.ones(60)))
    table["mean"] = table["mean"][::-1]
    with pytest.raises(UqbenchError, match="the index of mean is not that of targets"):
        uqbench.score(**table)
    probs = pd.DataFrame(given["probs"])
    assert uqbench.score(probs=probs, targets=given["targets"]).equals(uqbench.score(**given))
    with pytest.raises(UqbenchError, match=r"columns of probs are \[2, 0, 1\]"):
        uqbench.score(probs=probs[[2, 0, 1]], targets=given["targets"])
    draws = np.random.default_rng(0).normal(size=(60, 60))  # as many as points: rows are draws
    labelled = pd.Series(values["targets"], index=[f"point {k}" for k in range(60)])
    for name, one in (("samples", {}), ("members", {"noise": np.ones(60)})):
        found = uqbench.score(**{name: pd.DataFrame(draws)}, **one, targets=labelled)
        assert found.equals(uqbench.score(**{name: draws}, **one, targets=values["targets"]))
    masked = np.ma.masked_array(values["mean"], np.arange(60) == 3)
    with pytest.raises(UqbenchError, match="numbers in mean; got masked entries"):
        uqbench.score(mean=masked, std=np.ones(60), targets=values["targets"])


def test_arrays_that_may_be_read_in_two_ways_are_told():
    values, generator = drawn_values(), np.random.default_rng(0)
    square = generator.normal(size=(60, 60))
    [note] = uqbench.score(samples=square, targets=values["targets"]).attrs["notes"][:1]
    assert note.startswith("samples are [60, 60]: read with the points along the second")
    [note] = uqbench.score(mean=values["mean"], targets=[0, 1, 2] * 20).attrs["notes"][:1]
    assert note.startswith("targets are 3 whole numbers, scored as values")
    inside, outside = generator.normal(size=60), generator.normal(3, 1, 60)
    [note] = uqbench.score(score=-inside, outside_score=-outside).attrs["notes"]
    assert note.startswith("auroc is below one half")
    assert uqbench.score(score=inside, outside_score=outside).attrs["notes"] == []


def test_a_probability_of_zero_is_counted_and_said():
    given = classes(8, 60)
    given["probs"][0] = np.roll([1.0, 0.0, 0.0], given["targets"][0] + 1)
    assert uqbench.score(**given).attrs["notes"][0].startswith("1 targets have a probability below")


def test_no_pickle_in_a_file_is_opened(tmp_path):
    np.savez(tmp_path / "p.npz", probs=np.array([None], object), targets=[0])
    with pytest.raises(UqbenchError, match="damaged"):
        uqbench.score(tmp_path / "p.npz")


@pytest.mark.parametrize("name", ["p.npy", "p.npz"])
def test_a_file_of_one_array_is_refused_with_what_it_is_and_what_to_write(name, tmp_path):
    with (tmp_path / name).open("wb") as file:
        np.save(file, np.zeros((3, 2)))
    with pytest.raises(UqbenchError) as error:
        uqbench.score(tmp_path / name)
    assert str(error.value) == (
        f"{tmp_path / name} is one array of shape [3, 2], without a name; expected an .npz of "
        "named arrays: np.savez('p.npz', probs=..., targets=...)."
    )


PLUGINS = Path(__file__).parents[3]
BOARD = PLUGINS.parent / "leaderboards" / "regression" / "paper"
sys.path.insert(0, str(PLUGINS / "uqbench-boards" / "src"))  # as if that package were installed


@pytest.fixture(scope="module")
def known() -> np.ndarray:
    """The test targets of diabetes, data set 3."""
    host = load_host()
    plan = Selection("regression", "paper").plan(host, "cpu", print)
    cell = next(cell for cell in plan.cells if cell.task.name == "diabetes")
    [(_, targets)] = _test_targets(cell, [run for run in cell.runs if run.seed == 3], host)
    return targets


def stored(method: str) -> dict[str, float]:
    cells = from_csv(StoredBoard.read(Folder(BOARD)).checked("scores.csv").decode(), "here").cells
    [one] = [
        one for cell in cells for one in cell
        if (one.task, one.method, one.seed) == ("diabetes", method, 3)]  # fmt: skip
    return one.values


def test_the_rows_of_the_same_data_set_stand_beside_the_best_first(known):
    given = {"mean": np.full(len(known), known.mean()), "std": np.full(len(known), known.std())}
    rows = uqbench.score(**given, targets=known, beside="regression")
    nll = rows.loc["nll", "value"]
    assert list(nll) == sorted(nll)
    assert {"yours", "climatology", "deep-ensemble"} <= {*nll.index}
    assert nll["deep-ensemble"] == stored("deep-ensemble")["nll"]
    assert nll["yours"] == pytest.approx(nll["climatology"], rel=1e-9)
    assert nll["climatology"] == pytest.approx(stored("deep-ensemble")["nll_shares"], rel=1e-6)
    assert "regression · paper: task diabetes, data set 3" in rows.attrs["notes"][-1]
    alone = uqbench.score(**given, targets=known)
    assert rows.loc[("rmse", "yours"), "low"] == alone.loc["rmse", "low"]
    assert rows.attrs["absent"] == alone.attrs["absent"]
    assert uqbench.score(**given, targets=known, beside=BOARD).equals(rows)


def test_other_targets_or_another_order_have_no_rows(known):
    given = {"mean": known, "std": np.ones(len(known))}
    with pytest.raises(UqbenchError, match=r"no task of regression .* diabetes \d+"):
        uqbench.score(**given, targets=known[::-1], beside="regression")
    with pytest.raises(UqbenchError, match=r"no stored board of 'regresion'.*regression"):
        uqbench.score(**given, targets=known, beside="regresion")
    with pytest.raises(UqbenchError, match="expected targets, to find the task"):
        uqbench.score(score=known, outside_score=known, beside="regression")


def test_where_no_data_can_be_read_the_error_says_why(known, monkeypatch):
    def offline(cell, runs, host):
        raise OSError(f"no network for {cell.task.name}")

    monkeypatch.setattr(beside, "_test_targets", offline)
    with pytest.raises(UqbenchError, match=r"diabetes cannot be read: OSError: no network for dia"):
        uqbench.score(mean=known, std=np.ones(len(known)), targets=known, beside="regression")
