"""The toy world of the repository's tests."""

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
    """The toy plugin, claims, error rates and what is built in."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin,claims,leaderboard")
    return Host.load()
