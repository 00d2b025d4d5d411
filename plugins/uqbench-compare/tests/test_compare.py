"""Scores that somebody has: parity with rliable, files of every kind, boards, learning curves."""

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import toy_plugin
from rliable import library, metrics
from rliable import metrics as rliable
from score_forms import write_monitor
from uqbench_compare.efficiency import by_step, on_one_grid, ranked, steps_to

import uqbench
from uqbench.boards import StoredBoard
from uqbench.errors import UqbenchError

RUNS = {"a": np.ones((3, 2))}


def drawn(seed: int, runs: int = 12, tasks: int = 5, shift: float = 0.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.gamma(2.0, 0.3, (runs, tasks)) * generator.uniform(0.2, 2, tasks) + shift


def table(columns: str, rows: Iterable[Sequence[object]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


@pytest.fixture
def scores() -> dict[str, np.ndarray]:
    return {"a": drawn(2, shift=1.0), "b": drawn(1), "c": drawn(3, runs=7)}


def value(found: uqbench.Compared, method: str, statistic: str) -> float:
    table = found.intervals.set_index(["method", "statistic"])
    return float(table.loc[(method, statistic), "value"])


def test_probabilities_of_improvement_are_those_of_rliable(scores):
    pairs = uqbench.compare(scores).pairs
    assert len(pairs) == 3
    for pair in pairs.itertuples():
        expected = rliable.probability_of_improvement(scores[pair.first], scores[pair.second])
        assert pair.improvement == pytest.approx(expected, abs=1e-5)


def test_ranks_are_sets_and_printing_gives_one_paragraph(scores):
    found = uqbench.compare(scores)
    assert next(iter(found.ranks["method"])) == "a"
    assert tuple(found.ranks.iloc[0][["rank_low", "rank_high"]]) == (1, 1)
    text = repr(found)
    assert "\n" not in text
    assert text.startswith("a (")
    assert found.sentence("a", "c").startswith("a is significantly better than c")
    assert "<table" in found._repr_html_()


def test_a_frame_with_constants_is_normalized_by_them(scores):
    rows = [
        (method, f"t{task}", run, 10 + 40 * x, 10.0, 50.0)
        for method, matrix in scores.items()
        for (run, task), x in np.ndenumerate(matrix)
    ]
    frame = table("Algo env_id seed return random human", rows)
    found = uqbench.compare(frame)
    for method in scores:
        expected = rliable.aggregate_iqm(scores[method])
        assert value(found, method, "iqm") == pytest.approx(expected, abs=1e-12)
    given = frame.drop(columns=["random", "human"])
    again = uqbench.compare(given, constants={f"t{task}": (10, 50) for task in range(5)})
    assert value(again, "a", "iqm") == pytest.approx(value(found, "a", "iqm"), abs=1e-12)
    with pytest.raises(UqbenchError, match="t4: expected two scores that differ"):
        uqbench.compare(given, constants={f"t{task}": (10, 50) for task in range(4)})


def test_a_method_that_lacks_runs_is_shown_and_not_ranked(scores):
    ragged = {name: {f"t{t}": m[:, t] for t in range(5)} for name, m in scores.items()}
    ragged["b"]["t3"] = ragged["b"]["t3"][:-2]
    del ragged["c"]["t0"]
    found = uqbench.compare(ragged)
    assert list(found.ranks["method"]) == ["a"] or found.ranks.empty
    assert "t3/b (2 missing)" in repr(found)
    assert "t0/c (7 missing)" in repr(found)
    assert "has no rank" in repr(found)


def test_what_is_there_twice_or_cannot_be_shown_is_named():
    frame = pd.DataFrame({"method": "a", "task": "t", "seed": [0, 1], "score": [1.0, 2.0]})
    with pytest.raises(UqbenchError, match="a on t with seed 0 twice"):
        uqbench.compare(frame.assign(seed=0))
    with pytest.raises(UqbenchError, match=r"no column of scores: .*\n?.*--column score=NAME"):
        uqbench.compare(frame.rename(columns={"score": "auc"}))
    found = uqbench.compare(frame.rename(columns={"score": "auc"}), columns={"score": "auc"})
    assert value(found, "a", "mean") == 1.5
    with pytest.raises(UqbenchError, match="cannot be shown"):
        uqbench.compare(frame.assign(method="a|b\x1b[1m"))


def monitor(path: Path, returns: list[float]) -> None:
    write_monitor(path, [f"{r},10,{t}" for t, r in enumerate(returns)], "CartPole-v1", 1.0)


CHART = (
    "global_step,Pong__dqn__1__171 - charts/return,Pong__dqn__1__171 - charts/return__MIN,"
    "Pong__dqn__2__172 - charts/return,Pong__dqn__2__172 - charts/return__MIN\n"
    "50,0,0,0,0\n100,3,0,5,0\n"
)
CURVE = "algo,env,seed,step,return\n" + "".join(f"q,E,0,{k},{k}\n" for k in range(1, 101))
RAW = '{"Pong": [1, 2, 3], "Alien": [4, 5, 6]}'
NORMALIZED = json.dumps(
    [{"game": g, "seed": s, "HNS": s + 0.5} for g in ("Pong", "Alien") for s in range(3)]
)


FILES = [
    ("CURL.json", NORMALIZED, "CURL", 1.5),
    ("chart.csv", CHART, "dqn", 4.0),
    ("curves.csv", CURVE, "q", 95.5),  # of steps 91 to 100
]


@pytest.mark.parametrize(("name", "text", "method", "mean"), FILES)
def test_files_of_every_kind_are_read(name, text, method, mean, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    assert value(uqbench.compare(path), method, "mean") == mean
    if text == CURVE:
        assert value(uqbench.compare(path, window=1.0), method, "mean") == 50.5


def test_files_of_scores_that_are_normalized_and_of_others_need_constants(tmp_path):
    paths = tmp_path / "SPR.json", tmp_path / "CURL.json"
    for path, text in zip(paths, (RAW, NORMALIZED), strict=True):
        path.write_text(text)
    with pytest.raises(UqbenchError, match="of CURL are normalized, those of SPR are not"):
        uqbench.compare(paths)
    both = uqbench.compare(paths, constants={"Pong": (0, 1), "Alien": (0, 1)})
    assert value(both, "SPR", "mean") == 3.5


def test_folders_of_stable_baselines_and_of_rl_zoo_are_read(tmp_path):
    dqn, ppo = (tmp_path / "logs" / algo for algo in ("dqn", "ppo"))
    for algo, last in ((dqn, 9.0), (ppo, 4.0)):
        for k in (1, 2, 3):
            monitor(algo / f"CartPole-v1_{k}" / "0.monitor.csv", [0.0] * 18 + [last, last + k])
    found = uqbench.compare([dqn, ppo])
    assert value(found, "dqn", "mean") == 9.0 + 1.0  # mean of the last two of 20 episodes, k = 2
    assert value(found, "ppo", "mean") == 5.0
    assert found.board.plan.suite.tasks[0].name == "CartPole-v1"
    assert [cell.seeds for cell in found.board.scores.cells] == [[1, 2, 3]] * 2

    def evaluated(folder: Path, last: float) -> None:
        folder.mkdir(exist_ok=True)
        results = [[1.0, 3.0], [10.0, last]]
        np.savez(folder / "evaluations.npz", timesteps=[50, 100], results=results)

    for k in (1, 2):
        evaluated(dqn / f"CartPole-v1_{k}", 20.0 + k)
    found = uqbench.compare(tmp_path / "logs")  # some runs have evaluations, all have episodes
    assert (value(found, "ppo", "mean"), value(found, "dqn", "mean")) == (5.0, 10.0)
    assert "4 not asked for" in str(found.ledger)
    evaluated(dqn / "CartPole-v1_3" / "eval", 23.0)  # as sb3's own examples have it
    assert value(uqbench.compare(dqn), "dqn", "mean") == np.mean([15.5, 16.0, 16.5])
    assert value(uqbench.compare(dqn, columns={"score": "r"}), "dqn", "mean") == 10.0

    for seed in (0, 1, 2):
        monitor(tmp_path / "own" / f"a2c_{seed}" / "monitor.csv", [float(seed)] * 3)
    assert value(uqbench.compare(tmp_path / "own"), "a2c", "mean") == 1.0
    evaluated(tmp_path / "lost", 1.0)
    with pytest.raises(UqbenchError, match="does not say of which environment"):
        uqbench.compare(tmp_path / "lost")
    (tmp_path / "x.pkl").write_bytes(b"cos\nsystem\n")
    with pytest.raises(UqbenchError, match="no scores that can be read: expected rliable's JSON"):
        uqbench.compare(tmp_path / "x.pkl")


def test_no_pickle_in_a_file_is_opened(tmp_path):
    folder = tmp_path / "dqn" / "E_1"
    folder.mkdir(parents=True)
    np.savez(folder / "evaluations.npz", timesteps=[1], results=np.array([[None]], object))
    with pytest.raises(UqbenchError, match="damaged"):
        uqbench.compare(tmp_path)


def test_an_imported_board_is_a_board_that_says_so(scores, tmp_path):
    found = uqbench.compare(scores, name="mine")
    folder = found.write(tmp_path)
    assert folder == tmp_path / "mine" / "imported"
    assert StoredBoard.read(folder).manifest.imported == {}
    page = (folder / "README.md").read_text()
    assert "not run by uqbench" in page
    assert "`a` (imported)" in page
    assert set(uqbench.load(tmp_path).board()["rank"].dropna()) == {1, 2, 3}
    again = uqbench.compare(folder / "scores.csv.gz", name="mine").write(tmp_path / "again")
    for name in ("scores.csv.gz", "leaderboard.csv", "pairs.csv", "ranks.csv"):
        assert (folder / name).read_bytes() == (again / name).read_bytes()
    assert len(found.plot("intervals").data) == 3
    uqbench.write_report(tmp_path, tmp_path / "report.html")
    packed = re.search(r"<script[^>]*>([\w+/=]+)</script>", (tmp_path / "report.html").read_text())
    assert packed is not None
    assert b"imported" in gzip.decompress(b64decode(packed[1]))


def test_imported_rows_stand_beside_runs_without_a_rank(tmp_path, monkeypatch):
    toy_plugin(monkeypatch)
    plan = uqbench.plan("toy").plan
    tasks = [task.name for task in plan.suite.tasks_of(plan.budget)]
    theirs = {"theirs": {task: [0.9, 1.0, 1.1] for task in tasks}, "lacks": {"other": [1.0] * 3}}
    folder = uqbench.compare(theirs, name="toy").write(tmp_path)
    given = {"methods": "fast", "out": tmp_path / "out", "progress": False}
    results = uqbench.run("toy", seeds=3, workers=1, beside=folder, **given)
    table = results.board().set_index("method")
    assert table.loc["theirs", "role"] == "imported"
    assert pd.isna(table.loc["theirs", "rank"])
    assert table.loc["theirs", "mean"] == pytest.approx(1.0)
    assert pd.isna(table.loc["lacks", "mean"])
    assert results.pairs()["p_adjusted"].isna().all()
    lacking = uqbench.compare({"theirs": {"other": [1.0, 2.0]}}, name="other").write(tmp_path)
    with pytest.raises(UqbenchError, match="has no scores of"):
        uqbench.run("toy", beside=lacking, **given)


def test_paired_scores_are_compared_seed_by_seed():
    generator = np.random.default_rng(0)
    world = generator.normal(size=(8, 3)) * 10
    up = {"a": generator.normal(1, 0.1, 8), "b": np.zeros(8)}
    rows = [
        (name, f"t{task}", seed, world[seed, task] + own[seed])
        for name, own in up.items() for seed, task in np.ndindex(8, 3)]  # fmt: skip
    frame = table("method task seed score", rows)
    for paired in (False, True):
        ranks = uqbench.compare(frame, by="mean", paired=paired).ranks
        assert (ranks["rank_high"] == ranks["rank_low"]).sum() == 2 * paired
    frame.loc[frame["method"] == "b", "seed"] += 1
    with pytest.raises(UqbenchError, match="the same seeds of every method"):
        uqbench.compare(frame, paired=True)


DAMAGED = [
    ("a.json", "[1, 2]", "damaged"), ("a.json", "{}", "no scores that can be read"),
    ("a.json", "[" * 100_000, "damaged"), ("a.json", '{"a": {"t": [1, "x"]}}', "'x' is no number"),
    ("a.csv", "", "damaged"), ("a.csv", "method,task,seed,score\n,t,1,2\n", "one has none"),
    ("a.csv", 'method,task,seed,score\n"a,t,1,2\n', "damaged")]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "said"), DAMAGED)
def test_a_damaged_file_is_refused_by_its_name(name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(UqbenchError, match=rf"(?s){name}.*{said}"):
        uqbench.compare(tmp_path / name)


SENSELESS = [
    ({}, {}, "expected scores"),
    ("none.csv", {}, "does not exist"),
    (RUNS, {"window": 0.0}, r"window=0\.0: expected a number above 0, at most 1"),
    ({"a": {"t": [1, 2]}}, {"constants": {"t": (1, 1)}}, "t: expected two scores that differ, "
     "for 0 and 1; got 1 and 1"),
    ({"a": {"x/y": [1, 2], "x-y": [1, 2]}}, {}, "one name once / is written"),
    (RUNS, {"name": "../x"}, "cannot be the name of a folder"),
]  # fmt: skip


@pytest.mark.parametrize(("scores", "given", "said"), SENSELESS)
def test_what_makes_no_sense_is_refused(scores, given, said, tmp_path):
    with pytest.raises(UqbenchError, match=said):
        uqbench.compare(scores, **given).write(tmp_path)


def test_one_network_that_is_scored_on_many_tasks_is_one_observation():
    """Five equal methods, five seeds with twenty tasks each, which correlate by .8."""
    rng, apart = np.random.default_rng(4), {"run": 0, "seed": 0}
    for _ in range(12):
        drawn = (rng.normal(size=(5, 1)) * 2 + rng.normal(size=(5, 20)) for _ in "abcde")
        own = {f"m{i}": of for i, of in enumerate(drawn)}
        for units in apart:
            found = uqbench.compare(own, by="mean", units=units)
            apart[units] += bool((found.pairs["p_adjusted"] <= 0.05).any())
    assert apart["run"] >= 9
    assert apart["seed"] <= 2
    assert "Tasks' scores of a seed are correlated" in repr(uqbench.compare(own, by="mean"))
    once = uqbench.compare(own, by="mean", units="seed")
    assert "are correlated" not in repr(once)
    values = once.intervals.set_index(["method", "statistic"])["value"]
    assert values["m0", "mean"] == pytest.approx(own["m0"].mean())


def test_a_seed_that_lacks_a_task_has_no_mean_over_tasks():
    rows = [(m, t, s, 0.1 * s) for m in "ab" for t in "xy" for s in range(4)]
    frame = table("method task seed score", rows)
    assert list(uqbench.compare(frame.iloc[:-1], by="mean", units="seed").board.matrices) == ["a"]


def test_where_no_run_varies_there_is_no_interval_no_p_value_and_no_forecast():
    found = uqbench.compare({"a": np.full((5, 1), 5.0), "b": np.zeros((5, 1))}, by="mean")
    said = found.sentence("a", "b")
    assert said.endswith("+5 in mean, and no interval, since all runs of each are equal.")
    assert found.pairs["p"].isna().all()
    assert list(found.ranks["rank_low"]) == [1, 1]


@pytest.mark.parametrize("runs", [2, 1, "equal"])
def test_runs_that_tell_nothing_apart_say_so_before_they_rank(runs):
    a, b = np.random.default_rng(6).normal(size=(2, 5, 3)) + np.array([[[0.0]], [[9.0]]])
    scores = {"a": a[:runs], "b": b[:runs]} if runs != "equal" else {"a": 0 * a, "b": 0 * b + 9}
    said = repr(uqbench.compare(scores))
    assert said.startswith("Runs tell none of the 2 methods apart (")
    assert "do not differ" not in said
    assert "nan" not in said
    assert "would decide" not in said
    assert repr(uqbench.compare({"a": a, "b": b})).startswith("b (")


@pytest.mark.parametrize(("tasks", "by"), [(1, "mean"), (2, "mean"), (3, "iqm")])
def test_fewer_than_three_tasks_are_ranked_by_the_mean_unless_asked_otherwise(tasks, by):
    scores = dict(zip("ab", np.random.default_rng(7).normal(size=(2, 5, tasks)), strict=True))
    for given, ranking in (({}, by), ({"units": "seed"}, "mean"), ({"by": "iqm"}, "iqm")):
        assert uqbench.compare(scores, **given).board.ranking == ranking


@pytest.mark.parametrize(("levels", "by"), [(5, "mean"), (9, "mean"), (2_000, "iqm")])
def test_runs_of_few_different_scores_are_ranked_by_the_mean_unless_asked_otherwise(levels, by):
    """Success rates of few episodes, as of five runs on twenty tasks: quartiles jump."""
    runs = np.random.default_rng(8).binomial(levels - 1, 0.5, (3, 5, 20)) / (levels - 1)
    scores = dict(zip("abc", runs, strict=True))
    found, asked = uqbench.compare(scores), uqbench.compare(scores, by="iqm")
    assert (found.board.ranking, asked.board.ranking) == (by, "iqm")
    assert "not to be trusted" not in repr(found)
    assert ("Rank by the mean" in repr(asked)) == (by == "mean")
    one = {name: own[:, :1] for name, own in scores.items()}
    assert "Rank by the mean" in repr(uqbench.compare(one, by="iqm"))


def curves(seed: int = 0, runs: int = 8, tasks: int = 3, frames: int = 12) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    rise = 1 - np.exp(-np.arange(1, frames + 1) / 4)

    def noise():
        return 0.1 * generator.normal(size=(runs, tasks, frames))

    return {"a": rise + noise(), "b": 0.5 * rise + noise()}


def rows_of(own: dict[str, np.ndarray]) -> pd.DataFrame:
    """A row a step of runs ``[runs, tasks, frames]``."""
    rows = [
        (m, f"task-{t + 1}", str(s), k + 1, of[s, t, k])
        for m, of in own.items() for s, t, k in np.ndindex(of.shape)]  # fmt: skip
    return pd.DataFrame(rows, columns=["method", "task", "seed", "step", "score"])


@pytest.fixture(scope="module")
def found() -> uqbench.Compared:
    return uqbench.compare(curves())


def test_the_profile_is_rliables(found):
    thresholds = np.linspace(0, 1.2, 7)
    theirs, _ = library.create_performance_profile(found.board.matrices, thresholds, reps=2)
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
        known = [metrics.aggregate_iqm(own[..., k]) for k in range(12)]
        assert table[method].tolist() == pytest.approx(known, abs=1e-9)


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
    rows = steps_to(grid, 2.0, "mean", paired="")
    # high: s/10 + .2484 ≥ 2 from 18 on; low: s/10 − .2484 ≥ 2 from 23 on
    assert rows.values.tolist() == [["a", 20, 18, 23]]
    assert steps_to(grid, 4.1, "mean", paired="").values.tolist() == [["a", np.inf, 39, np.inf]]


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
    a, b = np.array([1, 2, 3, 4, 9, 10]), np.array([0, 1.5, 2.5, 6, 8, 10, 11])
    grid = on_one_grid(pd.concat([runs("a", a, 10.0 * a, 1), runs("b", b, 10.0 * b, 1)]))
    at = dict(zip(grid.steps, grid.at["a"][0, 0], strict=True))
    assert at[1.5] == 15  # between neighbors
    assert np.isnan([at[0.0], at[6.0], at[8.0], at[11.0]]).all()
    assert (at[4.0], at[9.0]) == (40, 90)
    table = by_step(grid, "mean", paired="")
    assert set(table.query("step == 6")["method"]) == {"b"}
    assert set(table.query("step == 9")["method"]) == {"a", "b"}


def test_steps_of_many_runs_are_thinned_to_fifty():
    generator = np.random.default_rng(1)
    drawn = [np.sort(generator.choice(9999, 400, replace=False)) for _ in range(6)]
    own = [runs("aaabbb"[k], steps, 1.0, 1).assign(seed=k) for k, steps in enumerate(drawn)]
    grid = on_one_grid(pd.concat(own))
    assert (len(grid.steps), grid.at["a"].shape) == (50, (3, 1, 50))


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
    expected = ranked({name: of[..., 0] for name, of in means.items()}, "mean", paired="")
    first = seeds.efficiency.query("step == 1").reset_index(drop=True)
    assert np.allclose(first[["value", "low", "high"]], expected[["value", "low", "high"]])


def test_the_same_curves_in_every_form_are_the_same_to_the_bit(tmp_path):
    own = curves(3, runs=4, tasks=3, frames=6)
    frame = rows_of(own)
    wide = frame.pivot(index=["method", "seed", "step"], columns="task", values="score")
    np.savez(tmp_path / "all.npz", **own)
    frame[::-1].to_feather(tmp_path / "all.feather")
    forms = {
        **{end: uqbench.compare(tmp_path / f"all.{end}") for end in ("npz", "feather")},
        "rows": uqbench.compare(frame.sample(frac=1, random_state=0).sort_values("method")),
        "levels": uqbench.compare(frame.set_index(["method", "task", "seed", "step"])["score"]),
        "wide": uqbench.compare(wide.reset_index(), columns={"task": "*"}),
    }
    first = uqbench.compare(own)
    for name, found in forms.items():
        for table, keys in (("efficiency", ["method", "step"]), ("area", ["method"])):
            one, other = (getattr(of, table).sort_values(keys) for of in (first, found))
            one, other = (of.reset_index(drop=True) for of in (one, other))
            pd.testing.assert_frame_equal(one, other, check_exact=True, obj=name)
        assert found.profile()["share"].sum() == first.profile()["share"].sum()


def test_a_method_that_lacks_runs_has_no_curve():
    frame = rows_of(curves())
    died = (frame["method"] == "b") & (frame["seed"] == "0") & (frame["task"] == "task-2")
    assert set(uqbench.compare(frame[~(died & (frame["step"] > 4))]).efficiency["method"]) == {"a"}


def test_scores_without_steps_say_what_is_missing():
    found = uqbench.compare({"a": np.random.default_rng(0).normal(size=(5, 3))})
    with pytest.raises(UqbenchError, match="expected scores by step"):
        _ = found.efficiency
    assert len(found.profile([0.0])) == 1


@pytest.mark.parametrize("what", ["intervals", "pairs", "profile", "efficiency", "area", "steps"])
def test_each_figure_is_drawn_and_goes_into_a_subplot(found, what):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    ax, threshold = Figure().add_subplot(), 0.4 if what == "steps" else None
    assert found.plot(what, ax=ax, threshold=threshold) is ax
    assert ax.get_xlabel()
    assert len(ax.lines)
    if what == "efficiency":
        own = found.efficiency.query("method == 'a'")
        assert np.allclose(ax.lines[0].get_ydata(), own["value"])
    figure = found.plot(what, threshold=threshold)
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
