"""``uqbench demo``: what a newcomer sees in the first minute."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from uqbench_tabular.demo import command

from uqbench.boards import StoredBoard
from uqbench.pages.methods import entitled
from uqbench.registry import Host

BOARD = Path(__file__).parents[3] / "leaderboards" / "drawn-worlds" / "demo"


def test_the_demo_and_the_readme_say_the_headline_of_the_stored_board():
    said = entitled(StoredBoard.read(BOARD), Host.load()).finding
    assert said.startswith("PSRL (0.48) or BQL (0.42) is best of 5 methods. ")
    assert said in " ".join((BOARD.parents[2] / "README.md").read_text("utf-8").split())


@pytest.mark.long  # a minute on two cores
def test_the_demo_ranks_and_says_whose_intervals_can_be_trusted(tmp_path):
    done = CliRunner().invoke(command, ["--out", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 20
    told = " ".join(done.stdout.split())
    assert "PSRL (0.48) or BQL (0.42) is best of 5 methods. " in told
    assert "(too narrow) of true values" in told
    assert any("Moment matching" in line for line in lines[:10])  # the one name that sentences have
    assert not {"mm", "psrl"} & {*told.split()}
    assert lines[-1] == f"report: {tmp_path / 'demo.html'} (open it)"
    assert (tmp_path / "demo.html").is_file()
