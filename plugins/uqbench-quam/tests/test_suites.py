"""The suites."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest


@pytest.mark.parametrize("name", ["two-moons", "simplex", "sine"])
def test_the_budget_paper_has_every_data_set_once(name):
    suite = tomllib.loads((files("uqbench_quam") / "suites" / f"{name}.toml").read_text())
    assert suite["paired"]
    assert suite["budgets"]["paper"]["seeds"] == 24
