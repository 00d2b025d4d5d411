"""``uqbench demo``: what a newcomer sees in the first minute."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from uqbench.boards.stored import StoredBoard
from uqbench.cli.demo import command
from uqbench.pages.methods import two_sentences
from uqbench.registry.plugins import Host
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

BOARD = Path(__file__).parents[2] / "leaderboards" / "drawn-worlds" / "demo"


def test_the_demo_is_a_world_a_seed_for_five_methods():
    host = Host.load()
    plan = make_plan(
        read_suites(host, check=("drawn-worlds",)).suite("drawn-worlds"), host, "demo", device="cpu"
    )
    methods = [name for name, role in plan.roles.items() if role == "method"]
    assert len(methods) == 5
    assert [(cell.task.worlds, len(cell.runs)) for cell in plan.cells] == [("drawn", 200)] * 6
    assert plan.suite.paired
    assert plan.budget.ranks


def test_two_sentences_say_what_the_stored_board_says():
    board = StoredBoard.read(BOARD)
    best, wrong = two_sentences(board, Host.load()).split(". ")
    table = board.leaderboard.set_index("method")
    first = table[table["may_be_first"] == "yes"].sort_values("mean", ascending=False)
    names = " or ".join(first.index.str.upper())
    assert best.startswith(f"{names} is best of 5 methods; ")
    shares = " and ".join(f"{100 * share:.0f} %" for share in first["coverage_90_mean"])
    words = ", ".join(first["calibration"])
    assert f"{shares} of the true values lie inside their 90 % intervals ({words})" in best
    known = table.index[table["calibration"] == "overconfident"]
    assert all(f"{name.upper()} (" in wrong for name in known)
    assert len(known) == wrong.count("(") > 0
    readme = (BOARD.parents[2] / "README.md").read_text("utf-8")
    assert f"{best}. {wrong}" in " ".join(readme.split())


@pytest.mark.long  # a minute on two cores
def test_the_demo_ranks_and_says_whose_intervals_can_be_trusted(tmp_path):
    done = CliRunner().invoke(command, ["--out", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 20
    told = " ".join(lines)
    assert "PSRL or BQL is best of 5 methods; " in told
    assert "overconfident)" in told
    assert "Do not trust those of BQL" in told
    assert lines[-1] == f"report: {tmp_path / 'demo.html'} (open it)"
    assert (tmp_path / "demo.html").is_file()
