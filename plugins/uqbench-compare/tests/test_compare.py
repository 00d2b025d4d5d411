"""Scores that somebody has: parity with rliable, files of every kind, boards of them."""

import gzip
import json
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rliable import metrics as rliable
from uqbench_compare.two_boards import differences

import uqbench
from uqbench.boards import StoredBoard
from uqbench.errors import UqbenchError

TOY = Path(__file__).parents[3] / "tests" / "toy"


def drawn(seed: int, runs: int = 12, tasks: int = 5, shift: float = 0.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.gamma(2.0, 0.3, (runs, tasks)) * generator.uniform(0.2, 2, tasks) + shift


@pytest.fixture
def scores() -> dict[str, np.ndarray]:
    return {"a": drawn(2, shift=1.0), "b": drawn(1), "c": drawn(3, runs=7)}


def value(found: uqbench.Compared, method: str, statistic: str) -> float:
    table = found.intervals.set_index(["method", "statistic"])
    return float(table.loc[(method, statistic), "value"])


@pytest.mark.parametrize("seed", range(5))
def test_points_are_those_of_rliable(seed):
    scores = {"x": drawn(seed), "y": drawn(100 + seed, runs=5 + seed)}
    found = uqbench.compare(scores)
    for name, matrix in scores.items():
        for statistic in ("iqm", "mean", "median"):
            expected = getattr(rliable, f"aggregate_{statistic}")(matrix)
            assert value(found, name, statistic) == pytest.approx(expected, abs=1e-12)


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
    frame = pd.DataFrame(rows, columns=["Algo", "env_id", "seed", "return", "random", "human"])
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


def test_what_is_no_number_or_there_twice_is_named():
    frame = pd.DataFrame({"method": "a", "task": "t", "seed": [0, 1], "score": [1.0, 2.0]})
    with pytest.raises(UqbenchError, match=r"the score 'x' is no number"):
        uqbench.compare(frame.assign(score=["1", "x"]))
    with pytest.raises(UqbenchError, match="a on t with seed 0 twice"):
        uqbench.compare(frame.assign(seed=0))
    with pytest.raises(UqbenchError, match=r"no column of scores: .*\n?.*--column score=NAME"):
        uqbench.compare(frame.rename(columns={"score": "auc"}))
    found = uqbench.compare(frame.rename(columns={"score": "auc"}), columns={"score": "auc"})
    assert value(found, "a", "mean") == 1.5
    with pytest.raises(UqbenchError, match="cannot be shown"):
        uqbench.compare(frame.assign(method="a|b\x1b[1m"))


def monitor(folder: Path, name: str, returns: list[float], env: str = "CartPole-v1") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    head = f"#{json.dumps({'t_start': 1.0, 'env_id': env})}\nr,l,t\n"
    lines = "".join(f"{r},10,{t}\n" for t, r in enumerate(returns))
    (folder / name).write_text(head + lines)


def test_files_of_every_kind_are_read(tmp_path):
    (tmp_path / "SPR.json").write_text(json.dumps({"Pong": [1, 2, 3], "Alien": [4, 5, 6]}))
    (tmp_path / "nested.json").write_text(
        json.dumps({"IRIS": {"Pong": [2, 2, 2], "Alien": [1, 1, 4]}})
    )
    records = [{"game": g, "seed": s, "HNS": s + 0.5} for g in ("Pong", "Alien") for s in range(3)]
    (tmp_path / "CURL.json").write_text(json.dumps(records))
    found = uqbench.compare([tmp_path / n for n in ("SPR.json", "nested.json")])
    assert value(found, "SPR", "mean") == 3.5
    assert value(found, "IRIS", "mean") == 2.0
    assert value(uqbench.compare(tmp_path / "CURL.json"), "CURL", "mean") == 1.5
    with pytest.raises(UqbenchError, match="of CURL are normalized, those of SPR are not"):
        uqbench.compare([tmp_path / "SPR.json", tmp_path / "CURL.json"])
    given = {"Pong": (0, 1), "Alien": (0, 1)}
    both = uqbench.compare([tmp_path / "SPR.json", tmp_path / "CURL.json"], constants=given)
    assert value(both, "SPR", "mean") == 3.5

    wandb = tmp_path / "wandb.csv"
    wandb.write_text(
        "Name,State,exp_name,env_id,seed,charts/episodic_return\n"
        "r1,finished,dqn,Pong,1,5\nr2,crashed,dqn,Pong,2,9\nr3,finished,dqn,Pong,3,7\n"
        "r4,finished,ppo,Pong,1,2\nr5,finished,ppo,Pong,2,4\nr6,finished,ppo,Pong,3,6\n"
    )
    found = uqbench.compare(wandb)
    assert value(found, "ppo", "mean") == 4
    assert "Pong/dqn (1 failed)" in repr(found)

    packed = tmp_path / "DER.csv.gz"
    packed.write_bytes(gzip.compress(b"game,seed,score\nPong,0,1\nPong,1,2\nPong,2,6\n"))
    assert value(uqbench.compare(packed), "DER", "mean") == 3.0

    chart = tmp_path / "chart.csv"
    columns = [f"Pong__dqn__{s}__17{s} - charts/return" for s in (1, 2)]
    names = ",".join(f'"{c}","{c}__MIN"' for c in columns)
    chart.write_text(f"global_step,{names}\n50,0,0,0,0\n100,3,0,5,0\n")
    assert value(uqbench.compare(chart), "dqn", "mean") == 4.0

    curves = tmp_path / "curves.csv"
    curves.write_text(
        "algo,env,seed,step,return\n" + "".join(f"q,E,0,{k},{k}\n" for k in range(1, 101))
    )
    assert value(uqbench.compare(curves), "q", "mean") == 95.5  # of steps 91 to 100
    assert value(uqbench.compare(curves, window=1.0), "q", "mean") == 50.5


def test_folders_of_stable_baselines_and_of_rl_zoo_are_read(tmp_path):
    for algo, last in (("dqn", 9.0), ("ppo", 4.0)):
        for k in (1, 2, 3):
            folder = tmp_path / "logs" / algo / f"CartPole-v1_{k}"
            monitor(folder, "0.monitor.csv", [0.0] * 18 + [last, last + k])
    found = uqbench.compare([tmp_path / "logs" / "dqn", tmp_path / "logs" / "ppo"])
    assert value(found, "dqn", "mean") == 9.0 + 1.0  # mean of the last two of 20 episodes, k = 2
    assert value(found, "ppo", "mean") == 5.0
    assert found.board.plan.suite.tasks[0].name == "CartPole-v1"
    assert [cell.seeds for cell in found.board.scores.cells] == [[1, 2, 3]] * 2

    for k in (1, 2):
        at = tmp_path / "logs" / "dqn" / f"CartPole-v1_{k}"
        results = np.array([[1.0, 3.0], [10.0, 20.0 + k]])
        np.savez(at / "evaluations.npz", timesteps=np.array([50, 100]), results=results)
    found = uqbench.compare(tmp_path / "logs")  # some runs have evaluations, all have episodes
    assert (value(found, "ppo", "mean"), value(found, "dqn", "mean")) == (5.0, 10.0)
    assert "4 not asked for" in str(found.ledger)
    at = tmp_path / "logs" / "dqn" / "CartPole-v1_3" / "eval"  # as sb3's own examples have it
    at.mkdir()
    np.savez(at / "evaluations.npz", timesteps=np.array([50, 100]), results=[[1, 3], [10, 23]])
    expected = np.mean([15.5, 16.0, 16.5])
    assert value(uqbench.compare(tmp_path / "logs" / "dqn"), "dqn", "mean") == expected
    by_episodes = uqbench.compare(tmp_path / "logs" / "dqn", columns={"score": "r"})
    assert value(by_episodes, "dqn", "mean") == 10.0

    for seed in (0, 1, 2):
        monitor(tmp_path / "own" / f"a2c_{seed}", "monitor.csv", [float(seed)] * 3)
    assert value(uqbench.compare(tmp_path / "own"), "a2c", "mean") == 1.0
    (tmp_path / "lost").mkdir()
    np.savez(tmp_path / "lost" / "evaluations.npz", timesteps=[1], results=[[1.0]])
    with pytest.raises(UqbenchError, match="does not say of which environment"):
        uqbench.compare(tmp_path / "lost")
    (tmp_path / "x.pkl").write_bytes(b"cos\nsystem\n")
    with pytest.raises(
        UqbenchError, match="has no scores that can be read: expected rliable's JSON"
    ):
        uqbench.compare(tmp_path / "x.pkl")


def test_no_pickle_in_a_file_is_opened(tmp_path):
    folder = tmp_path / "dqn" / "E_1"
    folder.mkdir(parents=True)
    np.savez(folder / "evaluations.npz", timesteps=[1], results=np.array([[None]], object))
    with pytest.raises(UqbenchError, match="damaged"):
        uqbench.compare(tmp_path)


def test_comparing_imports_no_torch(tmp_path):
    script = (
        "import sys, numpy as np, uqbench; "
        "print(uqbench.compare({'a': np.arange(12.).reshape(6, 2), 'b': np.ones((6, 2))})); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_an_imported_board_is_a_board_that_says_so(scores, tmp_path):
    found = uqbench.compare(scores, name="mine")
    folder = found.write(tmp_path)
    assert folder == tmp_path / "mine" / "imported"
    stored = StoredBoard.read(folder)
    assert stored.manifest.imported == {}
    page = (folder / "README.md").read_text()
    assert "not run by uqbench" in page
    assert "`a` (imported)" in page
    board = uqbench.load(tmp_path).board()
    assert set(board["rank"].dropna()) == {1, 2, 3}
    again = uqbench.compare(folder / "scores.csv.gz", name="mine").write(tmp_path / "again")
    for name in ("scores.csv.gz", "leaderboard.csv", "pairs.csv", "ranks.csv"):
        assert (folder / name).read_bytes() == (again / name).read_bytes()
    assert len(found.plot("intervals").data) == 3
    uqbench.write_report(tmp_path, tmp_path / "report.html")
    packed = re.search(r"<script[^>]*>([\w+/=]+)</script>", (tmp_path / "report.html").read_text())
    assert packed is not None
    assert b"imported" in gzip.decompress(b64decode(packed[1]))


def test_boards_of_two_machines_are_the_same_or_differ_where_they_do(scores, tmp_path):
    first = uqbench.compare(scores, name="mine").write(tmp_path / "one")
    second = uqbench.compare(scores, name="mine").write(tmp_path / "two")
    assert differences(StoredBoard.read(first), StoredBoard.read(second)) == []
    other = {name: of.copy() for name, of in scores.items()}
    other["a"][3, 2] += 1e-9
    third = uqbench.compare(other, name="mine").write(tmp_path / "three")
    told = differences(StoredBoard.read(first), StoredBoard.read(third))
    assert told[0] == "1 of 155 shared runs differ"
    assert told[1].startswith("task-002/a/3/score: A 1.52403446")


def test_imported_rows_stand_beside_runs_without_a_rank(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    tasks = [
        task.name
        for task in uqbench.plan("toy").plan.suite.tasks_of(uqbench.plan("toy").plan.budget)
    ]
    theirs = {"theirs": {task: [0.9, 1.0, 1.1] for task in tasks}, "lacks": {"other": [1.0] * 3}}
    folder = uqbench.compare(theirs, name="toy").write(tmp_path)
    results = uqbench.run(
        "toy",
        methods="fast",
        seeds=3,
        workers=1,
        out=tmp_path / "out",
        progress=False,
        beside=folder,
    )
    table = results.board().set_index("method")
    assert table.loc["theirs", "role"] == "imported"
    assert pd.isna(table.loc["theirs", "rank"])
    assert table.loc["theirs", "mean"] == pytest.approx(1.0)
    assert pd.isna(table.loc["lacks", "mean"])
    assert results.pairs()["p_adjusted"].isna().all()
    lacking = uqbench.compare({"theirs": {"other": [1.0, 2.0]}}, name="other").write(tmp_path)
    with pytest.raises(UqbenchError, match="has no scores of"):
        uqbench.run("toy", methods="fast", out=tmp_path / "out", progress=False, beside=lacking)


def test_paired_scores_are_compared_seed_by_seed():
    generator = np.random.default_rng(0)
    world = generator.normal(size=(8, 3)) * 10
    frames = [
        pd.DataFrame(
            {"method": name, "task": f"t{task}", "seed": seeds, "score": world[:, task] + up}
        )
        for name, up, seeds in (("a", generator.normal(1, 0.1, 8), range(8)), ("b", 0.0, range(8)))
        for task in range(3)
    ]
    frame = pd.concat(frames)
    assert len(uqbench.compare(frame, by="mean").ranks.query("rank_high == rank_low")) == 0
    assert (
        len(uqbench.compare(frame, by="mean", paired=True).ranks.query("rank_high == rank_low"))
        == 2
    )
    frame.loc[frame["method"] == "b", "seed"] += 1
    with pytest.raises(UqbenchError, match="the same seeds of every method"):
        uqbench.compare(frame, paired=True)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "[1, 2]", "damaged"),
        ("a.json", "3", "damaged"),
        ("a.json", "{}", "no scores that can be read"),
        ("a.json", "[" * 100_000, "damaged"),
        ("a.json", '{"a": {"t": [1, "x"]}}', "'x' is no number"),
        ("a.csv", "", "damaged"),
        ("a.csv", "method,task,seed,score\n,t,1,2\n", "one has none"),
        ("a.csv", 'method,task,seed,score\n"a,t,1,2\n', "damaged"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(UqbenchError, match=rf"(?s){name}.*{said}"):
        uqbench.compare(tmp_path / name)


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(UqbenchError, match="expected scores"):
        uqbench.compare({})
    with pytest.raises(UqbenchError, match="does not exist"):
        uqbench.compare(tmp_path / "none.csv")
    with pytest.raises(UqbenchError, match=r"window=0\.0: expected a number above 0, at most 1"):
        uqbench.compare({"a": np.ones((3, 2))}, window=0.0)
    with pytest.raises(
        UqbenchError, match="t: expected two scores that differ, for 0 and 1; got 1 and 1"
    ):
        uqbench.compare({"a": {"t": [1, 2]}}, constants={"t": (1, 1)})
    with pytest.raises(UqbenchError, match="one name once / is written"):
        uqbench.compare({"a": {"x/y": [1, 2], "x-y": [1, 2]}})
    with pytest.raises(UqbenchError, match="cannot be the name of a folder"):
        uqbench.compare({"a": np.ones((3, 2))}, name="../x").write(tmp_path)


def test_one_network_that_is_scored_on_many_tasks_is_one_observation():
    """Five equal methods, five seeds with twenty tasks each, which correlate by .8."""
    generator, apart = np.random.default_rng(4), {"run": 0, "seed": 0}
    for _ in range(12):
        own = {
            f"m{i}": 2 * generator.normal(size=(5, 1)) + generator.normal(size=(5, 20))
            for i in range(5)
        }
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
    frame = pd.DataFrame(
        [(m, t, s, 0.1 * s) for m in "ab" for t in "xy" for s in range(4)],
        columns=["method", "task", "seed", "score"],
    )
    found = uqbench.compare(frame.iloc[:-1], by="mean", units="seed")
    assert list(found.board.matrices) == ["a"]


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
    runs = np.random.default_rng(7).normal(size=(2, 5, tasks))
    scores = dict(zip("ab", runs, strict=True))
    assert uqbench.compare(scores).board.ranking == by
    assert uqbench.compare(scores, units="seed").board.ranking == "mean"
    assert uqbench.compare(scores, by="iqm").board.ranking == "iqm"


@pytest.mark.parametrize(("levels", "by"), [(5, "mean"), (9, "mean"), (2_000, "iqm")])
def test_runs_of_few_different_scores_are_ranked_by_the_mean_unless_asked_otherwise(levels, by):
    """Success rates of few episodes, as of five runs on twenty tasks: quartiles jump."""
    runs = np.random.default_rng(8).binomial(levels - 1, 0.5, (3, 5, 20)) / (levels - 1)
    scores = dict(zip("abc", runs, strict=True))
    found, asked = uqbench.compare(scores), uqbench.compare(scores, by="iqm")
    assert found.board.ranking == by
    assert "not to be trusted" not in repr(found)
    assert asked.board.ranking == "iqm"
    assert ("Rank by the mean" in repr(asked)) == (by == "mean")
    one = {name: own[:, :1] for name, own in scores.items()}
    assert "Rank by the mean" in repr(uqbench.compare(one, by="iqm"))
