"""What the suites of this package say about the paper."""

from __future__ import annotations

from typing import Any

import pytest

from uqbench.registry import Host
from uqbench.suites import Suite, method_config, read_suites

SHARED = {  # Table 8
    "epsilon_initial": 1.0,
    "epsilon_final": 0.01,
    "replay_capacity": 100_000,
    "learning_rate": 2.5e-4,
    "batch_size": 32,
    "schedule": "triangular",
    "target_sync_updates": 5,
}


@pytest.fixture(scope="module")
def highway() -> tuple[Host, Suite]:
    host = Host.load()
    return host, read_suites(host, check=()).suite("highway")


def test_all_methods_on_highway_have_what_table_8_lists_as_shared(
    highway: tuple[Host, Suite],
) -> None:
    host, suite = highway
    settings: list[dict[str, Any]] = []
    for method in suite.methods_of("paper"):
        if host.agents[str(method.agent)].role != "method":
            continue
        config = method_config(
            method,
            suite.tasks[0],
            host,
            where=method.name,
            budget=("paper", suite.budgets["paper"]),
        )
        for name, value in SHARED.items():
            assert getattr(config, name) == value, f"{method.name}: {name}"
        both = ("updates_per_event", "epsilon_decay_steps")
        settings.append({name: getattr(config, name) for name in both})
        assert getattr(config, "exploration", "epsilon-greedy") == "epsilon-greedy"
        assert getattr(config, "learning_starts", 1) == 1
    assert len(settings) >= 8
    assert all(one == settings[0] for one in settings)
