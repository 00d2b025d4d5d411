"""What the tests of all packages share: fixtures, the harness's helpers, and its toy world."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from uqbench.registry.plugins import Host
from uqbench.testing.fixtures import local_plugins_end_with_their_module, one_torch_thread

__all__ = [
    "conforms",
    "host",
    "local_plugins_end_with_their_module",
    "one_torch_thread",
    "searched_once",
]

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS / "support"))

from garbage import searched_once  # noqa: E402


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """The toy plugin, claims, error rates and what is built in; a test of others has its own."""
    monkeypatch.syspath_prepend(str(TESTS / "toy"))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin,claims,leaderboard")
    return Host.load()


@pytest.fixture
def conforms() -> Callable[..., None]:
    """Asserts that an agent, with a config, passes the checks but for those of what is registered.

    ``uqbench plugin check`` makes the slow ones.
    """
    from uqbench.testing.conformance.agent_runs import AgentSubject
    from uqbench.testing.results import results

    slow = {
        *("agent-compiles", "agent-hash-seed", "agent-new-process"),
        *("uncertainty-values", "uncertainty-scale"),
    }

    def check(factory: Any, config: Any, **more: Any) -> None:
        subject = AgentSubject(name=factory.__name__, factory=factory, config=config, **more)
        made = results([subject], without=slow)
        assert sum(result.status == "passed" for result in made) > 10
        assert not [str(result) for result in made if not result.ok]

    return check
