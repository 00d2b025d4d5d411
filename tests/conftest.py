"""Settings of the whole test session."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from uqbench.registry import Host
from uqbench.testing.fixtures import local_plugins_end_with_their_module, one_torch_thread

__all__ = ["host", "local_plugins_end_with_their_module", "one_torch_thread", "searched_once"]

TOY = Path(__file__).parent / "toy"
sys.path.insert(0, str(Path(__file__).parent / "support"))

from garbage import searched_once  # noqa: E402


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """The toy plugin, claims and what is built in; a test that needs others has its own."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin,claims,leaderboard")
    return Host.load()
