"""A stored board has rows of all that its manifest lists."""

import csv
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from uqbench.boards.leaderboard import Board
from uqbench.boards.scores import gather
from uqbench.boards.stored import StoredBoard, board_at
from uqbench.contract.errors import UqbenchError
from uqbench.pages.board_folders import all_files
from uqbench.pages.check import check, rewrite
from uqbench.pages.markdown import page
from uqbench.results import files
from uqbench.results.store import Store
from uqbench.suites.selection import Selection

SELECTION = Selection("toy", "paper", None, None, None, None)


def write(board: Board, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in all_files(board, {}).items():
        (folder / name).write_bytes(data)


def read(plan, host, folder):
    stored = StoredBoard(board_at(folder))
    return stored, stored.board(plan, SELECTION, host, print)


def keep(path: Path, methods: set[str]) -> None:
    rows = csv.DictReader(io.StringIO(path.read_text()))
    text = io.StringIO()
    writer = csv.DictWriter(text, rows.fieldnames or (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows if row["method"] in methods)
    path.write_text(text.getvalue())


@pytest.mark.parametrize(
    ("path", "names"),
    [("/", ()), ("/etc", ("etc",)), ("/a/b", ("a", "b")), ("/a/b/c", ("b", "c"))],
)
def test_a_board_may_be_named_wherever_it_is_below_the_root_of_the_file_system(path, names):
    folder = board_at(Path(path))
    assert folder.names == names
    assert folder.path == Path(path)
    with pytest.raises(UqbenchError, match="is not a leaderboard's folder"):
        StoredBoard.read(Path(path))


def test_rows_of_a_seed_that_were_removed_are_missed(host, tmp_path):
    plan = SELECTION.plan(host, "cpu")
    write(Board.of(plan, gather(plan, Store(tmp_path / "none"))), tmp_path)
    lines = (tmp_path / "scores.csv").read_text().splitlines(keepends=True)
    (tmp_path / "scores.csv").write_text("".join(lines[:-1]))
    with pytest.raises(UqbenchError, match=r"no rows of short/slow \(seed 2\), which manifest"):
        read(plan, host, tmp_path)


def test_a_page_says_which_planned_runs_and_methods_of_the_suite_are_missing(host, tmp_path):
    plan = replace(SELECTION, methods=("slow",)).plan(host, "cpu")
    board = Board.of(replace(plan, standard=True), gather(plan, Store(tmp_path / "none")))
    assert json.loads(board.files()["manifest.json"])["standard"] is False
    text = page(board, [], "")
    assert "6 of 6 planned runs have no score: `long/slow` (3 missing), `short/slow`" in text
    assert "methods of the suite without runs here: `fast`." in text


def test_a_board_that_was_written_from_fewer_rows_is_not_standard_and_a_check_says_so(
    host, tmp_path, capsys
):
    plan = SELECTION.plan(host, "cpu")
    scores = gather(plan, Store(tmp_path / "none"))
    whole = Board.of(plan, scores)
    assert json.loads(whole.files()["manifest.json"])["standard"] is True
    folder = tmp_path / "toy" / "paper"
    write(whole, folder)
    keep(folder / "scores.csv", {"slow"})
    (folder / "manifest.json").unlink()
    rewrite(*read(plan, host, folder), host)
    assert json.loads((folder / "manifest.json").read_text())["standard"] is False
    capsys.readouterr()
    assert check(*read(plan, host, folder), Store(tmp_path / "none"), print)
    assert "methods of the suite without runs here: fast" in capsys.readouterr().out


def test_rows_of_a_method_that_were_removed_are_missed(host, tmp_path, capsys):
    plan = SELECTION.plan(host, "cpu")
    write(Board.of(plan, gather(plan, Store(tmp_path / "none"))), tmp_path)
    assert read(plan, host, tmp_path)[1].plan.runs == plan.runs
    keep(tmp_path / "scores.csv", {"slow"})
    with pytest.raises(UqbenchError, match=r"no rows of long/fast, short/fast, which manifest"):
        read(plan, host, tmp_path)
    (tmp_path / "manifest.json").unlink()
    read(plan, host, tmp_path)
    assert "has no runs of fast, which the suite has here" in capsys.readouterr().out
    (tmp_path / "manifest.json").write_text('{"methods": 3}')
    with pytest.raises(UqbenchError, match=r"manifest\.json is damaged"):
        read(plan, host, tmp_path)


def test_a_board_of_before_with_plain_scores_is_read_and_written_anew_compressed(host, tmp_path):
    plan, none = SELECTION.plan(host, "cpu"), Store(tmp_path / "none")
    folder = tmp_path / "toy" / "paper"
    write(Board.of(plan, gather(plan, none)), folder)
    before = (folder / "scores.csv").read_bytes()
    assert check(*read(plan, host, folder), none, print)
    (folder / "claims.csv").write_text("")
    rewrite(*read(plan, host, folder), host)
    assert not (folder / "scores.csv").exists()
    packed = (folder / "scores.csv.gz").read_bytes()
    assert gzip.decompress(packed) == before
    assert check(*read(plan, host, folder), none, print)
    (folder / "claims.csv").write_text("")
    rewrite(*read(plan, host, folder), host)
    assert (folder / "scores.csv.gz").read_bytes() == packed


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-9],
        lambda data: data[:40] + b"damaged" + data[47:],
        lambda data: data + b"behind",
        lambda data: gzip.compress(bytes(files.MOST_UNPACKED + 1), 1),
        lambda data: b"task,method",
    ],
    ids=["cut", "damaged", "behind", "bomb", "plain"],
)
def test_compressed_scores_that_are_damaged_or_a_bomb_are_refused(
    damage, host, tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "MOST_UNPACKED", 1 << 20)
    plan = SELECTION.plan(host, "cpu")
    write(Board.of(plan, gather(plan, Store(tmp_path / "none"))), tmp_path)
    whole = (tmp_path / "scores.csv").read_bytes()
    (tmp_path / "scores.csv").unlink()
    (tmp_path / "scores.csv.gz").write_bytes(gzip.compress(whole))
    read(plan, host, tmp_path)
    (tmp_path / "scores.csv.gz").write_bytes(damage(gzip.compress(whole)))
    with pytest.raises(UqbenchError, match="is damaged, because it cannot be read"):
        read(plan, host, tmp_path)
