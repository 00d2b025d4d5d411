"""What the suites of this package say about the paper."""

from typing import Any

from uqbench.registry import Host
from uqbench.suites import method_config, read_suites

SHARED = {  # Table 8
    "epsilon_initial": 1.0, "epsilon_final": 0.01, "replay_capacity": 100_000,
    "learning_rate": 2.5e-4, "batch_size": 32, "schedule": "triangular", "target_sync_updates": 5,
}  # fmt: skip


def test_all_methods_on_highway_have_what_table_8_lists_as_shared():
    host = Host.load()
    suite = read_suites(host, check=()).suite("highway")
    settings: list[dict[str, Any]] = []
    for method in suite.methods_of("paper"):
        if host.agents[str(method.agent)].role != "method":
            continue
        budget = "paper", suite.budgets["paper"]
        config = method_config(method, suite.tasks[0], host, where=method.name, budget=budget)
        for name, value in SHARED.items():
            assert getattr(config, name) == value, f"{method.name}: {name}"
        both = ("updates_per_event", "epsilon_decay_steps")
        settings.append({name: getattr(config, name) for name in both})
        assert getattr(config, "exploration", "epsilon-greedy") == "epsilon-greedy"
        assert getattr(config, "learning_starts", 1) == 1
    assert len(settings) >= 8
    assert all(one == settings[0] for one in settings)
