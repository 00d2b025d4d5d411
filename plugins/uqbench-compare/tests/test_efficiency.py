"""Performance profiles, sample efficiency, steps to a score, area; frames and subplots."""

import numpy as np
import pandas as pd
import pytest
from rliable import library, metrics
from uqbench_compare.efficiency import by_step, on_one_grid, ranked, steps_to

import uqbench
from uqbench.errors import UqbenchError


def curves(seed: int = 0, runs: int = 8, tasks: int = 3, frames: int = 12) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    rise = 1 - np.exp(-np.arange(1, frames + 1) / 4)
    shape = (runs, tasks, frames)
    return {
        "a": rise + 0.1 * generator.normal(size=shape),
        "b": 0.5 * rise + 0.1 * generator.normal(size=shape),
    }


@pytest.fixture(scope="module")
def found() -> uqbench.Compared:
    return uqbench.compare(curves())


def test_the_profile_is_rliables(found):
    thresholds = np.linspace(0, 1.2, 7)
    scores = found.board.matrices
    theirs, _ = library.create_performance_profile(scores, thresholds, reps=2)
    table = found.profile(thresholds).set_index(["method", "threshold"])["share"].unstack()
    for method, own in theirs.items():
        assert np.allclose(table.loc[method], own, atol=1e-12)
    given = found.profile(thresholds)
    assert (given["low"] <= given["share"]).all()
    assert (given["share"] <= given["high"]).all()
    assert len(found.profile()) == 2 * 50


def test_the_curve_is_rliables_iqm_of_each_step(found):
    table = found.efficiency.set_index(["method", "step"])["value"]
    for method, own in curves().items():
        for k in range(12):
            assert table[method, k + 1] == pytest.approx(
                metrics.aggregate_iqm(own[..., k]), abs=1e-9
            )


def test_rank_sets_of_a_step_are_those_of_its_board(found):
    own = {name: of[..., 6] for name, of in curves().items()}
    board = uqbench.compare(own).ranks.set_index("method")
    step = found.efficiency.query("step == 7").set_index("method")
    assert step[["rank", "rank_low", "rank_high"]].equals(board[["rank", "rank_low", "rank_high"]])
    assert list(step["rank"]) == [1, 2]


def test_the_area_is_the_mean_height_of_the_trapezoids(found):
    table = found.area.set_index("method")
    for method, own in curves().items():
        heights = np.trapezoid(own, axis=2) / 11
        assert table.loc[method, "value"] == pytest.approx(metrics.aggregate_iqm(heights), abs=1e-9)
        assert table.loc[method, "low"] < table.loc[method, "value"] < table.loc[method, "high"]


def runs(method: str, steps, scores, count: int = 2) -> pd.DataFrame:
    rows = {"method": method, "task": "t", "step": steps, "score": scores}
    return pd.concat([pd.DataFrame(rows | {"seed": seed}) for seed in range(count)])


def test_steps_to_a_score_are_the_first_of_the_curve_and_of_the_ends_of_its_band():
    """Runs c, c ± .1 have a 95 % interval of c ± 4.3027 · .1/√3, by t of two degrees of freedom."""
    steps = np.arange(1, 41)
    both = [runs("a", steps, steps / 10 + off, 1).assign(seed=off) for off in (-0.1, 0, 0.1)]
    grid = on_one_grid(pd.concat(both))
    rows = steps_to(grid, 2.0, "mean", paired=False)
    # high: s/10 + .2484 ≥ 2 from 18 on; low: s/10 − .2484 ≥ 2 from 23 on
    assert rows.values.tolist() == [["a", 20, 18, 23]]
    assert steps_to(grid, 4.1, "mean", paired=False).values.tolist() == [["a", np.inf, 39, np.inf]]


def test_equal_runs_have_no_band_and_so_no_ends():
    rows = uqbench.compare(runs("a", [1, 2, 3], [0.1, 0.5, 0.9])).steps_to(0.5)
    assert rows["steps"].item() == 2
    assert rows[["low", "high"]].isna().all(axis=None)


def test_a_step_is_found_among_all_not_among_the_fifty_of_a_curve():
    """Linear to 1 and to .9 in a thousand steps, and a spike of three steps."""
    steps = np.arange(1, 1001)
    spike = np.where((steps >= 334) & (steps <= 336), 1.0, 0.0)
    known = [runs("a", steps, steps / 1000), runs("b", steps, 0.9 * steps / 1000)]
    found = uqbench.compare(pd.concat([*known, runs("c", steps, spike)])).steps_to(0.5)
    assert dict(zip(found["method"], found["steps"], strict=True)) == {"a": 500, "b": 556, "c": 334}


def test_an_area_spans_no_gap_and_steps_may_be_even_in_their_logarithm():
    gap = np.array([1, 2, 3, 4, 9, 10])
    area = uqbench.compare(runs("a", gap, gap / 10)).area["value"].item()
    assert area == pytest.approx((3 * 0.25 + 0.95) / 4)  # of 1 to 4 and 9 to 10
    decades = 10.0 ** np.arange(6)
    area = uqbench.compare(runs("a", decades, np.arange(6) / 5)).area["value"].item()
    assert area == pytest.approx(np.trapezoid(np.arange(6) / 5, decades) / (decades[-1] - 1))


def test_tasks_that_share_no_step_have_no_curve_and_a_threshold_is_a_number():
    one = runs("a", [1, 2, 3], [0.1, 0.5, 0.9])
    both = uqbench.compare(pd.concat([one, one.assign(task="u", step=one["step"] * 100)]))
    with pytest.raises(UqbenchError, match=r"no step at which all runs .* t to 3, u to 300"):
        _ = both.efficiency
    for wrong in ("0.5", float("nan"), None):
        with pytest.raises(UqbenchError, match="expected a score, a finite number"):
            uqbench.compare(one).steps_to(wrong)
    with pytest.raises(UqbenchError, match="expected a score"):
        uqbench.compare(one).profile([0.5, float("inf")])


def test_nothing_is_interpolated_across_a_gap_or_beyond_a_runs_ends():
    def run(method: str, steps: list[float]) -> pd.DataFrame:
        rows = {"method": method, "task": "t", "seed": "0", "step": steps}
        return pd.DataFrame(rows | {"score": [10.0 * step for step in steps]})

    grid = on_one_grid(
        pd.concat([run("a", [1, 2, 3, 4, 9, 10]), run("b", [0, 1.5, 2.5, 6, 8, 10, 11])])
    )
    steps, own, _ = grid
    at = dict(zip(steps, own["a"][0, 0], strict=True))
    assert at[1.5] == 15  # between neighbors
    assert np.isnan([at[0.0], at[6.0], at[8.0], at[11.0]]).all()
    assert (at[4.0], at[9.0]) == (40, 90)
    table = by_step(grid, "mean", paired=False)
    assert set(table.query("step == 6")["method"]) == {"b"}
    assert set(table.query("step == 9")["method"]) == {"a", "b"}


def test_steps_of_many_runs_are_thinned_to_fifty():
    generator = np.random.default_rng(1)
    drawn = [np.sort(generator.choice(9999, 400, replace=False)) for _ in range(6)]
    rows = [
        pd.DataFrame({"method": "aaabbb"[k], "task": "t", "seed": k, "step": own, "score": 1.0})
        for k, own in enumerate(drawn)
    ]
    grid = on_one_grid(pd.concat(rows))
    assert len(grid.steps) == 50
    assert grid.at["a"].shape == (3, 1, 50)


def test_constants_and_the_direction_hold_for_curves_too():
    raw = {name: 10 + 40 * of for name, of in curves().items()}
    tasks = [task.name for task in uqbench.compare(raw).board.plan.suite.tasks]
    scaled = uqbench.compare(raw, constants=dict.fromkeys(tasks, (10, 50)))
    plain = uqbench.compare(curves())
    assert np.allclose(scaled.efficiency["value"], plain.efficiency["value"])
    assert "optimality_gap" in set(scaled.intervals["statistic"])
    assert "optimality_gap" not in set(plain.intervals["statistic"])
    costs = uqbench.compare({name: -of for name, of in curves().items()}, better="lower")
    assert np.allclose(costs.efficiency["value"], plain.efficiency["value"])
    seeds = uqbench.compare(curves(), units="seed")
    means = {name: of.mean(1, keepdims=True) for name, of in curves().items()}
    expected = ranked({name: of[..., 0] for name, of in means.items()}, "mean", paired=False)
    first = seeds.efficiency.query("step == 1").reset_index(drop=True)
    assert np.allclose(first[["value", "low", "high"]], expected[["value", "low", "high"]])


def test_the_same_curves_in_every_form_are_the_same_to_the_bit(tmp_path):
    own = curves(3, runs=4, tasks=3, frames=6)
    rows = [
        (m, f"task-{t + 1}", str(s), k + 1, of[s, t, k])
        for m, of in own.items() for s, t, k in np.ndindex(of.shape)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["method", "task", "seed", "step", "score"])
    wide = frame.pivot(index=["method", "seed", "step"], columns="task", values="score")
    np.savez(tmp_path / "all.npz", **own)
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame.to_parquet(tmp_path / "all.parquet")
    frame[::-1].to_feather(tmp_path / "all.feather")
    forms = {
        "rows": uqbench.compare(frame.sample(frac=1, random_state=0).sort_values("method")),
        "levels": uqbench.compare(frame.set_index(["method", "task", "seed", "step"])["score"]),
        "wide": uqbench.compare(wide.reset_index(), columns={"task": "*"}),
        **{
            ending: uqbench.compare(tmp_path / f"all.{ending}")
            for ending in ("npz", "csv", "parquet", "feather")
        },
    }
    first = uqbench.compare(own)
    for name, found in forms.items():
        for table, keys in (("efficiency", ["method", "step"]), ("area", ["method"])):
            one, other = (
                getattr(of, table).sort_values(keys, ignore_index=True) for of in (first, found)
            )
            pd.testing.assert_frame_equal(one, other, check_exact=True, obj=name)
        assert found.profile()["share"].sum() == first.profile()["share"].sum()


def test_a_method_that_lacks_runs_has_no_curve():
    own = curves()
    frame = pd.concat(
        pd.DataFrame({"method": m, "task": t, "seed": s, "step": range(1, 13), "score": of[s, t]})
        for m, of in own.items() for t in range(3) for s in range(8)
    )  # fmt: skip
    died = (frame["method"] == "b") & (frame["seed"] == 0) & (frame["task"] == 1)
    kept = frame[~(died & (frame["step"] > 4))]
    assert set(uqbench.compare(kept).efficiency["method"]) == {"a"}


def test_scores_without_steps_say_what_is_missing():
    found = uqbench.compare({"a": np.random.default_rng(0).normal(size=(5, 3))})
    with pytest.raises(UqbenchError, match="expected scores by step"):
        _ = found.efficiency
    assert len(found.profile([0.0])) == 1


def test_the_mean_ranks_where_there_are_fewer_than_three_tasks():
    assert uqbench.compare({"a": np.eye(5)[:, :2]}).board.ranking == "mean"
    assert uqbench.compare({"a": np.arange(15.0).reshape(5, 3)}).board.ranking == "iqm"
    assert uqbench.compare({"a": np.eye(5)[:, :2]}, by="iqm").board.ranking == "iqm"


@pytest.mark.parametrize("what", ["intervals", "pairs", "profile", "efficiency", "area", "steps"])
def test_each_figure_goes_into_a_subplot(found, what):
    backend = pytest.importorskip("matplotlib")
    backend.use("Agg")
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    threshold = 0.4 if what == "steps" else None
    assert found.plot(what, ax=ax, threshold=threshold) is ax
    assert ax.get_xlabel()
    assert len(ax.lines)
    if what == "efficiency":
        own = found.efficiency.query("method == 'a'")
        assert np.allclose(ax.lines[0].get_ydata(), own["value"])


@pytest.mark.parametrize("what", ["intervals", "profile", "efficiency", "area", "steps"])
def test_each_figure_has_its_frame_and_is_drawn(found, what):
    figure = found.plot(what, threshold=0.4 if what == "steps" else None)
    assert len(figure.data)
    assert figure._repr_svg_().startswith("<svg")


def test_a_comparison_names_the_figures_that_it_has(found):
    with pytest.raises(UqbenchError, match=r"comparison has no figure.*efficiency") as error:
        found.plot("coverage")
    assert "trust" not in str(error.value)
    with pytest.raises(UqbenchError, match="a threshold with the figure steps"):
        found.plot("steps")


def test_a_rank_set_is_of_the_ranks_that_runs_leave_open_and_a_profile_of_runs_above():
    runs = np.arange(4.0)[:, None]
    found = uqbench.compare({"a": runs + 9, "b": runs, "c": runs + 0.5}, by="mean")
    sets = found.ranks.set_index("method")[["rank", "rank_low", "rank_high", "may_be_first"]]
    assert sets.loc["a"].tolist() == [1, 1, 1, True]
    assert sets.loc["c"].tolist() == [2, 2, 3, False]
    above = found.profile([1.0]).set_index("method").loc["b"]
    assert above["low"] < above["share"] == 2 / 4 < above["high"]
