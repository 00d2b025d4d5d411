"""A submission's tables must follow from its scores; then its rows join a board, and are marked."""

import csv
import io
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from uqbench.boards.leaderboard import Board
from uqbench.boards.provenance import MadeWith, provenance_json
from uqbench.boards.scores import Score
from uqbench.boards.stored import StoredBoard, board_at
from uqbench.boards.submission.add import add
from uqbench.boards.submission.bundle import read_bundle, write_bundle
from uqbench.boards.submission.judge import _numbered, judge
from uqbench.boards.submission.make import lock, submit
from uqbench.boards.verification import Agreement, Verification
from uqbench.cli.verify import command
from uqbench.contract.errors import UqbenchError
from uqbench.pages.board_folders import all_files, write_files
from uqbench.pages.check import check
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.store import Store
from uqbench.suites.selection import Selection

PROVES = "5 of 6 re-made, 6 runs of new seeds: at most 17 % of rows can be false (95 %)"
MADE = MadeWith("cpu", "Linux x86_64", {"numpy": "1.0"}, {}, None, "2026-01-01", "2026-01-02", 6)


def scores_of(plan, method: str) -> list[Score]:
    """Simulated ones."""
    constants = plan.suite.normalization_constants(plan.suite.primary_metric(plan.budget))
    findings = []
    for run in plan.runs:
        raw = -3.0 - run.seed / 7 - (method == "slow")
        values = {metric.name: raw for metric in plan.suite.metrics if metric.kind == "online"}
        findings.append(
            Score(run.task, run.method, run.seed, "finished", "cpu",
                  constants[run.task].normalize(raw), values, str(run.folder), "0" * 64,
                  "uqbench:12345678")
        )  # fmt: skip
    return sorted(findings, key=lambda s: (s.task, s.method, s.seed))


@cache
def tables_of(method: str) -> dict[str, str]:
    """A board of simulated scores, computed once."""
    plan = Selection("toy", "paper", (method,)).plan(Host.load(), "cpu")
    return Board.of(plan, scores_of(plan, method)).files()


def submission(host, path: Path, method: str, **changed: bytes) -> Path:
    """A file as ``uqbench submit`` writes it, with other contents where they are given."""
    files = {name: text.encode() for name, text in tables_of(method).items()}
    files["made_with.json"] = provenance_json([MADE], "").encode()
    files["cost.csv"] = (
        b"task,method,device,runs,steps_per_s,device_hours\n"
        + f"short,{method},cpu,3,10.0,0.5000\n".encode()
    )
    files["lock.txt"] = lock().encode()
    files["check.json"] = json.dumps(
        {"toy-uqbench": [{"status": "passed", "level": "required", "check": "lanes"}]}
    ).encode()
    for name, data in changed.items():
        files[re.sub("_(?=csv|json|parquet)", ".", name)] = data
    write_bundle(path, "toy", "paper", [method], files)
    return path


def judged(host, path: Path, folder: Path):
    folder.mkdir()
    return judge(read_bundle(path), host, Folder(folder), print)


def test_tables_that_follow_are_told_from_those_that_do_not(host, tmp_path):
    good = judged(host, submission(host, tmp_path / "good.zip", "fast"), tmp_path / "1")
    assert good.findings.follows
    assert good.findings.checks == {"passed": 1}
    assert any(text.startswith("numpy 1.0 (here ") for text in good.findings.versions)
    better = good.bundle.files["leaderboard.csv"].replace(b"fast,method", b"fast,method ")
    bad = submission(host, tmp_path / "bad.zip", "fast", leaderboard_csv=better)
    findings = judged(host, bad, tmp_path / "2").findings
    assert findings.differing == ("leaderboard.csv",)
    assert not findings.follows


def test_a_required_rule_that_is_broken_or_a_plugin_that_was_not_checked_is_named(host, tmp_path):
    failed = [{"status": "failed", "level": "required", "check": "lanes"}]
    for n, (report, said) in enumerate(
        (({"toy-uqbench": failed}, "toy-uqbench: lanes"),
         ({"other": []}, "toy-uqbench: nothing was checked"))
    ):  # fmt: skip
        path = tmp_path / f"{n}.zip"
        submission(host, path, "fast", check_json=json.dumps(report).encode())
        findings = judged(host, path, tmp_path / str(n)).findings
        assert findings.broken == (said,)
        assert not findings.follows


def altered_scores(column: str, value: str) -> bytes:
    rows = list(csv.DictReader(io.StringIO(tables_of("fast")["scores.csv"])))
    rows[0][column] = value
    made = io.StringIO()
    writer = csv.DictWriter(made, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return made.getvalue().encode()


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("score", "9.9", "does not follow from its"),
        ("run", "../../../etc/passwd", "was run with other settings or versions"),
        ("digest", "x", "expected the columns"),
        ("results_digest", "", "the digest of"),
        ("results_digest", "<script>", "the digest of"),
        ("content", "uqbench:`](http://x)", "the content of"),
        ("device", "\x1b[2J", "the device of"),
        ("status", "best", "the status of"),
        ("seed", "7", "has no rows of"),
    ],
)
def test_a_row_that_uqbench_does_not_write_is_refused(host, tmp_path, column, value, said):
    if column == "digest":
        text = altered_scores("score", "1").replace(b"results_digest", b"other")
    else:
        text = altered_scores(column, value)
    path = submission(host, tmp_path / "sent.zip", "fast", scores_csv=text)
    with pytest.raises(UqbenchError, match=said):
        judged(host, path, tmp_path / "files")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("made_with_json", provenance_json([replace(MADE, device="x\n# T")], "").encode(), "plain"),
        ("made_with_json", b"[" * 10_000, "made_with"),
        ("cost_csv", b"task,method,device,runs,steps_per_s,device_hours\nshort,x,cpu,1,1,1\n",
         "other tasks or methods"),
        ("cost_csv", b"task,method,device,runs,steps_per_s,device_hours\nshort,fast,|,1,1,1\n",
         "cost.csv is damaged, because 0.device"),
        ("check_json", b'{"toy-uqbench": 3}', "check.json is damaged"),
        ("check_json", b"[" * 10_000, "check.json is damaged"),
        ("manifest_json", b"{}", "manifest.json is damaged"),
        ("claims_csv", b"\xff", "claims.csv"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_with_its_name(host, tmp_path, name, data, said):
    path = submission(host, tmp_path / "sent.zip", "fast", **{name: data})
    with pytest.raises(UqbenchError, match=said):
        judged(host, path, tmp_path / "files")


def test_rows_join_a_board_verified_or_self_reported_and_the_board_follows(host, tmp_path, capsys):
    boards = tmp_path / "boards"
    slow = judged(host, submission(host, tmp_path / "slow.zip", "slow"), tmp_path / "1")
    # as versions before this one wrote it, with curves, which nothing reads
    curves = {"curves_parquet": b"PAR1", "uncertainty_parquet": b"PAR1"}
    fast = judged(host, submission(host, tmp_path / "fast.zip", "fast", **curves), tmp_path / "2")
    quiet = lambda _: None  # noqa: E731
    folder = boards / "toy" / "paper"

    def write(joined):
        at, board, recorded = joined
        write_files(all_files(board, recorded), at, host)

    write(add(slow, {}, True, host, Folder(boards), quiet))
    agreement = dict.fromkeys("abcd", Agreement.SAME_BITS) | {"e": Agreement.LAST_PLACES}
    known = {"fast": Verification(6, agreement, 6, (0.0, -0.1, 0.1))}
    write(add(fast, known, True, host, Folder(boards), quiet))
    rows = {
        row["method"]: row
        for row in csv.DictReader(io.StringIO((folder / "leaderboard.csv").read_text()))
    }
    assert {m: (r["submitted"], r["runs_scored"]) for m, r in rows.items()} == {
        "fast": (f"verified: {PROVES}", "6"), "slow": ("self-reported", "6"),
    }  # fmt: skip
    page = (folder / "README.md").read_text()
    assert "(verified) |" in page
    assert f"fast, verified: {PROVES}; slow, self-reported." in page
    assert "(self-reported)" in page
    kept = json.loads((folder / "submissions.json").read_text())["fast"]
    assert kept["agreement"] == {"same bits": 4, "same to the last places": 1}
    assert (kept["rows"], kept["new_runs"], kept["sandbox"]) == (6, 6, True)
    assert kept["bundle"] == fast.bundle.digest
    assert (folder / "cost.csv").read_text().count("\n") == 3
    assert not list(folder.glob("*.parquet"))
    assert json.loads((folder / "manifest.json").read_text())["standard"] is True
    # the board is checked like any other
    whole = Selection("toy", "paper")
    stored = StoredBoard(board_at(folder))
    board = stored.board(whole.plan(host, "cpu"), whole, host, quiet)
    assert check(stored, board, Store(tmp_path / "none"), print)
    assert "byte for byte" in capsys.readouterr().out
    # runs of it that are made again later verify it; another file of the name replaces nothing
    for bars, state in (("too few",), "self-reported"), ((), "verified"):
        later = {"slow": Verification(6, {"a": Agreement.CONSISTENT}, bars=bars)}
        write(add(slow, later, False, host, Folder(boards), quiet))
        assert json.loads((folder / "submissions.json").read_text())["slow"]["state"] == state
    other = replace(fast, bundle=replace(fast.bundle, digest="1" * 64))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(UqbenchError, match="has a row of fast already"):
        add(other, {}, True, host, Folder(boards), quiet)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_runs_that_are_not_done_are_not_submitted(host, tmp_path):
    plan = Selection("toy", "paper", ("fast",)).plan(host, "cpu")
    with pytest.raises(UqbenchError, match=r"6 runs of 6 are not done.*uqbench run --suite toy"):
        submit(plan, host, Store(tmp_path / "none"), tmp_path / "sent.zip", lambda *_: [])


def test_the_lock_file_has_every_distribution_and_no_folder(host):
    text = lock()
    assert f"\nnumpy=={__import__('numpy').__version__}" in text
    assert "file://" not in text


def test_the_command_adds_what_follows_and_nothing_else(host, tmp_path, capsys):
    boards = tmp_path / "boards"
    better = tables_of("fast")["leaderboard.csv"].encode() + b"\n"
    bad = submission(host, tmp_path / "bad.zip", "fast", leaderboard_csv=better)
    ask = ["--sample", "0", "--add", str(boards)]
    assert command.main([str(bad), *ask], standalone_mode=False) == 1
    told = capsys.readouterr()
    assert "leaderboard.csv: differs from what follows" in told.out
    assert "not added" in told.err
    assert not boards.exists()
    good = submission(host, tmp_path / "good.zip", "fast")
    assert command.main([str(good), *ask, "--json"], standalone_mode=False) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["methods"], said["differing"], said["agreement"]) == (["fast"], [], {})
    assert (boards / "toy" / "paper" / "submissions.json").exists()
    with pytest.raises(UqbenchError, match="says what it is of"):
        command.main([str(good), "--suite", "toy"], standalone_mode=False)


@pytest.mark.parametrize(
    ("suite", "numbered"),
    [("sine", {"sine": 24}), ("simplex", {"selected": 24, "given": 24}), ("predictive", {})],
)
def test_the_number_of_data_sets_is_known_of_each_task_that_numbers_them(suite, numbered):
    host = Host.load()
    assert _numbered(Selection(suite, "smoke").plan(host, "cpu"), host) == numbered
