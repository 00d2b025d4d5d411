"""What a run that is made again says of the stored one."""

from dataclasses import replace

import pytest

from uqbench.boards.agreement import Agreement, agreement
from uqbench.boards.scores import Score

STORED = [
    Score("t", "m", seed, "finished", "cpu", score, {"return": 10 * score, "steps_per_s": 5.0},
          f"s/b/t/m/{seed}", f"digest {seed}", "uqbench:aaaa")
    for seed, score in enumerate([0.50, 0.52, 0.48, 0.51, 0.49])
]  # fmt: skip


def again(score: float) -> Score:
    values = {"return": 10 * score, "steps_per_s": 9.0}
    return replace(STORED[0], score=score, values=values, digest="another")


@pytest.mark.parametrize(
    ("repeated", "expected"),
    [
        (again(0.5), Agreement.LAST_PLACES),
        (replace(again(0.5), digest="digest 0"), Agreement.SAME_BITS),
        (again(0.5 + 1e-9), Agreement.LAST_PLACES),
        (again(0.5 + 1e-5), Agreement.CONSISTENT),
        (again(0.54), Agreement.CONSISTENT),
        (again(0.56), Agreement.INCONSISTENT),
        (replace(again(0.5), status="failed", score=None, values={}), Agreement.INCONSISTENT),
    ],
)
def test_a_repeated_run_is_the_same_close_as_another_seeds_or_not(repeated, expected):
    """Spread 0.0158 of five runs: one more lies within 2.78 · 0.0158 · √1.2 = 0.048 of 0.5."""
    assert agreement(STORED[0], repeated, STORED, ["steps_per_s"], among=1) is expected


def test_among_many_runs_each_may_be_further_off():
    for among, expected in ((1, Agreement.INCONSISTENT), (20, Agreement.CONSISTENT)):
        assert agreement(STORED[0], again(0.56), STORED, ["steps_per_s"], among) is expected


def test_two_stored_runs_say_nothing_of_a_third():
    found = agreement(STORED[0], again(0.51), STORED[:2], ["steps_per_s"], among=1)
    assert found is Agreement.INCONSISTENT
