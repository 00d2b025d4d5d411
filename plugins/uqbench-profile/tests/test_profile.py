"""The profile of a class of a file, from Python."""

from pathlib import Path

import pytest
from uqbench_profile.profile import profile

from uqbench.boards.matrices import MethodScores
from uqbench.errors import UqbenchError
from uqbench.plots.render import render
from uqbench.registry import Host
from uqbench.results import Score, Scores
from uqbench.suites import read_suites

CLASSES = """
from uqbench_profile.bandit_agents import Climatology

class Mine(Climatology):
    pass

class Broken(Climatology):
    def observe(self, step):
        raise ValueError("no")
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(CLASSES)
    return path


def test_a_class_gets_a_picture_of_its_strengths(mine, tmp_path) -> None:
    tasks, out = ["bandit-table", "sea-8", "risk-bets"], tmp_path / "results"
    figure = profile(f"{mine}:Mine", "smoke", tasks=tasks, out=out)
    found = figure.data.set_index("capability")["estimate"]
    assert set(figure.data["method"]) == {"mine"}
    assert abs(found["aleatoric calibration"]) < 0.01
    assert found["unseen states"] == found["deep exploration"] == 0.0
    assert found["epistemic shape"] == 0.0
    assert found["epistemic scale"] > 0.3
    assert found["risk control"] == pytest.approx(-0.246, abs=1e-3)  # always cautious
    picture = render(figure, "svg")
    assert b"epistemic shape" in picture
    assert b"risk control" in picture


def test_a_run_that_fails_is_told_with_its_reason(mine, tmp_path) -> None:
    with pytest.raises(UqbenchError, match=r"broken/0 did not finish: .*no"):
        profile(f"{mine}:Broken", "smoke", tasks=["sea-8"], seeds=1, out=tmp_path / "results")


def test_a_capability_s_column_is_the_mean_over_its_own_tasks() -> None:
    suite = read_suites(Host.load(), check=("profile",)).suite("profile")
    values = {"risk-bets": {"risk_control": 0.25}, "sea-10": {"exploration": 0.5},
              "sea-8": {"exploration": 0.0}}  # fmt: skip
    scores = Scores.of(
        Score(task, "mine", seed, "finished", "cpu", 1.0, found, "", "", "")
        for task, found in values.items()
        for seed in range(2)
    )
    own = MethodScores(suite, {cell.task: cell for cell in scores.cells})
    assert own.raw(suite.metric("risk_control")).tolist() == [[0.25], [0.25]]
    assert own.normalized(suite.metric("exploration")).tolist() == [[0.5, 0.0]] * 2
    assert own.raw(suite.metric("decisions")) is None  # of the bandits alone
    assert own.on("sea-8", suite.metric("risk_control")) is None
