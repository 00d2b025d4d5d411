"""Performance profiles, sample efficiency, steps to a score, area; frames and subplots."""

import numpy as np
import pandas as pd
import pytest
from rliable import library, metrics
from uqbench_compare.efficiency import by_step, on_one_grid, ranked, steps_to

import uqbench
from uqbench.contract.errors import UqbenchError


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


def test_steps_to_a_score_are_read_off_the_curve_and_its_band():
    table = pd.DataFrame(
        {
            "method": ["a"] * 4 + ["b"] * 4,
            "step": [1, 2, 3, 4] * 2,
            "value": [0.1, 0.4, 0.6, 0.8, 0.1, 0.1, 0.2, 0.3],
            "low": [0.0, 0.3, 0.4, 0.7, 0.0, 0.0, 0.1, 0.2],
            "high": [0.2, 0.5, 0.8, 0.9, 0.2, 0.2, 0.3, 0.6],
        }
    )
    rows = steps_to(table, 0.5).set_index("method")
    assert tuple(rows.loc["a"]) == (3, 2, 4)
    assert tuple(rows.loc["b"]) == (np.inf, 4, np.inf)


def test_nothing_is_interpolated_across_a_gap_or_beyond_a_runs_ends():
    def run(method: str, steps: list[float]) -> pd.DataFrame:
        rows = {"method": method, "task": "t", "seed": "0", "step": steps}
        return pd.DataFrame(rows | {"score": [10.0 * step for step in steps]})

    grid, own = on_one_grid(
        pd.concat([run("a", [1, 2, 3, 4, 9, 10]), run("b", [0, 1.5, 2.5, 6, 8, 10, 11])])
    )
    at = dict(zip(grid, own["a"][0, 0], strict=True))
    assert at[1.5] == 15  # between neighbors
    assert np.isnan([at[0.0], at[6.0], at[8.0], at[11.0]]).all()
    assert (at[4.0], at[9.0]) == (40, 90)
    table = by_step(grid, own, "mean", paired=False)
    assert set(table.query("step == 6")["method"]) == {"b"}
    assert set(table.query("step == 9")["method"]) == {"a", "b"}


def test_steps_of_many_runs_are_thinned_to_fifty():
    generator = np.random.default_rng(1)
    drawn = [np.sort(generator.choice(9999, 400, replace=False)) for _ in range(6)]
    rows = [
        pd.DataFrame({"method": "aaabbb"[k], "task": "t", "seed": k, "step": own, "score": 1.0})
        for k, own in enumerate(drawn)
    ]
    grid, own = on_one_grid(pd.concat(rows))
    assert len(grid) == 50
    assert own["a"].shape == (3, 1, 50)


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
    with pytest.raises(UqbenchError, match=r"no figure of a comparison.*efficiency") as error:
        found.plot("coverage")
    assert "trust" not in str(error.value)
    with pytest.raises(UqbenchError, match="a threshold with the figure steps"):
        found.plot("steps")
