"""Merges that drop one side's work are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools" / "merge_audit.py"


def git(folder: Path, *arguments: str) -> None:
    person = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *person, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change")


def test_the_lines_that_a_merge_dropped_are_listed_and_those_that_moved_are_not(tmp_path: Path):
    git(tmp_path, "init", "-qb", "main")
    commit(tmp_path, game="start\n", moved="start\n", mixed="1\n2\n3\n4\n5\n", own="start\n")
    git(tmp_path, "checkout", "-qb", "side")
    commit(tmp_path, game="start\nsaved\nkept\n", moved="start\nfound\n", mixed="one\n2\n3\n4\n5\n")
    git(tmp_path, "checkout", "-q", "main")
    commit(tmp_path, game="begin\n", moved="begin\n", mixed="1\n2\n3\n4\nfive\n", own="mine\n")
    git(tmp_path, "merge", "-q", "-X", "ours", "--no-edit", "side")
    (tmp_path / "game.py").write_text("begin\n")
    (tmp_path / "moved.py").write_text("begin\n")
    git(tmp_path, "commit", "-qa", "--amend", "--no-edit", "--allow-empty")
    commit(tmp_path, elsewhere="    found\nkept\n")
    done = subprocess.run([sys.executable, TOOL], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = [line.split()[2:] for line in done.stdout.splitlines() if ".py" in line]
    assert table == [["2", "1", "game.py"], ["1", "0", "moved.py"]]
    assert done.stdout.splitlines()[2].strip() == "saved"
