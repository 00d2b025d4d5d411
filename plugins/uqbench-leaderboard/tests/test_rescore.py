"""``uqbench leaderboard --rescore``: a score that came after the runs, from what they predicted."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from packed import read_scores
from uqbench_leaderboard.cli.leaderboard import command

import uqbench
from uqbench.results import PREDICTIONS, Store

LATER_SCORE = """
from uqbench import ScoreSpec, hookimpl
from uqbench_compare.predictions.registered import rmse

@hookimpl
def uqbench_scores():
    return [ScoreSpec(name="again", version="1", factory=rmse, direction="min")]
"""
METHODS = ("mean-and-variance", "linear")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seeds of two estimators, and a score that a plugin has later."""
    folder = tmp_path_factory.mktemp("rescore")
    (folder / "later.py").write_text(LATER_SCORE)
    own = {"methods": METHODS, "tasks": ["diabetes"], "seeds": 3, "progress": False}
    uqbench.run("regression", "smoke", **own, workers=1, out=folder / "results")
    return folder


@pytest.fixture
def rescore(made: Path) -> Callable[[str], Result]:
    def called(score: str) -> Result:
        own = ["--suite", "regression", "--budget", "smoke", "--methods", ",".join(METHODS)]
        own += ["--tasks", "diabetes", "--seeds", "3", "--out", str(made / "results")]
        later = ["--plugin", str(made / "later.py"), "--rescore", score]
        return CliRunner().invoke(command, [*own, *later], standalone_mode=False)

    return called


def board_of(made: Path, score: str) -> Path:
    boards = (made / "results" / "leaderboards" / "regression").iterdir()
    (own,) = [path for path in boards if path.name.endswith("-again") == bool(score)]
    return own


def rows(path: Path) -> list[dict[str, str]]:
    """Of a board's scores, or of another table of it."""
    text = read_scores(path) if path.is_dir() else path.read_text()
    return list(csv.DictReader(text.splitlines()))


def test_a_score_of_another_plugin_is_that_of_the_runs_and_joins_a_board_of_its_own(made, rescore):
    results = sorted(made.glob("results/regression/**/*.parquet"))
    before = {path: path.read_bytes() for path in board_of(made, "").iterdir()}
    written = [path.stat().st_mtime_ns for path in results]
    done = rescore("again")
    assert done.return_value == 0, done.output
    own = board_of(made, "again")
    scores = rows(own)
    assert len(scores) == 6
    for row in scores:
        assert float(row["again"]) == pytest.approx(float(row["rmse"]), rel=1e-6)
    shown = {row["method"]: row for row in rows(own / "tasks.csv")}
    for method in METHODS:
        known = [float(row["again"]) for row in scores if row["method"] == method]
        assert float(shown[method]["again"]) == pytest.approx(sum(known) / 3, rel=1e-5)
    assert {path: path.read_bytes() for path in board_of(made, "").iterdir()} == before
    assert [path.stat().st_mtime_ns for path in results] == written != []


def test_a_score_that_nobody_registered_is_refused_with_the_nearest(rescore):
    done = rescore("agian")
    assert "no score 'agian'" in str(done.exception)
    assert "'again'" in str(done.exception)


def test_a_run_whose_predictions_were_edited_has_no_score(made, rescore):
    path = sorted(made.glob(f"results/regression/**/{PREDICTIONS}"))[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert rescore("again").return_value == 0
    path.write_bytes(whole)
    edited = str(path.parent.relative_to(made / "results"))
    scores = rows(board_of(made, "again"))
    assert [row["run"] for row in scores if not row["again"]] == [edited]
    assert [row["run"] for row in scores if row["status"] == "damaged"] == [edited]


def test_runs_that_kept_no_predictions_are_named(rescore, monkeypatch):
    monkeypatch.setattr(Store, "table", lambda *_: None)
    said = str(rescore("again").exception)
    assert "6 runs kept no predictions, such as regression/smoke/" in said


LATER = """
[[extend.five-state.metrics]]
name = "again"
summary = "another metric's values, by another name"
kind = "online"
statistic = "STATISTIC"
window = WINDOW
"""


def test_runs_are_scored_by_a_metric_of_training_that_the_suite_got_after_them(tmp_path):
    """An own metric's statistic by another name: the same values in the board, which is checked."""
    given = {"methods": "psrl", "seeds": 2, "out": tmp_path / "results", "progress": False}
    made = uqbench.run("five-state", "smoke", **given)
    known = next(m for m in made.boards[0].plan.suite.metrics if m.kind == "online")
    text = LATER.replace("STATISTIC", known.statistic).replace("WINDOW", str(known.window))
    (tmp_path / "later.toml").write_text(text)
    own = ["--suite", "five-state", "--budget", "smoke", "--methods", "psrl", "--seeds", "2"]
    own += ["--suite-file", str(tmp_path / "later.toml"), "--out", str(tmp_path / "results")]
    own += ["--to", str(tmp_path / "boards")]
    for option in ([], ["--check"]):
        done = CliRunner().invoke(command, [*own, *option], standalone_mode=False)
        assert done.return_value == 0, (done.output, done.exception)
    (folder,) = (path.parent for path in (tmp_path / "boards").rglob("manifest.json"))
    scores = rows(folder)
    assert [row["again"] for row in scores] == [row[known.name] for row in scores] != ["", ""]
    again = uqbench.run("five-state", "smoke", plugins=[str(tmp_path / "later.toml")], **given)
    values = [(row.values["again"], row.values[known.name]) for row in again.boards[0].scores]
    assert [str(again) for again, _ in values] == [row["again"] for row in scores]
    assert all(again == first for again, first in values)
