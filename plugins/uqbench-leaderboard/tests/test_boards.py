"""What the commands do, from Python: the same boards, verdicts and refusals."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from click.testing import CliRunner
from commands import toy_plugin
from uqbench_claims.cli import claims as claims_command

import uqbench
from uqbench.api.execute import execute
from uqbench.api.session import Session
from uqbench.errors import UqbenchError
from uqbench.registry import local


@pytest.fixture(scope="module")
def toy():
    """The toy plugin, here and in the workers."""
    with pytest.MonkeyPatch.context() as patch:
        toy_plugin(patch, "toy,builtin,claims,leaderboard")
        yield


@pytest.fixture(scope="module")
def out(toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of two methods."""
    out = tmp_path_factory.mktemp("experiment") / "results"
    uqbench.run("toy", seeds=2, workers=1, out=out, progress=False)
    return out


@pytest.fixture
def boards(out: Path, tmp_path: Path) -> Path:
    """Their board, alone."""
    boards = tmp_path / "boards"
    uqbench.leaderboard(options(out), boards)
    return boards


def options(out: Path | None) -> uqbench.Options:
    """Of the two seeds, and runs in ``out``."""
    return uqbench.Options("toy", seeds=2, out=out)


def tables(folder: Path) -> dict[str, bytes]:
    (board,) = folder.glob("toy/*/manifest.json")
    return {path.name: path.read_bytes() for path in board.parent.iterdir()}


def test_a_board_of_an_earlier_protocol_says_so_first_and_keeps_its_tables(out, boards):
    (manifest,) = boards.glob("toy/*/manifest.json")
    now = json.loads(manifest.read_text())["suite"]["version"]
    own, text = f'"version": "{now}"', manifest.read_text()
    assert own in text.partition('"suite"')[2]
    head, suite, rest = text.partition('"suite"')
    manifest.write_text(head + suite + rest.replace(own, '"version": "0"', 1))
    manifest.parent.rename(boards / "toy" / "paper")
    before, every, whole = tables(boards), uqbench.Options(out=out), uqbench.Options("toy", out=out)
    checked = uqbench.check_leaderboard(every, boards)
    assert not checked.good
    assert "its page does not say so first" in checked.lines[0]
    _, changed = uqbench.rewrite_leaderboard(whole, boards)
    after = tables(boards)
    assert {path.name for path in changed} == {"README.md", "manifest.json"}
    assert {name for name, data in after.items() if before[name] != data} == {
        "README.md", "manifest.json"}  # fmt: skip
    title, said = after["README.md"].decode().split("\n\n")[1:3]
    assert title.startswith("# ")
    assert said.startswith(f"*Of an earlier protocol (suite version 0, now {now}")
    assert after["README.md"].decode().replace(f"{said}\n\n", "") == before["README.md"].decode()
    assert uqbench.check_leaderboard(every, boards).good
    assert uqbench.rewrite_leaderboard(whole, boards)[1] == []


def test_a_board_is_that_of_the_run_and_passes_the_check(out, boards):
    assert tables(boards) == tables(out / "leaderboards")
    checked = uqbench.check_leaderboard(options(out), boards)
    assert checked.good
    assert "8 of its 8 rows compared" in checked.lines[0]


def test_a_table_that_was_edited_is_named_and_rewritten(out, boards):
    before = tables(boards)
    (path,) = boards.glob("toy/*/leaderboard.csv")
    path.write_bytes(path.read_bytes().replace(b"fast", b"last"))
    checked = uqbench.check_leaderboard(options(out), boards)
    assert not checked.good
    assert "leaderboard.csv: differs" in checked.lines[0]
    assert uqbench.rewrite_leaderboard(options(out), boards)[1] == [path]
    assert tables(boards) == before


def test_a_board_by_another_risk_measure_has_a_folder_of_its_own(out, tmp_path):
    written = uqbench.leaderboard(options(out), tmp_path, risk="cvar(0.25)")
    assert written.folder.name.endswith("-cvar-0-25")
    assert written.board.primary.risk == "cvar(0.25)"


def test_verdicts_of_all_suites_are_those_of_the_command(out):
    (found,) = [one for one in uqbench.verdicts(uqbench.Options(out=out)) if one.suite == "toy"]
    shown = CliRunner().invoke(claims_command.command, ["--out", str(out), "--json"])
    assert found.as_json() in json.loads(shown.stdout)
    assert sum(found.verdicts.values()) == found.claims > 0
    assert len(uqbench.judge_claims(uqbench.Options("toy", out=out))) == found.claims


def test_nothing_is_kept_where_no_folder_is_given(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = uqbench.Options("toy", methods="fast", tasks="short", seeds=[0], out=None, workers=1)
    done = execute(Session(options))
    assert done.folder is None
    assert done.unfinished == {}
    assert done.board is not None
    assert [row["method"] for row in done.board.rows()] == ["fast"]
    assert not list(tmp_path.iterdir())
    with pytest.raises(UqbenchError, match="expected a results folder"):
        uqbench.leaderboard(options)


@pytest.fixture(autouse=True)
def _own_plugins(monkeypatch):
    """A plugin that one test uses is not there in the next one."""
    monkeypatch.setenv(local.VARIABLE, "[]")


@pytest.fixture(scope="module")
def later(toy, tmp_path_factory: pytest.TempPathFactory) -> uqbench.Options:
    """A board of two methods in ``first/leaderboards``, and runs of a third one in ``later``."""
    folder = tmp_path_factory.mktemp("joined")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local.VARIABLE, "[]")
        uqbench.run("toy", workers=1, out=folder / "first", progress=False)
        more = folder / "more.toml"
        more.write_text('[[extend.toy.methods]]\nname = "again"\nbase = "fast"\n', "utf-8")
        own = {"plugins": [str(more)], "out": folder / "later"}
        uqbench.run("toy", methods="again", seeds=1, workers=1, progress=False, **own)
        shutil.copytree(folder / "later", folder / "short")
        uqbench.run("toy", methods="again", workers=1, progress=False, **own)
    return uqbench.Options("toy", **own)


def joining(later: uqbench.Options, to: Path, runs: str = "later") -> tuple[set[str], list[str]]:
    """The files of a copy of the board that change as the third method's runs are there."""
    root, said = Path(later.out).parent, list[str]()
    if not to.exists():
        shutil.copytree(root / "first" / "leaderboards", to)
    options = uqbench.Options("toy", out=root / runs, plugins=later.plugins)
    _, changed = uqbench.rewrite_leaderboard(options, to, said.append)
    return {path.name for path in changed}, said


def test_a_method_joins_a_stored_board_whose_runs_are_not_there(later, tmp_path):
    boards, folder = tmp_path / "boards", tmp_path / "boards" / "toy" / "paper"
    changed, said = joining(later, boards, "short")
    assert changed <= {"README.md", "manifest.json"}
    assert "4 of its runs are missing" in said[-1]
    scores = pd.read_csv(folder / "scores.csv.gz", dtype=str)
    assert joining(later, boards)[1][-1] == f"uqbench: again joined {folder}."
    known = pd.read_csv(folder / "scores.csv.gz", dtype=str)
    assert known[known["method"] != "again"].reset_index(drop=True).equals(scores)
    for name in ("scores.csv.gz", "cost.csv", "curves.parquet", "leaderboard.csv"):
        read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
        methods = read(folder / name)["method"]
        assert (methods == "again").sum() == (methods == "fast").sum() > 0
    made = json.loads((folder / "made_with.json").read_text())["runs"]
    assert sum(one["runs"] for one in made) == len(known)
    assert uqbench.check_leaderboard(later, boards, said.append).good
    assert joining(later, boards)[0] == set()


def test_none_joins_where_the_rows_that_are_there_could_not_stay(later, tmp_path, monkeypatch):
    for name, value, why in (
        (
            "StoredBoard.submitted",
            {"sent": SimpleNamespace(state="", says="")},
            "it has submitted rows, of other seeds",
        ),
        ("Scores.digest_of", "record", "its digests are of records"),
        ("older_scores", lambda board: "Scored with older definitions: x.", "older definitions: x"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"uqbench_leaderboard.joined.{name}", value)
            _, said = joining(later, tmp_path / name)
        assert why in said[-1]
        assert "again" not in pd.read_csv(tmp_path / name / "toy/paper/cost.csv")["method"].array


def test_costs_from_before_clocks_get_the_rows_that_join(later, tmp_path):
    boards, folder = tmp_path / "boards", tmp_path / "boards" / "toy" / "paper"
    shutil.copytree(Path(later.out).parent / "first" / "leaderboards", boards)
    table, manifest = (folder / name for name in ("cost.csv", "manifest.json"))
    then = sha256(table.read_bytes()).hexdigest()
    pd.read_csv(table, dtype=str).drop(columns="clock").to_csv(table, index=False)
    now = sha256(table.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text("utf-8").replace(then, now), "utf-8")
    assert "cost.csv" in joining(later, boards)[0]
    assert set(pd.read_csv(table)["clock"]) == {"cpu", "wall"}
