"""What a command writes, and where: nothing of somebody else's is replaced, and stdout may end."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from uqbench_report.cli.report import command
from uqbench_report.report import write_output

from uqbench.errors import UqbenchError

LIST = [sys.executable, "-m", "uqbench", "list", "risks"]


@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_full_stdout_is_one_sentence_and_exit_code_1(variables):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            LIST, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env={"PATH": os.environ["PATH"], **variables})  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "uqbench: the output cannot be written: No space left on device.\n"


def test_a_reader_that_has_read_enough_or_a_closed_stdout_ends_a_command_without_a_word():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(LIST, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
    closed = f"{sys.executable} -m uqbench list risks >&-"
    done = subprocess.run(["sh", "-c", closed], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("other"), Path.mkdir])
def test_what_is_no_regular_file_is_refused_and_stays(tmp_path, make):
    path = tmp_path / "report.html"
    make(path)
    before = path.lstat()
    with pytest.raises(UqbenchError, match=r"report\.html is no regular file, and would be"):
        write_output(path, b"new")
    assert path.lstat().st_ino == before.st_ino


@pytest.mark.skipif(os.getuid() != 0, reason="gives a file away, as root alone may")
def test_somebody_elses_file_is_refused_and_one_of_ones_own_replaced(tmp_path):
    path = tmp_path / "thesis.tex"
    path.write_text("years")
    os.chown(path, 65534, 65534)
    with pytest.raises(UqbenchError, match="is somebody else's"):
        write_output(path, b"new")
    assert path.read_text() == "years"
    os.chown(path, 0, 0)
    write_output(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_report_replaces_no_device():
    boards = Path(__file__).parents[2] / "leaderboards" / "five-state" / "paper"
    with pytest.raises(UqbenchError, match="/dev/null is no regular file"):
        command.main([str(boards), "--to", "/dev/null"], standalone_mode=False)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
