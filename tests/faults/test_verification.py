"""``uqbench verify FILE`` end to end: runs are made again where nothing tells the method so."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from uqbench.boards.cost import cost_csv
from uqbench.boards.leaderboard import Board, board
from uqbench.boards.provenance import provenance, provenance_json
from uqbench.boards.sandbox import _isolated, has_sandbox
from uqbench.boards.submission.bundle import write_bundle
from uqbench.boards.submission.make import lock
from uqbench.cli.verify import command
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.runner.batches import make_batch_groups
from uqbench.runner.interleaving import execute
from uqbench.runner.mkl import VARIABLE, own_branches
from uqbench.runner.stop import Stop
from uqbench.suites.selection import Selection

PROBE = """
import json, os, pathlib, socket, sys
def tries(f):
    try:
        return bool(f())
    except OSError:
        return False
files, out = sys.argv[1:]
print(json.dumps({
    "file": any(tries(pathlib.Path(file).read_bytes) for file in files.split(",")),
    "other processes": len([p for p in os.listdir("/proc") if p.isdecimal()]) > 3,
    "network": tries(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2)),
    "writes elsewhere": tries(lambda: open(os.environ["ELSEWHERE"] + "/mark", "w")),
    "writes its results": tries(lambda: open(out + "/mark", "w")),
}))
"""


@pytest.mark.skipif(not has_sandbox(), reason="no bubblewrap")
def test_a_method_that_looks_for_verification_sees_no_file_network_or_process(tmp_path):
    import socket

    out, home = tmp_path / "out", Path.home() / f".uqbench-test-{os.getpid()}"
    out.mkdir()
    home.mkdir()
    here, there = tmp_path / "s.zip", home / "s.zip"
    server = socket.create_server(("127.0.0.1", 0))
    try:
        for path in (here, there):
            path.write_bytes(b"scores")
        command = [*_isolated(out, (here, there)), sys.executable, "-I", "-c", PROBE]
        own = {"PORT": str(server.getsockname()[1]), "ELSEWHERE": str(Path.home())}
        done = subprocess.run(
            [*command, f"{here},{there}", str(out)],
            capture_output=True, text=True, check=True, env=os.environ | own,
        )  # fmt: skip
    finally:
        server.close()
        for path in (there, Path.home() / "mark"):
            path.unlink(missing_ok=True)
        home.rmdir()
    assert json.loads(done.stdout) == {
        "file": False, "other processes": False, "network": False, "writes elsewhere": False,
        "writes its results": True,
    }  # fmt: skip
    assert (out / "mark").exists()


def submission(path: Path, host: Host, store: Store, forged: int) -> None:
    """Runs that were made, of which the first rows are then made better."""
    plan = Selection("toy", "paper", ("fast",)).plan(host, "cpu")
    if not store.root.exists():
        for group in make_batch_groups(plan, set(plan.runs), "cpu", 1):
            execute(group, store, host, lambda event: None, 0.0, Stop())
    made = board(plan, store)
    metric = plan.suite.primary_metric(plan.budget)
    scale, scores = plan.suite.normalization_constants(metric), list(made.scores)
    for n, score in enumerate(scores[:forged]):
        raw = score.values[metric.name] + 1.0
        values = {**score.values, metric.name: raw}
        scores[n] = replace(score, values=values, score=scale[score.task].normalize(raw))
    files = {name: text.encode() for name, text in Board.of(plan, scores).files().items()}
    files |= {
        "made_with.json": provenance_json(provenance(made.scores), "").encode(),
        "cost.csv": cost_csv(plan, made.scores).encode(),
        "lock.txt": lock().encode(),
        "check.json": b'{"toy-uqbench": [{"status": "passed", "level": "required"}]}',
    }
    write_bundle(path, "toy", "paper", ["fast"], files)


@pytest.mark.long
def test_an_honest_file_is_verified_and_a_forged_one_is_not(host, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, own_branches()[0])  # as in the workers
    store, boards = Store(tmp_path / "results"), tmp_path / "boards"
    for forged, code in ((2, 1), (0, 0)):
        path = tmp_path / f"{forged}.zip"
        submission(path, host, store, forged)
        done = command.main([str(path), "--add", str(boards), "--json"], standalone_mode=False)
        assert done == code
        said = json.loads(capsys.readouterr().out)
        assert said["verification"]["fast"]["verified"] is (forged == 0)
        assert boards.exists() is (forged == 0)
    [row] = json.loads((boards / "toy" / "paper" / "submissions.json").read_text()).values()
    assert row["state"] == "verified"
    assert row["sandbox"] is has_sandbox()
