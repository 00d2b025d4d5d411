"""The toy world of the repository's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from uqbench.registry.plugins import Host

TOY = Path(__file__).parents[3] / "tests" / "toy"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """The toy plugin, error rates and what is built in."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin,error-rates")
    return Host.load()
