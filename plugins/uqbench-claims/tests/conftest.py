"""The toy world of the repository's tests, and the scores in a board's folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from uqbench.registry.plugins import Host

TESTS = Path(__file__).parents[3] / "tests"
TOY = TESTS / "toy"
sys.path.insert(0, str(TESTS / "support"))


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """The toy plugin, claims and what is built in; a test that needs others has its own."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin,claims,leaderboard")
    return Host.load()
