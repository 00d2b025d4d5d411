"""Whole commands with hostile arguments and files: an exit code and a sentence, and an end.

Cases that were tracebacks or hung come first; the others are drawn from a seed. The long form of
``tox -e faults`` draws for an hour (``UQBENCH_COMMANDS`` seconds).
"""

import io
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from uqbench.cli import main
from uqbench.registry.local import VARIABLE

LONG = os.environ.get("UQBENCH_FAULTS") == "long"
SECONDS = float(os.environ.get("UQBENCH_COMMANDS", "3600" if LONG else "8"))
SEED = int(os.environ.get("UQBENCH_FUZZ_SEED", "0"))
BOARD = Path(__file__).parents[2] / "leaderboards" / "five-state" / "paper"
LIMIT = 60
"""Seconds of a command until it counts as one without end."""
ENVIRONMENTS = ("[", "nope", "{}", "[1]", '[{"name": 1, "nope": 2}]', "there.txt")


def score_files(folder: Path) -> None:
    """Predictions that are none, each in its own way."""
    probs, targets = np.tile([[0.75, 0.25]], (40, 1)), np.arange(40) % 2
    means = np.zeros(40)
    kinds = {
        "good": {"probs": probs, "targets": targets},
        "scalar": {"probs": probs, "targets": np.array(1)},
        "both": {"probs": probs, "var": means + 1, "targets": targets},
        "complex": {"probs": probs + 1j, "targets": targets},
        "dates": {"mean": means, "var": means + 1, "targets": means.astype("datetime64[s]")},
        "records": {"probs": probs, "targets": np.zeros(40, [("a", "i4")])},
        "texts": {"probs": probs.astype(str), "targets": targets.astype(str)},
        "three ends": {"interval": np.zeros((40, 3)), "targets": means},
        "no ends": {"interval": np.zeros((40, 0)), "targets": means},
        "flat": {"probs": probs.ravel(), "targets": targets},
        "members": {"members": np.zeros(40), "targets": means},
        "other": {"members": np.zeros((3, 20)), "targets": means},
        "empty": {"probs": probs[:0], "targets": targets[:0]},
        "infinite": {"mean": means + np.inf, "var": means, "targets": means},
    }
    for name, arrays in kinds.items():
        np.savez(folder / f"{name}.npz", **arrays)
    np.save(folder / "array.npy", probs)
    shutil.copy(folder / "array.npy", folder / "renamed.npz")
    whole = (folder / "good.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    lie = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    for name, header in (("lies.npy", lie), ("broken.npy", b"{'descr': (((")):
        padded = header + b" " * (117 - len(header)) + b"\n"
        start = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little")
        (folder / name).write_bytes(start + padded)
        shutil.copy(folder / name, folder / name.replace("npy", "npz"))
    os.mkfifo(folder / "pipe.npz")
    os.mkfifo(folder / "pipe.csv")


def tables(folder: Path) -> None:
    rows = [f"m{k},t,{seed},{k + seed}" for k in range(3) for seed in range(4)]
    kinds = {
        "good": "method,task,seed,score\n" + "\n".join(rows),
        "twice": "method,task,seed,score,score\n" + "\n".join(row + ",9" for row in rows),
        "ragged": "method,task,seed,score\n" + "\n".join(rows) + "\nx",
        "empty": "",
        "words": "method,task,seed,score\na,t,0,many",
        "many": "method,task,seed,score\n"
        + "\n".join(f"m{k},t,{seed},{k}" for k in range(2_000) for seed in range(2)),
    }
    for name, text in kinds.items():
        (folder / f"{name}.csv").write_text(text)
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "there.txt").write_text("nothing")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    score_files(tmp_path)
    tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    shutil.copytree(BOARD, tmp_path / "boards" / "five-state" / "paper")
    return tmp_path


class EndlessError(BaseException):
    """A command that had no end."""


def ended(line: list[str]) -> str:
    """What is wrong with how a command ended; empty where it gave an exit code and a sentence."""

    def stop(*_: object) -> None:
        raise EndlessError

    streams, argv = (io.StringIO(), io.StringIO()), sys.argv
    sys.argv = ["uqbench", *line]
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    code: object = "none"
    try:
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            main()
    except SystemExit as end:
        code = end.code
    except EndlessError:
        return f"no end in {LIMIT} s"
    except BaseException:
        return traceback.format_exc()[-800:]
    finally:
        sys.argv = argv
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    told = streams[0].getvalue() + streams[1].getvalue()
    if "Traceback (most recent" in told:
        return told[-800:]
    if code not in (0, 1, 2) or (code == 2 and not told.strip()):
        return f"exit code {code!r}, {told[-300:]!r}"
    return ""


FILES = ("*.npz", "*.npy", "*.csv", "*.json", "*.txt")


def planted(folder: Path) -> Iterator[list[str]]:
    """One line for each file and command that reads one."""
    for path in sorted(path.name for kind in FILES for path in folder.glob(kind)):
        yield ["score", path]
        yield ["compare", path]
    yield ["try", "psrl", "--suite", "sine"]


def test_no_planted_line_ends_with_a_traceback_or_does_not_end(folder):
    failures = {" ".join(line): said for line in planted(folder) if (said := ended(line))}
    assert not failures, "\n".join(f"{line}: {said}" for line, said in failures.items())


@pytest.mark.parametrize("value", ENVIRONMENTS)
def test_an_environment_variable_that_is_none_is_named(value, folder, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, value)
    for line in (["list", "suites"], ["status"], ["run", "--suite", "five-state", "--dry-run"]):
        assert ended(line) == ""


WORDS = (
    "", "x", "-1", "nan", "1e400", "\u0663", "a\0b", "--", "--json", "five-state", "paper", "mean",
    "iqm", "lower", "boards", ".", "/dev/null", "none", "good.csv", "good.npz", "toy:nope",
    "there.txt:X", "smoke", "0", "2", "x" * 5_000)  # fmt: skip
OPTIONS = (
    "--by", "--better", "--column", "--constants", "--suite", "--budget", "--to", "--out",
    "--methods", "--tasks", "--seeds", "--beside", "--window", "--check", "--dry-run", "--units",
    "--paired", "--name", "--plugin", "--help")  # fmt: skip
COMMANDS = ("score", "compare", "leaderboard", "list", "status", "claims", "cite")


def drawn(folder: Path, generator: random.Random) -> list[str]:
    """A line of a command, options and words that may fit, and perhaps a file that is changed."""
    words, command = [*WORDS], generator.choice(COMMANDS)
    if generator.random() < 0.5:
        name = generator.choice(["good.csv", "good.npz", "twice.csv", "words.csv"])
        data = bytearray((folder / name).read_bytes())
        for _ in range(generator.randrange(1, 6)):
            if data:
                data[generator.randrange(len(data))] = generator.randrange(256)
        (folder / f"changed-{name}").write_bytes(bytes(data[: generator.randrange(len(data) + 1)]))
        words += [f"changed-{name}"] * 10
    line = [command]
    for _ in range(generator.randrange(5)):
        line.append(generator.choice(words if generator.random() < 0.6 else OPTIONS))
    return line


def test_no_drawn_line_ends_with_a_traceback_or_does_not_end(folder):
    generator, began, failures, count = random.Random(SEED), time.monotonic(), {}, 0
    while time.monotonic() - began < SECONDS:
        line, count = drawn(folder, generator), count + 1
        if said := ended(line):
            failures[json.dumps(line)[:300]] = said
    print(f"{count} lines, {len(failures)} failures")
    assert not failures, "\n".join(f"{line}: {said}" for line, said in failures.items())
