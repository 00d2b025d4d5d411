"""What the tests of all packages share: fixtures, the harness's helpers, and its toy world."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from uqbench.registry.plugins import Host
from uqbench.testing.fixtures import local_plugins_end_with_their_module, one_torch_thread

__all__ = ["host", "local_plugins_end_with_their_module", "one_torch_thread", "searched_once"]

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS / "support"))

from garbage import searched_once  # noqa: E402


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """The toy plugin, claims, error rates and what is built in; a test of others has its own."""
    monkeypatch.syspath_prepend(str(TESTS / "toy"))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin,claims,leaderboard")
    return Host.load()
