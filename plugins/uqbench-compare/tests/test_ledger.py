"""The ledger of what was read, one reader of numbers, directions, and forms that say the same."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from score_forms import write_monitor
from uqbench_compare.numbers import numbers
from uqbench_compare.score_table import Part, looks_like_a_cost, score_table

import uqbench
from uqbench.boards import StoredBoard
from uqbench.errors import UqbenchError
from uqbench.results.numbers import number

ROOT = Path(__file__).parents[3]
SCORES = {
    name: np.round(np.random.default_rng(k).normal(shift, 1, (5, 3)), 3) / 8
    for k, (name, shift) in enumerate({"dqn": 5.0, "ppo": 2.0, "C51": 4.0}.items())
}
TASKS = ["task-000", "task-001", "task-002"]


def long(scores: dict[str, np.ndarray] = SCORES) -> pd.DataFrame:
    rows = [(m, TASKS[t], s, x) for m, own in scores.items() for (s, t), x in np.ndenumerate(own)]
    return pd.DataFrame(rows, columns=["method", "task", "seed", "score"])


def by_task() -> dict[str, dict[str, list[float]]]:
    return {m: {t: own[:, k].tolist() for k, t in enumerate(TASKS)} for m, own in SCORES.items()}


def by_seed(frame: pd.DataFrame) -> pd.DataFrame:
    """A column a task."""
    return frame.pivot(index=["method", "seed"], columns="task", values="score")


def objects() -> dict[str, tuple[object, dict]]:
    frame = long()
    indexed, wide = frame.set_index(["method", "task", "seed"]), by_seed(frame)
    frames = {m: pd.DataFrame(own, columns=TASKS) for m, own in SCORES.items()}
    star = {"columns": {"task": "*"}}
    return {
        "arrays": (SCORES, {}),
        "lists": ({m: own.tolist() for m, own in SCORES.items()}, {}),
        "one frame in three": ({m: own[:, :, None] for m, own in SCORES.items()}, {}),
        "by task": (by_task(), {}),
        "long": (frame, {}),
        "text": (frame.astype(str), {}),
        "categories": (frame.astype({"method": "category", "score": "Float64"}), {}),
        "wide": (wide.reset_index(), star),
        "wide, a level of seeds": (wide, star),
        "levels in columns": (wide.unstack("method"), {}),
        "MultiIndex": (indexed, {}),
        "Series": (indexed["score"], {}),
        "frames by method": (frames, {}),
        "frames by method, seeds as labels": (
            {m: own.rename(lambda s: s + 100) for m, own in frames.items()}, {}
        ),
        "long frames by method": (
            {m: own.drop(columns="method") for m, own in frame.groupby("method")}, {}
        ),
    }  # fmt: skip


def files(root: Path) -> dict[str, tuple[list[Path], dict]]:
    frame = long()
    comma = frame.assign(score=[str(x).replace(".", ",") for x in frame["score"]])
    percent = frame.assign(score=[f"{x} %" for x in frame["score"]])
    indexed = frame.set_index(["method", "task", "seed"])
    signed = [f"\N{MINUS SIGN}{-x}" if x < 0 else f"+{x}" for x in frame["score"]]
    put = {
        "a.csv": lambda p: frame.to_csv(p, index=False),
        "b.csv": lambda p: comma.to_csv(p, index=False, sep=";", encoding="utf-8-sig"),
        "c.tsv": lambda p: frame.to_csv(p, index=False, sep="\t"),
        "d.csv.gz": lambda p: frame.to_csv(p, index=False),
        "e.json": lambda p: p.write_text(json.dumps(by_task())),
        "f.json": lambda p: p.write_text(frame.to_json(orient="records", double_precision=15)),
        "g.json": lambda p: p.write_text(json.dumps(frame.to_dict("list"))),
        "h.json": lambda p: p.write_text(json.dumps({m: x.tolist() for m, x in SCORES.items()})),
        "i.jsonl": lambda p: frame.to_json(p, orient="records", lines=True, double_precision=15),
        "j.parquet": lambda p: frame.to_parquet(p),
        "k.feather": lambda p: frame.to_feather(p),
        "l.npz": lambda p: np.savez(p, **SCORES),
        "levels.parquet": lambda p: indexed.to_parquet(p),
        "levels in columns.parquet": lambda p: indexed.unstack("seed").to_parquet(p),
        "UTF-16.csv": lambda p: frame.to_csv(p, index=False, sep="\t", encoding="utf-16"),
        "m.npz": lambda p: np.savez(p, **{c: np.array(frame[c].tolist()) for c in frame}),
        "n.csv": lambda p: frame.assign(score=signed).to_csv(p, index=False),
    }  # fmt: skip
    for name, write in put.items():
        write(root / name)
    found = {name: ([root / name], {}) for name in put}
    for name, own in SCORES.items():
        np.save(root / f"{name}.npy", own)
        (root / f"{name}.json").write_text(json.dumps(by_task()[name]))
    found["npy"] = ([root / f"{name}.npy" for name in SCORES], {})
    found["a file a method"] = ([root / f"{name}.json" for name in SCORES], {})
    by_seed(frame).reset_index().to_csv(root / "wide.csv", index=False)
    found["wide.csv"] = ([root / "wide.csv"], {"columns": {"task": "*"}})
    percent.to_csv(root / "percent.csv", index=False)
    return found


def bits(found: uqbench.Compared) -> list[str]:
    values = found.intervals  # those over the first method are among the pairs
    values = values[~values["statistic"].str.startswith("improvement")]
    values = values.sort_values(["method", "statistic"])
    return [t.to_csv(index=False) for t in (found.ranks, found.pairs, values)]


def test_the_same_numbers_in_every_form_give_the_same_ranks_to_the_bit(tmp_path):
    expected, forms = bits(uqbench.compare(SCORES)), objects() | files(tmp_path)
    assert len(forms) == 35
    for name, (scores, options) in forms.items():
        found = uqbench.compare(scores, **options)
        assert bits(found) == expected, name
        assert str(found.ledger).startswith("read 45 of 45 values of "), name
    percent = uqbench.compare(tmp_path / "percent.csv").board.scores
    exact = uqbench.compare({m: own / 100 for m, own in SCORES.items()}).board.scores
    assert [s.score for s in percent] == pytest.approx([s.score for s in exact], rel=1e-15)


def test_xarrays_own_arrays_are_read():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(
        np.stack([*SCORES.values()]), {"method": [*SCORES], "seed": range(5), "task": TASKS},
        ("method", "seed", "task"))  # fmt: skip
    expected = bits(uqbench.compare(SCORES))
    assert bits(uqbench.compare(array)) == expected
    assert bits(uqbench.compare(array.to_dataset(name="score"))) == expected
    each = {m: array.sel({"method": m}, drop=True) for m in SCORES}
    assert bits(uqbench.compare(each)) == expected


def test_frames_of_learning_curves_count_from_one():
    curves = np.stack([np.arange(1.0, 11)] * 4)[:, None].repeat(2, axis=1)  # [runs, tasks, frames]
    found = uqbench.compare({"a": curves, "b": curves + 1})
    assert str(found.ledger) == (
        "read 16 of 160 values of 1 file; left out: 144 before the last 10% of the steps"
    )
    assert set(found.ledger.runs["last_step"]) == {10}
    assert {s.score for s in found.board.scores if s.method == "a"} == {10.0}


def test_a_ledger_has_a_row_a_run_and_a_reason_for_what_is_not_used(tmp_path):
    path = tmp_path / "curves.csv"
    rows = [f"a,t,{s},{k},{k},x" for s in (1, 2) for k in range(10, 101, 10)]
    rows += [f"a,t,3,{k},{k},x" for k in (10, 20, 30)] + ["a,t,4,0,-50,x", "a,t,5,100,inf,x"]
    path.write_text("\n".join(["method,task,seed,step,score,notes", *rows, "a,t,6,100,,x"]))
    found = uqbench.compare(path)
    (cell,) = found.board.scores.cells
    assert cell.status == ["finished"] * 2 + ["failed"] * 4
    runs = found.ledger.runs.set_index("seed")
    assert list(runs["used"]) == [1, 1, 0, 0, 0, 0]
    assert runs.loc["3", "why"] == "of a run that ended early: at 30 of 100"
    assert runs.loc["4", "why"] == "of a run that ended early: at 0 of 100"
    assert runs.loc["5", "why"] == "of a run with an infinite score"
    assert runs.loc["6", "why"] == "empty"
    read_as = found.ledger.columns.set_index("column")["read_as"]
    assert (read_as["notes"], read_as["step"]) == ("not asked for", "step")
    assert "Read 2 of 26 values of 1 file; left out: 18 before the last 10%" in repr(found)
    short = uqbench.compare(path, horizon=30)
    assert list(short.ledger.runs.set_index("seed").loc[["1", "2", "3"], "used"]) == [1, 1, 1]
    assert "15 after the horizon" in str(short.ledger)


def test_a_run_that_lacks_evaluations_of_its_last_steps_has_no_score():
    rows = [("a", "t", s, k, 1.0) for s in range(5) for k in range(1, 101)]
    frame = pd.DataFrame(rows, columns=["method", "task", "seed", "step", "score"])
    cut = frame[~((frame["seed"] == 3) & frame["step"].between(93, 96))]
    runs = uqbench.compare(cut).ledger.runs.set_index("seed")
    assert runs.loc["3", "why"].startswith("of a run that lacks steps: 93")
    assert list(runs["used"]) == [10, 10, 10, 0, 10]


def test_a_value_that_is_neither_used_nor_left_out_is_refused(monkeypatch):
    from uqbench_compare import score_table as module

    judged = module._judged
    monkeypatch.setattr(
        module, "_judged", lambda *a: judged(*a).assign(why=lambda v: v["why"].where(v.index > 0))
    )
    with pytest.raises(UqbenchError, match="neither used nor left out"):
        uqbench.compare(long())
    monkeypatch.setattr(module, "_judged", lambda *a: judged(*a)[1:])
    with pytest.raises(UqbenchError, match="neither used nor left out"):
        uqbench.compare(long())


@pytest.mark.parametrize(
    "name", ["nll", "test/NLL", "td_error", "valLoss", "regrets", "rmse", "ECE"]
)
def test_a_cost_is_refused_until_its_direction_is_given(name, tmp_path):
    assert looks_like_a_cost(name)
    rows = [(m, "t", s, x + s / 100) for m, x in (("good", 0.2), ("bad", 3.0)) for s in range(5)]
    frame = pd.DataFrame(rows, columns=["method", "task", "seed", name])
    frame.to_csv(path := tmp_path / "costs.csv", index=False)
    given = {"columns": {"score": name}}
    with pytest.raises(UqbenchError, match=rf"costs\.csv: {name} sounds like a cost.*--better"):
        uqbench.compare(path, **given)
    found = uqbench.compare(path, **given, better="lower")
    assert list(found.ranks["method"]) == ["good", "bad"]
    assert "they are shown negated" in repr(found)
    assert next(iter(uqbench.compare(path, **given, better="higher").ranks["method"])) == "bad"
    by_constants = uqbench.compare(path, **given, constants={"t": (3.0, 0.0)})
    assert list(by_constants.ranks["method"]) == ["good", "bad"]
    with pytest.raises(UqbenchError, match="by the constants lower is"):
        uqbench.compare(path, **given, constants={"t": (3.0, 0.0)}, better="higher")


@pytest.mark.parametrize(
    "name", ["return", "charts/episodic_return", "accuracy", "lossless", "score"]
)
def test_a_gain_needs_no_direction(name):
    assert not looks_like_a_cost(name)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.5", 1.5), (" -2e-3 ", -0.002), ("\N{MINUS SIGN}4", -4), (".5", 0.5), ("45.3 %", 0.453),
     ("inf", np.inf), ("NaN", np.nan), ("", np.nan), ("None", np.nan), ("<NA>", np.nan)],
)  # fmt: skip
def test_a_number_is_read_exactly(text, value):
    np.testing.assert_equal(number(text), value)


@pytest.mark.parametrize(
    "text", ["1_000", "1,000.5", "1,5", "x", "1+2j", "0x10", "1.2.3", "\u0663"]
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="is no number"):
        number(text)


def test_commas_percentages_and_complex_numbers_are_not_guessed():
    assert list(numbers(["1,25", "3"], "x", commas=True)) == [1.25, 3]
    with pytest.raises(UqbenchError, match="decimal commas are read where ;"):
        numbers(["1,25"], "x")
    with pytest.raises(UqbenchError, match="no separator of thousands"):
        numbers(["1.234,5"], "x", commas=True)
    with pytest.raises(UqbenchError, match="some are percentages"):
        numbers(["1%", "3"], "x")
    with pytest.raises(UqbenchError, match="complex"):
        uqbench.compare({"a": np.ones((3, 2)) * 1j})


@pytest.mark.parametrize(
    "names", [["Group: dqn", "Group: ppo"], ["Pong__dqn__1__17", "lively-sun"]]
)
@pytest.mark.parametrize("asked", [{}, {"task": "*"}])
def test_a_chart_whose_columns_name_no_runs_is_refused(names, asked, tmp_path):
    """W&B's groups are means over runs; with ``task=*`` they and their MIN and MAX were tasks."""
    columns = [f"{n} - charts/return{end}" for n in names for end in ("", "__MIN", "__MAX")]
    pd.DataFrame(1.0, [50, 100], columns).rename_axis("global_step").to_csv(tmp_path / "chart.csv")
    with pytest.raises(UqbenchError, match=rf"chart, and '{names[1]}.* names no run: expected ENV"):
        uqbench.compare(tmp_path / "chart.csv", columns=asked)


FRAME = pd.DataFrame({"method": "a", "task": "t", "seed": [0, 1], "score": [1.0, 2.0]})


AMBIGUOUS = [
    (FRAME.assign(reward=3.0), "has 2 columns of scores, score, reward: say which"),
    (pd.concat([FRAME, FRAME[["score"]]], axis=1), "has 2 columns of scores, score, score"),
    (FRAME.rename(columns={"method": "algo"}).assign(model="m"), "2 columns of methods"),
    (FRAME.assign(status=["finished", "asleep"]), "status 'asleep' is no known state"),
    (FRAME.assign(seed=[1, None]), "each with its seed; one has none"),
    (FRAME.assign(step=[1, None]), "a row has no step"),
    (FRAME.assign(score=pd.to_datetime(["2020", "2021"])), "is no number"),
]


@pytest.mark.parametrize(("frame", "said"), AMBIGUOUS)
def test_what_is_not_said_is_not_guessed(frame, said):
    with pytest.raises(UqbenchError, match=said):
        uqbench.compare(frame)


def test_words_for_the_end_of_a_run_are_those_of_many_tools():
    words = ["COMPLETE", "COMPLETED", "TERMINATED", "ok", "FINISHED", "done"]
    own = {"method": "a", "task": "t", "seed": range(6), "score": 1.0}
    frame = pd.DataFrame(own | {"State": words})
    assert str(uqbench.compare(frame).ledger) == "read 6 of 6 values of 1 file"
    crashed = frame.assign(State=[*words[:5], "crashed"])
    assert "1 of a run that did not finish" in str(uqbench.compare(crashed).ledger)


def test_a_run_that_goes_on_is_no_failure(tmp_path):
    """A table of MLflow's runs: the board says of each what its status says."""
    path = tmp_path / "runs.csv"
    states = ["FINISHED", "FINISHED", "FAILED", "RUNNING", "KILLED", "SCHEDULED"]
    rows = [f"r{k},{state},{k},b,Pong,{k}" for k, state in enumerate(states)]
    rows += [f"s{k},FINISHED,{k},a,Pong,{k}" for k in range(6)]
    head = "run_id,status,metrics.return,params.algo,params.env,params.seed"
    path.write_text("\n".join([head, *rows]))
    found = uqbench.compare(path)
    said = "4 of 12 planned runs have no score: Pong/b (2 failed, 1 missing, 1 running)"
    assert said in str(found)
    assert found.board.manifest({}).runs["running"] == 1


def test_a_column_a_method_is_read_where_it_is_said(tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("Game,Random,Human,DQN,C51\nAlien,0,10,2,4\nPong,-20,20,0,10\n")
    with pytest.raises(UqbenchError, match=r"has no column of scores.*or method=\* \(task=\*\)"):
        uqbench.compare(path)
    with pytest.raises(UqbenchError, match="as methods or as tasks, not as both"):
        uqbench.compare(path, columns={"method": "*", "task": "*"})
    found = uqbench.compare(path, columns={"method": "*"})
    scores = {(c.method, c.task): c.score.item() for c in found.board.scores.cells}
    assert scores == {
        ("DQN", "Alien"): 0.2, ("DQN", "Pong"): 0.5, ("C51", "Alien"): 0.4, ("C51", "Pong"): 0.75
    }  # fmt: skip
    read_as = found.ledger.columns.set_index("column")["read_as"]
    assert read_as.to_dict() == {
        "Game": "task", "Random": "zero", "Human": "one", "DQN": "method", "C51": "method"
    }  # fmt: skip


def test_names_are_texts(tmp_path):
    path = tmp_path / "versions.csv"
    rows = [f"{m},t,{s},{s + k}" for k, m in enumerate(("1.1", "1.10", "None")) for s in range(4)]
    path.write_text("\n".join(["method,task,seed,score", *rows]))
    assert {*uqbench.compare(path).ranks["method"]} == {"1.1", "1.10", "None"}
    twins = pd.DataFrame({"method": ["é", "e\u0301"], "task": "t", "seed": [0, 1], "score": 1.0})
    assert len(uqbench.compare(twins).board.scores.cells) == 1
    one = uqbench.compare(tmp_path / "versions.csv", columns={"task": "=Pong"})
    assert {cell.task for cell in one.board.scores.cells} == {"Pong"}


def test_folders_whose_names_end_in_digits_are_methods(tmp_path):
    for name in ("C51", "TD3", "DQN", "a2c_0", "a2c_1", "sac-seed3"):
        path = tmp_path / "logs" / name / "monitor.csv"
        write_monitor(path, ["1,10,1", "2,10,2"], "CartPole-v1", 1.0)
    runs = uqbench.compare(tmp_path / "logs").ledger.runs
    assert {(r.method, r.seed) for r in runs.itertuples()} == {
        ("C51", "0"), ("TD3", "0"), ("DQN", "0"), ("a2c", "0"), ("a2c", "1"), ("sac", "3"),
    }  # fmt: skip


def test_digests_of_files_of_one_name_are_all_in_the_manifest(tmp_path):
    for name, own in by_task().items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "scores.json").write_text(json.dumps(own))
    found = uqbench.compare([tmp_path / name / "scores.json" for name in SCORES])
    assert {*found.ranks["method"]} == {*SCORES}
    assert {*found.board.imported} == {f"{name}/scores.json" for name in SCORES}


def test_the_explanation_is_printed_with_the_result(tmp_path):
    path = tmp_path / "scores.csv"
    long().assign(notes="x").to_csv(path, index=False)
    command = [sys.executable, "-m", "uqbench", "compare", str(path)]
    said = subprocess.run([*command, "--explain"], capture_output=True, text=True, check=True)
    assert "not asked for" in said.stdout
    assert said.stdout.splitlines()[-1] == "read 45 of 45 values of 1 file"
    asked = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(asked.stdout)["read"] == "read 45 of 45 values of 1 file"


@pytest.mark.parametrize("told", [True, False])
def test_a_clone_with_other_ends_of_lines_reads_every_board(tmp_path, told):
    """Git for Windows changes the ends of lines of what it takes for text, unless told not to."""
    boards = [p.parent for p in sorted((ROOT / "leaderboards").rglob("manifest.json"))]
    taken = min(boards, key=lambda folder: sum(f.stat().st_size for f in folder.iterdir()))
    board = Path("leaderboards") / taken.relative_to(ROOT / "leaderboards")
    shutil.copytree(taken, (origin := tmp_path / "origin") / board)
    if told:
        shutil.copy(ROOT / ".gitattributes", origin)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.autocrlf=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], cwd=origin, check=True)
    clone = ["git", "clone", "-q", "-c", "core.autocrlf=true", "origin", "clone"]
    subprocess.run(clone, cwd=tmp_path, check=True)
    read = StoredBoard.read(tmp_path / "clone" / board)
    if told:
        assert len(read.leaderboard)
    else:
        with pytest.raises(UqbenchError, match="does not match its digest"):
            read.leaderboard  # noqa: B018


def test_a_part_without_rows_is_none():
    with pytest.raises(UqbenchError, match="there are none"):
        score_table([Part("x", pd.DataFrame(columns=["method", "task", "score"]), columns={})])
