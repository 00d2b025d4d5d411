"""Parity at the start: no ranked row of a board by return believes in rewards it never saw.

Rows are trained on rewards of zero by the schedule of the board (`benchmarks/start_bias.py`), at
toy length: 74 gradient steps, the first that the schedule has, and a sync of the target network.
What a start believes is largest there, but for a target that grows with every sync.
"""

from __future__ import annotations

from types import ModuleType

import pytest
from scripts import script

from uqbench.registry import Host
from uqbench.runner.executors.local import prepare_process
from uqbench.suites import Selection

MOST = 0.05
"""Standard deviations of the climatology, by PROTOCOL.md of the minatar plugin."""
TOY = 12_800
GAMES = ("asterix", "breakout", "space_invaders")


@pytest.fixture(scope="module")
def start_bias() -> ModuleType:
    prepare_process()
    return script("benchmarks/start_bias.py")


def found(start_bias: ModuleType, budget: str, **of: object) -> dict[tuple[str, str, str], float]:
    """Biases by role, method and task."""
    host = Host.load()
    return {
        (batch.cell.role, batch.cell.method.name, batch.cell.task.name): bias
        for batch in start_bias.batches("minatar", budget, host, device="cpu", **of)
        if (bias := start_bias.biases(batch, host, [TOY], compiled=False)[0]) is not None
    }


def broken(biases: dict[tuple[str, str, str], float]) -> set[str]:
    """The ranked rows that break the rule."""
    return {name for (role, name, _), b in biases.items() if role == "method" and abs(b) > MOST}


def test_rows_of_the_night_start_at_zero(start_bias):
    """Those whose runs are cheap, on one game; the long test has all."""
    seen = found(start_bias, "night", tasks=["breakout"], methods=["dqn", "qr-dqn", "c51-support"])
    assert (len(seen), broken(seen)) == (3, set())


def test_a_law_that_starts_at_the_middle_of_its_support_breaks_the_rule(start_bias):
    """On [0, 30], as C51 was in the first night, which gave it no rank: 15 / 2.1, less a sync."""
    biases = found(start_bias, "night", tasks=["breakout"], methods=["c51"])
    assert biases["method", "c51", "breakout"] > 5
    assert broken(biases) == {"c51"}


@pytest.mark.parametrize(("budget", "role"), [("night-heads", "unranked"), ("paper", "method")])
def test_a_row_has_no_rank_where_runs_are_too_short_to_forget_its_start(budget, role):
    """202 syncs of a night leave 13 % of a belief, ``.99^202``; 5,000 of `paper` nothing."""
    roles = Selection("minatar", budget).plan(Host.load(), "cpu").roles
    assert (roles["epinet-dqn"], roles["dqn"]) == (role, "method")


def test_rows_of_the_first_board_that_a_newcomer_makes_start_at_zero(start_bias):
    biases = found(start_bias, "quick", methods=["dqn", "c51-support", "ube-dqn"])
    assert len(biases) == 6  # on two games
    assert broken(biases) == set()


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_every_ranked_row_of_the_night_starts_at_zero_on_every_game(start_bias, game):
    biases = found(start_bias, "night", tasks=[game])
    assert len(biases) == 8  # seven methods, DQN with its default settings, too
    assert broken(biases) == set()
