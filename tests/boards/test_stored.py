"""A stored board has rows of all that its manifest lists."""

import csv
import gzip
import io
import json
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from packed import read_scores
from uqbench_claims.verdict import Verdict
from uqbench_keeper.verify import add
from uqbench_leaderboard.check import check, rewrite

import uqbench
from uqbench.boards import Board, StoredBoard, board_at, gather
from uqbench.boards.manifest import missing_note
from uqbench.boards.with_stored import as_run_today
from uqbench.errors import UqbenchError
from uqbench.pages.board_folders import all_files, write_files
from uqbench.pages.markdown import page
from uqbench.results import Folder, Store, files
from uqbench.results.scores import Score, Scores
from uqbench.suites import Selection

SELECTION = Selection("toy", "paper", None, None, None, None)


def write(board: Board, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in all_files(board, {}).items():
        (folder / name).write_bytes(data)


def read(plan, host, folder):
    stored = StoredBoard(board_at(folder))
    return stored, stored.board(plan, SELECTION, host, print)


def keep(path: Path, methods: set[str]) -> None:
    rows, text = csv.DictReader(io.StringIO(path.read_text())), io.StringIO()
    writer = csv.DictWriter(text, rows.fieldnames or (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows if row["method"] in methods)
    path.write_text(text.getvalue())


@pytest.mark.parametrize("path", ["/", "/etc", "/a/b", "/a/b/c"])
def test_a_board_may_be_named_wherever_it_is_below_the_root_of_the_file_system(path):
    assert board_at(Path(path)).path == Path(path)
    assert len(board_at(Path(path)).names) <= 2
    with pytest.raises(UqbenchError, match="is not a leaderboard's folder"):
        StoredBoard.read(Path(path))


def test_a_board_with_a_metric_that_the_suite_lost_is_of_an_earlier_protocol(board, tmp_path):
    write(board, tmp_path / "toy/paper")
    stored, suite = StoredBoard(board_at(tmp_path / "toy/paper")), board.plan.suite
    assert stored.departures(suite, {}) == []
    metrics = tuple(m for m in suite.metrics if m.name != "online_cvar25")
    fewer = suite.model_copy(update={"metrics": metrics})
    assert stored.departures(fewer, {}) == ["there is no metric online_cvar25 any more"]


def test_a_page_says_which_planned_runs_and_methods_of_the_suite_are_missing(host, tmp_path):
    plan = replace(SELECTION, methods=("slow",)).plan(host, "cpu")
    board = Board.of(replace(plan, standard=True), gather(plan, Store(tmp_path / "none")))
    assert json.loads(board.files()["manifest.json"])["standard"] is False
    text = page(board, [], "")
    assert "6 of 6 planned runs have no score: `long/slow` (3 missing), `short/slow`" in text
    assert "methods of the suite without runs here: `fast`." in text


def test_what_a_method_does_not_state_is_not_missing():
    """None of two runs of "b" has a value, one of "a"."""
    runs = [Score("t", m, k, "finished", "", v, {}, "") for m, k, v in
            [("a", 0, 1.0), ("a", 1, None), ("b", 0, None), ("b", 1, None)]]  # fmt: skip
    said = missing_note(Scores.of(runs), SimpleNamespace(absent=lambda _: []))
    assert said.endswith("no score: `t/a` (1 without a value). **No statement:** `t/b`.")


def test_a_board_of_fewer_rows_is_not_standard_and_a_check_says_so(board, host, tmp_path, capsys):
    assert json.loads(board.files()["manifest.json"])["standard"] is True
    folder, plan = tmp_path / "toy" / "paper", board.plan
    write(board, folder)
    keep(folder / "scores.csv", {"slow"})
    (folder / "manifest.json").unlink()
    rewrite(*read(plan, host, folder), host)
    assert json.loads((folder / "manifest.json").read_text())["standard"] is False
    capsys.readouterr()
    assert check(*read(plan, host, folder), Store(tmp_path / "none"), print)
    assert "methods of the suite without runs here: fast" in capsys.readouterr().out


def test_rows_that_were_removed_are_missed(board, host, tmp_path, capsys):
    """Of a seed, of a method, and of one that nothing lists."""
    plan, scores = board.plan, tmp_path / "scores.csv"
    write(board, tmp_path)
    assert read(plan, host, tmp_path)[1].plan.runs == plan.runs
    whole = scores.read_text()
    scores.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    with pytest.raises(UqbenchError, match=r"no rows of short/slow \(seed 2\), which manifest"):
        read(plan, host, tmp_path)
    scores.write_text(whole)
    keep(scores, {"slow"})
    with pytest.raises(UqbenchError, match=r"no rows of long/fast, short/fast, which manifest"):
        read(plan, host, tmp_path)
    (tmp_path / "manifest.json").unlink()
    read(plan, host, tmp_path)
    assert "has no runs of fast, which the suite has here" in capsys.readouterr().out


@pytest.fixture
def board(host, tmp_path) -> Board:
    """A board without finished runs."""
    plan = SELECTION.plan(host, "cpu")
    return Board.of(plan, gather(plan, Store(tmp_path / "none")))


def test_a_board_of_plain_scores_is_read_and_compressed_when_written(board, host, tmp_path):
    folder, none = tmp_path / "toy" / "paper", Store(tmp_path / "none")
    write(board, folder)
    scores = (folder / "scores.csv").read_text()
    assert not (folder / "scores.csv.gz").exists()
    assert len(StoredBoard.read(folder).scores) == len(board.scores)
    assert check(*read(board.plan, host, folder), none, print)
    assert folder / "scores.csv" not in rewrite(*read(board.plan, host, folder), host)
    assert not (folder / "scores.csv").exists()
    assert read_scores(folder) == scores
    assert check(*read(board.plan, host, folder), none, print)


def test_a_board_that_is_written_twice_has_the_same_bytes(board, host, tmp_path, monkeypatch):
    folder, written = tmp_path / "toy" / "paper", []
    for now in (1e9, 2e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        write_files(all_files(board, {}), board_at(folder), host)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]
    assert "scores.csv.gz" in written[0]


DAMAGE = {
    "cut": lambda data: data[:-1], "empty": lambda data: b"", "plain": gzip.decompress,
    "checksum": lambda data: altered(data, len(data) - 8),
    "damaged": lambda data: altered(data, 20), "longer": lambda data: data + b"more",
    "twice": lambda data: data + data, "bomb": lambda data: gzip.compress(bytes(64 << 20)),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_bad_archives_are_named_and_take_no_memory(damage, board, host, tmp_path, monkeypatch):
    folder = tmp_path / "toy" / "paper"
    write_files(all_files(board, {}), board_at(folder), host)
    path = folder / "scores.csv.gz"
    path.write_bytes(damage(path.read_bytes()))
    monkeypatch.setattr(files, "MOST_UNPACKED", 1 << 20)
    said = r"scores\.csv(\.gz)? is damaged, because it (cannot be read: it )?is cut"
    tracemalloc.start()
    try:
        for reads in (StoredBoard(board_at(folder)).unchecked, lambda _: uqbench.compare(path)):
            with pytest.raises(UqbenchError, match=said):
                reads("scores.csv")
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def altered(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at:][1:]


def test_every_word_that_verdicts_ever_had_is_read_as_one_of_the_four(board, host, tmp_path):
    earlier = ["equal", "undecided", "not reproduced", "depends on the reading", "not judged"]
    words = [*earlier, "not applicable", *(one.value for one in Verdict)]
    folder = tmp_path / "toy" / "paper"
    write_files(all_files(board, {}), board_at(folder), host)
    text = "".join(f"{k},{word},here\n" for k, word in enumerate(words))
    (folder / "claims.csv").write_text(f"claim,verdict,source\n{text}")
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["sha256"]["claims.csv"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert {*StoredBoard.read(folder).claims["verdict"]} == {one.value for one in Verdict}


@pytest.fixture
def tables_alone(board, host, tmp_path) -> Path:
    """A copy of a board that lacks what the wheel leaves out."""
    folder = tmp_path / "boards" / "toy" / "paper"
    recorded = {"curves.parquet": b"PAR1", "uncertainty.parquet": b"PAR1"}
    write_files(all_files(board, recorded), board_at(folder), host)
    for name in ("scores.csv.gz", *recorded):
        (folder / name).unlink()
    return folder


def test_a_copy_with_tables_alone_has_them_and_says_what_it_lacks(tables_alone, board, host):
    boards = uqbench.load(tables_alone.parents[1])
    assert {*boards.board()["method"]} == {"fast", "slow"}
    assert len(boards.claims()) > 0
    stored, sent = StoredBoard.read(tables_alone), replace(SELECTION, methods=("slow",))
    sent = sent.plan(host, "cpu")
    said = r"paper has tables alone, no (scores\.csv|curves\.parquet|uncertainty\.parquet); "
    whole = "leaderboards/ of a clone is whole"
    for lacking in (
        lambda: boards.scores,
        lambda: boards.runs,
        lambda: boards.metrics(),
        lambda: stored.uncertainty,
        lambda: stored.checked("scores.csv"),
        lambda: stored.board(board.plan, SELECTION, host),
        lambda: uqbench.check_leaderboard(uqbench.Options("toy"), tables_alone.parents[1]),
        lambda: uqbench.rewrite_leaderboard(uqbench.Options("toy"), tables_alone.parents[1]),
        lambda: as_run_today(stored, board.plan, ["mine"], host, print),
        lambda: add(SimpleNamespace(plan=sent), host, Folder(tables_alone.parents[1]), print),
    ):
        with pytest.raises(UqbenchError, match=said + whole):
            lacking()
