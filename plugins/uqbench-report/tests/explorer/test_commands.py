"""Every command that a board's page prints is one that runs, on a board of these very runs."""

import shlex
import sys
from pathlib import Path

import pytest
from uqbench_report.explorer.page import Explorer

from uqbench.boards import board_folders
from uqbench.cli import main
from uqbench.registry.load_host import load_host
from uqbench.suites import read_suites

README = (Path(__file__).parents[4] / "README.md").read_text("utf-8")
CLASS = "# mine.py" + README.partition("```python\n# mine.py")[2].partition("```")[0]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Executes a command in a folder of its own; returns its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def execute(line: str) -> object:
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    return execute


def explorer(folder: str) -> Explorer:
    host = load_host()
    return Explorer(board_folders(Path(folder)), read_suites(host, check=()).suites, host)


def test_each_command_of_a_page_exits_with_zero(command, capfd):
    run = "uqbench run --suite drawn-worlds --budget smoke"
    assert command(f"{run} --device cpu --workers 1") == 0
    (data,) = explorer("results").boards.values()
    assert (set(data["commands"]), data["commands"]["run"]) == ({"run", "check", "try"}, run)
    Path("mine.py").write_text(CLASS, encoding="utf-8")
    capfd.readouterr()
    for name, line in data["commands"].items():
        assert command(line) == 0, (name, line, capfd.readouterr().err)
    told = capfd.readouterr().out
    assert "follow from scores.csv, byte for byte" in told
    assert "mine" in told
    (alone,) = explorer("results/leaderboards/drawn-worlds/smoke").boards.values()
    assert alone["commands"]["check"] == data["commands"]["check"]  # of a board as of its folder


def test_a_selection_that_no_option_names_has_no_commands(command):
    run = "uqbench run --suite drawn-worlds --budget smoke --methods uniform-random --device cpu"
    assert command(f"{run} --workers 1") == 0
    (data,) = explorer("results").boards.values()
    assert data["commands"] == {}
