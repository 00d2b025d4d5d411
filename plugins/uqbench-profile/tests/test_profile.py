"""The profile of a class from Python."""

from __future__ import annotations

import pytest
from uqbench_profile.bandit_agents import Climatology

import uqbench
from uqbench.errors import UqbenchError
from uqbench.plots.render import render


class Mine(Climatology):
    """As climatology."""


class Broken(Climatology):
    """Fails at once."""

    def observe(self, step) -> None:
        raise ValueError("no")


def test_a_class_gets_a_picture_of_its_strengths(tmp_path) -> None:
    figure = uqbench.profile(Mine, "smoke", tasks=["bandit-table", "sea-6"], out=tmp_path)
    found = figure.data.set_index("capability")["estimate"]
    assert set(figure.data["method"]) == {"mine"}
    assert abs(found["aleatoric calibration"]) < 0.01
    assert found["unseen states"] == found["deep exploration"] == 0.0
    assert found["epistemic calibration"] == -1.0
    assert b"epistemic calibration" in render(figure, "svg")


def test_a_run_that_fails_is_told_with_its_reason(tmp_path) -> None:
    with pytest.raises(UqbenchError, match=r"broken/0 did not finish: .*no"):
        uqbench.profile(Broken, "smoke", tasks=["sea-6"], seeds=1, out=tmp_path)
