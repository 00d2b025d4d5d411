"""``uqbench compare`` and ``uqbench score`` from the command line."""

import json
import sys

import numpy as np
import pytest

from uqbench.cli import main


def call(capsys, monkeypatch, *arguments: object) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["uqbench", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"{m},{t},{s},{s + 10 * (m == 'b')}" for m in "ab" for t in "xy" for s in range(5)]
    path.write_text("\n".join(["method,task,seed,auc", *rows]))
    return path


def test_files_become_a_ranking_json_a_sentence_and_a_board(table, tmp_path, capsys, monkeypatch):
    code, _, err = call(capsys, monkeypatch, "compare", table)
    assert code == 2
    assert "--column score=NAME" in err
    given = ("compare", table, "--column", "score=auc")
    code, out, _ = call(capsys, monkeypatch, *given, "--write", tmp_path, "--suite-name", "mine")
    assert code == 0
    assert "b is significantly better than a on mine · imported" in out
    board = tmp_path / "mine" / "imported"
    same = 0, "same, to the last digit\n", ""
    assert call(capsys, monkeypatch, "compare", board, board) == same
    code, out, _ = call(capsys, monkeypatch, "compare", board, "--pair", "a,b")
    assert out.startswith("a is significantly worse than b")
    code, out, _ = call(capsys, monkeypatch, *given, "--json")
    found = json.loads(out)
    assert [row["method"] for row in found["ranks"]] == ["b", "a"]
    assert {row["low"] for row in found["intervals"] if row["statistic"] == "median"} == {None}
    assert call(capsys, monkeypatch, "compare", board, table)[0] == 2


def test_boards_that_differ_end_with_one(table, tmp_path, capsys, monkeypatch):
    given = ("--column", "score=auc", "--suite-name", "mine", "--write")
    call(capsys, monkeypatch, "compare", table, *given, tmp_path / "one")
    table.write_text(table.read_text().replace("a,x,4,4", "a,x,4,5"))
    call(capsys, monkeypatch, "compare", table, *given, tmp_path / "two")
    folders = [tmp_path / n / "mine" / "imported" for n in ("one", "two")]
    code, out, _ = call(capsys, monkeypatch, "compare", *folders)
    assert code == 1
    assert "1 of 20 shared runs differ\nx/a/4/score: A 4.0, B 5.0" in out


def test_predictions_are_scored(tmp_path, capsys, monkeypatch):
    path = tmp_path / "p.npz"
    np.savez(path, interval=np.tile([0.0, 1.0], (40, 1)), targets=np.linspace(0, 1.2, 40))
    code, out, _ = call(capsys, monkeypatch, "score", path)
    assert code == 0
    head = out.splitlines()[0].split()
    assert head == ["value", "95", "%", "from", "to", "calibrated", "climatology", "better"]
    assert "absent: rmse: needs a mean" in out.splitlines()
    found = json.loads(call(capsys, monkeypatch, "score", path, "--json")[1])
    assert found["absent"]["rmse"] == "needs a mean"
    rows = {row["score"]: row for row in found["scores"]}
    assert rows["width_90"]["value"] == 1
    assert rows["width_90"]["low"] is None
