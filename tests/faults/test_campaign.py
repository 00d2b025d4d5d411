"""What lies next to a run or a board, or around it, harms nothing but itself.

Seeded; the long form (``tox -e faults``) takes every case, kills commands sixty times, and calls
each command from a folder of hostile modules.
"""

import gzip
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from test_damaged_files import DAMAGES, chosen, complete, files
from uqbench_report.explorer.page import Explorer

from uqbench.boards import board, board_at, board_folders
from uqbench.errors import StorageError, UqbenchError
from uqbench.pages.board_folders import write_board
from uqbench.registry import Host
from uqbench.results import Folder, RunState, Store
from uqbench.suites import Plan, read_suites

LONG = pytest.mark.skipif("UQBENCH_FAULTS" not in os.environ, reason="tox -e faults")
TOY = Path(__file__).parents[1] / "toy"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs it makes a whole results folder, which the others copy."""
    return tmp_path_factory.mktemp("once") / "whole"


@pytest.fixture
def whole(plan: Plan, host: Host, once: Path, tmp_path: Path) -> Path:
    """A results folder with all runs, and two boards of them."""
    root = once if once.exists() else tmp_path / "made"
    if root != once:
        complete(plan, root, host)
        store = Store(root)
        for name in ("one", "other"):
            write_board(board(plan, store), store, board_at(root / "leaderboards/toy" / name), host)
        shutil.copytree(root, once)
    return shutil.copytree(root, tmp_path / "whole")


def test_every_damaged_file_of_another_board_costs_that_board_alone(plan, host, whole, tmp_path):
    names = sorted(path.name for path in (whole / "leaderboards/toy/other").iterdir())
    cases = chosen([(k, what) for k in range(len(names)) for what in DAMAGES])
    suites = read_suites(host, check=()).suites
    for number, (k, what) in enumerate(cases):
        root = tmp_path / f"case-{number}"
        shutil.copytree(whole, root)
        boards = root / "leaderboards"
        path, other = boards / "toy/other" / names[k], boards / "toy/other" / names[k - 1]
        DAMAGES[what](path, other, random.Random(number))
        store, one = Store(root), board_at(boards / "toy" / "one")
        before = files(boards / "toy" / "one")
        write_board(board(plan, store), store, one, host)  # with the index of all boards
        assert files(boards / "toy" / "one") == before, (names[k], what)
        assert "toy/one" in (boards / "README.md").read_text(), (names[k], what)
        text = Explorer(board_folders(root), suites, host).file()
        packed = re.search(r"<script[^>]*>([\w+/=]+)</script>", text)
        assert b"toy \\u00b7 one" in gzip.decompress(b64decode(packed[1])), (names[k], what)
        shutil.rmtree(root)
    print(f"{len(cases)} damages of {len(names)} files of another board")


@pytest.mark.parametrize("level", ["suite", "budget", "task", "method", "run"])
def test_a_link_in_place_of_a_folder_leads_no_command_out(level, plan, host, whole, tmp_path):
    root, outside = tmp_path / "results", tmp_path / "outside"
    shutil.copytree(whole, root)
    run = plan.runs[0]
    depth = ["suite", "budget", "task", "method", "run"].index(level) + 1
    linked = root.joinpath(*run.folder.parts[:depth])
    linked.rename(outside)
    linked.symlink_to(outside)
    inner = outside.joinpath(*run.folder.parts[depth:])
    (inner / "run.json").unlink()  # something to do
    before, store = files(outside), Store(root)
    named = {place: stored for place, stored in store.walk() if stored.reason}
    place = "/".join(run.folder.parts[:depth])
    assert "symbolic link" in str(named[place].reason)
    assert store.find(run).state is RunState.DAMAGED
    lock = store.lock(run)
    with nullcontext() if level == "run" else pytest.raises((StorageError, UqbenchError)):
        store.set_aside(run)
    lock.release()
    if level != "run":
        complete(plan, root, host)  # its runs fail, and are not made elsewhere
    assert files(outside) == before


@pytest.mark.parametrize("linked", ["leaderboards", "leaderboards/toy", "leaderboards/toy/one"])
def test_a_board_is_neither_written_nor_listed_through_a_link(linked, plan, host, whole, tmp_path):
    outside = tmp_path / "outside"
    (whole / linked).rename(outside)
    (whole / linked).symlink_to(outside)
    before, store = files(outside), Store(whole)
    folder = Folder(whole, ("leaderboards", "toy", "one"))
    with pytest.raises(StorageError, match="is a symbolic link"):
        write_board(board(plan, store), store, folder, host)
    assert "one" not in [found.names[-1] for found in board_folders(whole)]
    assert files(outside) == before


FOLDERS: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda path: (shutil.rmtree(path), os.mkfifo(path)),
    "a file": lambda path: (shutil.rmtree(path), path.write_text("words")),
    "unreadable": lambda path: path.chmod(0),
}


@pytest.mark.parametrize("what", FOLDERS)
@pytest.mark.parametrize("depth", [1, 3, 5])
def test_what_is_no_folder_or_may_not_be_read_costs_what_is_below_it(what, depth, plan, whole):
    if what == "unreadable" and os.geteuid() == 0:
        pytest.skip("root may read it")
    FOLDERS[what](whole.joinpath(*plan.runs[0].folder.parts[:depth]))
    found = dict(Store(whole).walk())
    below = "/".join(plan.runs[0].folder.parts[:depth])
    for run in plan.runs:
        if not run.place.startswith(below):
            assert found[run.place].state is RunState.FINISHED


def command(arguments: list[str], folder: Path, **more: object) -> "subprocess.CompletedProcess":
    own = {"PYTHONPATH": os.pathsep.join([str(TOY), *filter(os.path.isabs, sys.path)]),
           "UQBENCH_PLUGINS": "toy,builtin"}  # fmt: skip
    return subprocess.run(
        [sys.executable, "-P", "-m", "uqbench", *arguments],
        cwd=folder, capture_output=True, text=True, env=os.environ | own, timeout=300, **more,
    )  # fmt: skip


COMMANDS = [
    ["status", "--out", "."], ["claims", "--out", "."], ["list"],
    ["leaderboard", "--suite", "toy", "--budget", "smoke", "--tasks", "short", "--out", "."],
    ["run", "--suite", "toy", "--budget", "smoke", "--tasks", "short", "--out", "."],
    ["report", "."], ["doctor"]]  # fmt: skip


REST = [pytest.param(arguments, marks=LONG) for arguments in COMMANDS[1:]]


@pytest.mark.parametrize("arguments", [COMMANDS[0], *REST], ids=lambda a: a[0])
def test_no_command_executes_what_lies_in_the_current_folder(arguments, whole):
    for name in ("uqbench", "signal", "struct", "multiprocessing", "json", "numpy", "torch"):
        code = f"open({str(whole / 'executed')!r}, 'a')\nraise SystemExit"
        (whole / f"{name}.py").write_text(code)
    done = command(arguments, whole)
    assert not (whole / "executed").exists()
    assert "Traceback" not in done.stderr


@LONG
@pytest.mark.parametrize(
    ("limit", "value"), [(resource.RLIMIT_NOFILE, 48), (resource.RLIMIT_FSIZE, 2000)]
)
def test_under_a_limit_a_run_fails_with_a_sentence_and_the_next_one_does_it(limit, value, tmp_path):
    arguments = ["run", "--suite", "toy", "--budget", "smoke", "--tasks", "short", "--out", "out"]

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))

    done = command([*arguments, "--workers", "1"], tmp_path, preexec_fn=limited)
    assert "Traceback" not in done.stderr
    done = command(arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    states = [stored.state for _, stored in Store(tmp_path / "out").walk()]
    assert set(states) == {RunState.FINISHED}


@LONG
@pytest.mark.parametrize(
    ("suite", "budget"), [("toy", "smoke"), ("five-state", "smoke"), ("windy-cliff", "smoke")]
)
def test_commands_killed_at_any_moment_end_with_the_same_results(suite, budget, tmp_path):
    """Ten kills of each of three; ``tox -e slurm`` has as many on Slurm."""
    arguments = ["run", "--suite", suite, "--budget", budget, "--seeds", "2"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(TOY), *filter(os.path.isabs, sys.path)])}
    rng, kills = random.Random(suite), 0

    def digests(out: str) -> dict[str, str]:
        found = dict(Store(tmp_path / out).walk())
        assert {stored.state for stored in found.values()} == {RunState.FINISHED}
        return {place: stored.record.digests["results"] for place, stored in found.items()}

    def start(out: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "uqbench", *arguments, "--out", out],
            cwd=tmp_path, env=env, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    assert start("reference").wait(600) == 0
    while kills < 10:
        process = start("killed")
        time.sleep(rng.uniform(0.5, 15))
        if process.poll() is not None:
            shutil.rmtree(tmp_path / "killed")
            continue
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert (start("killed").wait(600), digests("killed")) == (0, digests("reference"))
