"""Results from Python are those of the command line's files."""

import csv
import io
import json
import shutil
import subprocess
import sys
from importlib.machinery import BuiltinImporter
from inspect import isfunction, signature
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import toy_plugin
from packed import read_scores, write_scores

import uqbench
from uqbench.errors import UqbenchError, UqbenchWarning


@pytest.fixture(scope="module")
def toy():
    """The toy plugin, here and in the workers."""
    with pytest.MonkeyPatch.context() as patch:
        toy_plugin(patch, "toy,builtin,claims,leaderboard")
        yield


@pytest.fixture(scope="module")
def results(toy, tmp_path_factory: pytest.TempPathFactory) -> uqbench.Results:
    out = tmp_path_factory.mktemp("api") / "results"
    return uqbench.run("toy", methods="fast", seeds=2, workers=1, out=out, progress=False)


def test_windows_is_refused_with_what_to_do():
    script = "import shutil, sys; sys.platform = 'win32'; import uqbench"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "uqbench runs on Linux and macOS; on Windows use it in WSL" in done.stderr


def test_the_profile_is_of_a_package_that_is_imported_when_it_is_asked_for(monkeypatch):
    script = (
        "import sys, uqbench; assert 'uqbench_profile' not in sys.modules; "
        "assert uqbench.profile is sys.modules['uqbench_profile.profile'].profile"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    monkeypatch.delitem(vars(uqbench), "profile", raising=False)
    for name in [name for name in sys.modules if name.startswith("uqbench_profile")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [BuiltinImporter])  # nothing is installed
    with pytest.raises(UqbenchError, match=r"needs uqbench_profile, .*: python -m pip install"):
        _ = uqbench.profile


def test_runs_of_a_budget_that_is_gone_make_no_board_and_others_are_named(results, tmp_path):
    budget = Path(results.runs["run"].iloc[0]).parts[1]
    shutil.copytree(results.origin / "toy" / budget, tmp_path / "toy" / "papr")
    with pytest.warns(UqbenchWarning, match=r"no board of toy/papr: .* Did you mean 'paper'"):
        assert uqbench.load(tmp_path).boards == ()


BOARDS = Path(__file__).parents[2] / "leaderboards"


def test_estimates_are_the_columns_of_the_file():
    own = uqbench.load(BOARDS)["windy-cliff", "paper"]
    file, estimates = own.table("leaderboard.csv").set_index("method"), own.estimates()
    for row in estimates.itertuples():
        over = f"improvement_over_{row.baseline}" if row.baseline else row.metric
        cells = file.loc[row.method, [over, f"{over}_low", f"{over}_high"]].astype(float)
        assert np.array_equal([row.value, row.low, row.high], cells, equal_nan=True)
    points = {"iqm", "worst_quarter"}  # this board ranks by the mean
    columns = [name for name in file if f"{name}_low" in file and name not in points]
    assert len(estimates) == file[columns].notna().sum().sum()
    assert set(estimates["baseline"]) == {"", "qr-dqn"}


def test_results_are_indexed_filtered_and_added():
    stored = uqbench.load(BOARDS)
    assert len(stored.board()) == len(stored.table("leaderboard.csv"))
    cartpole, sine = stored["cartpole"], stored["sine"]
    assert [board.name for board in cartpole.boards] == ["paper", "paper-1e6"]
    assert [board.name for board in stored["cartpole", "paper"].boards] == ["paper"]
    both = cartpole + sine
    assert [len(one.runs) for one in both] == [*(len(one.runs) for one in cartpole), len(sine.runs)]
    assert len(both.board()) == len(cartpole.board()) + len(sine.board())
    own = stored["windy-cliff"].filter(methods=["qr-dqn", "safe-path"], tasks="cliff")
    assert set(own.scores["method"]) == set(own.board()["method"]) == {"qr-dqn", "safe-path"}
    assert len(own.pairs()) == 7 + 6
    for asked, said in (
        (lambda: stored["sin"], "There is no suite 'sin'. Did you mean 'sine'"),
        (lambda: stored["sine", "pper"], "There is no board 'pper'. Did you mean 'paper'"),
        (lambda: sine.filter(methods="qam"), "There is no method 'qam'"),
    ):
        with pytest.raises(UqbenchError, match=said):
            asked()


def test_runs_are_indexed_filtered_and_added(results, copied):
    own = results.filter(tasks="short")
    assert (
        set(own.runs["task"]) == set(own.metrics()["task"]) == set(own.scores["task"]) == {"short"}
    )
    assert len(results["toy", results.boards[0].name].runs) == len(results.runs) == 4
    both = own + uqbench.load(copied).filter(tasks="short")
    assert len(both.metrics("reward")) == 2 * len(own.metrics("reward"))
    with pytest.raises(UqbenchError, match="only results of one kind"):
        _ = own + uqbench.load(BOARDS)


def test_what_is_installed_is_listed(toy):
    suites = uqbench.list_suites().set_index("name")
    assert suites.loc["toy", "budgets"] == uqbench.list_budgets("toy")["name"].tolist()
    methods = uqbench.list_methods("toy").set_index("name")
    assert set(methods.index) == set(suites.loc["toy", "methods"])
    assert methods.loc["fast", "agent"] in set(uqbench.list_agents()["name"])
    with pytest.raises(UqbenchError, match=r"There is no suite 'tpy'\. Did you mean 'toy'"):
        uqbench.list_methods("tpy")


def test_a_shell_lists_its_names_and_shows_types_of_calls():
    assert dir(uqbench) == sorted(uqbench.__all__)
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        _ = uqbench.runs
    calls = [call for name in uqbench.__all__ if isfunction(call := getattr(uqbench, name))]
    for call in (*calls, uqbench.Options, uqbench.Results):
        shown = signature(call)
        types = [one.annotation for one in shown.parameters.values()]
        for one in (*types, shown.return_annotation):
            assert not isinstance(one, str), call
            assert one is not shown.empty, call


@pytest.mark.parametrize("name", ["leaderboard.csv", "pairs.csv", "claims.csv", "scores.csv"])
def test_frames_have_the_numbers_of_the_files(results, name):
    (board,) = results.origin.glob("leaderboards/toy/*")
    text = read_scores(board) if name == "scores.csv" else (board / name).read_text()
    frame, of_file = results.table(name), list(csv.DictReader(io.StringIO(text)))
    assert len(frame) == len(of_file)
    for place, row in enumerate(of_file):
        for column, cell in row.items():
            value = frame[column][place]
            if isinstance(value, float | int | np.number):
                assert value == float(cell) if cell not in ("", "none") else np.isnan(value)
            else:
                assert value == cell


def test_a_row_of_runs_is_a_run_json(results):
    assert len(results.runs) == 4
    for _, row in results.runs.iterrows():
        record = json.loads((results.origin / row["run"] / "run.json").read_text())
        assert record["status"] == row["state"] == "finished"
        assert record["digests"]["results"] == row["results_digest"]
        assert record["timing"]["steps_per_s"] == row["steps_per_s"]
        assert record["identity"]["seed"] == row["seed"]


def test_metrics_and_episodes_are_the_columns_of_the_runs(results):
    metrics, episodes = results.metrics(), results.episodes()
    for _, row in results.runs.iterrows():
        for frame, name in ((metrics, "metrics.parquet"), (episodes, "episodes.parquet")):
            table = pq.read_table(results.origin / row["run"] / name).to_pandas()
            places = ["task", "method", "seed"]
            own = frame[(frame[places] == row[places]).all(axis=1)]
            assert own[list(table.columns)].reset_index(drop=True).equals(table)
    assert len(results.metrics("reward")) == 4 * 100
    assert set(results.metrics("reward")["metric"]) == {"reward"}
    assert set(results.episodes("training")["phase"]) == {"training"}


def test_stored_boards_give_the_frames_of_the_runs_they_are_of(results):
    loaded, boards = map(uqbench.load, (results.origin, results.origin / "leaderboards"))
    assert loaded.runs.equals(results.runs)
    assert loaded.boards[0].files() == results.boards[0].files()
    assert boards.board().equals(results.board())
    assert boards.scores.equals(results.scores)
    assert set(boards.metrics()["metric"]) == {"return"}
    with pytest.raises(UqbenchError, match=r"Episodes are in the runs' own files"):
        boards.episodes()


def test_a_plan_says_what_is_left(results):
    planned = uqbench.plan("toy", methods="fast", seeds=3, out=results.origin)
    assert planned.runs["state"].value_counts().to_dict() == {"finished": 4, "missing": 2}
    assert planned.methods[["method", "to_do", "have"]].values.tolist() == [["fast", 2, 4]]
    assert "2 of 6 runs to do" in repr(planned)


@pytest.fixture
def copied(results, tmp_path) -> Path:
    shutil.copytree(results.origin, tmp_path / "copy")
    return tmp_path / "copy"


def first_run(out: Path) -> Path:
    return sorted(out.glob("toy/*/*/*/*/run.json"))[0].parent


def test_an_edited_file_is_refused(copied):
    path = first_run(copied) / "metrics.parquet"
    table = pq.read_table(path)
    values = pa.array(np.asarray(table["value"]) + 1)
    pq.write_table(table.set_column(table.column_names.index("value"), "value", values), path)
    with pytest.raises(UqbenchError, match="does not match its digest"):
        uqbench.load(copied).metrics()
    board = next(copied.glob("leaderboards/toy/*/scores.csv.gz")).parent
    write_scores(board, read_scores(board).replace("finished", "failed", 1))
    with pytest.raises(UqbenchError, match="does not match its digest"):
        _ = uqbench.load(copied / "leaderboards").scores


def test_a_link_is_not_followed(copied, tmp_path):
    path = first_run(copied) / "metrics.parquet"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UqbenchError, match="symbolic link"):
        uqbench.load(copied).metrics()
    (copied / "leaderboards" / "toy").rename(tmp_path / "toy")
    (copied / "leaderboards" / "toy").symlink_to(tmp_path / "toy")
    with pytest.raises(UqbenchError, match="neither runs nor leaderboards"):
        uqbench.load(copied / "leaderboards")


def test_a_table_that_would_not_fit_in_memory_is_refused(copied, monkeypatch):
    monkeypatch.setattr("uqbench.results.tables.MOST_ROWS", 10)
    with pytest.raises(UqbenchError, match="is refused"):
        uqbench.load(copied).metrics()


def test_links_of_a_folder_to_itself_are_not_followed(tmp_path):
    """To follow n of them takes n⁵ looks at least: 3 million of these."""
    for number in range(20):
        (tmp_path / f"link{number}").symlink_to(tmp_path)
    with pytest.raises(UqbenchError, match="has neither runs nor leaderboards"):
        uqbench.load(tmp_path)


def test_a_notebook_shows_text_and_not_what_it_may_hold(results):
    assert "<td>fast</td>" in results._repr_html_()
    hostile = uqbench.Results(Path("<script>"), lambda: [], results.stored)
    assert "<script>" not in hostile._repr_html_()


def test_runs_that_no_installed_suite_makes_are_listed_and_on_no_board(copied):
    (copied / "toy").rename(copied / "gone")
    loaded = uqbench.load(copied)
    assert len(loaded.runs) == 4
    with pytest.warns(UqbenchWarning, match="no board of gone/paper"):
        assert loaded.boards == ()
