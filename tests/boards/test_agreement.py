"""What a run that is made again says of the stored one."""

from dataclasses import replace

import pytest

from uqbench.boards.scores import Score
from uqbench.boards.verification import Agreement, agreement

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
        (again(0.70), Agreement.CONSISTENT),
        (again(0.74), Agreement.INCONSISTENT),
        (replace(again(0.5), status="failed", score=None, values={}), Agreement.INCONSISTENT),
    ],
)
def test_a_repeated_run_is_the_same_close_as_another_seeds_or_not(repeated, expected):
    """The standard deviation of five repetitions is 0.0158: one more lies, at the level of 0.25 %,
    within 6.76 · 0.0158 · √1.2 = 0.117 of their mean, and twice that is allowed."""
    shift = 0.0 if repeated.score is None else repeated.score - 0.5
    others = [replace(s, score=s.score + shift) for s in STORED]
    found = agreement(STORED[0], repeated, others, ["steps_per_s"], 1, same_machine=False)
    assert found is expected


def test_among_many_runs_each_may_be_further_off():
    others = [replace(s, score=s.score + 0.24) for s in STORED]
    for among, expected in ((1, Agreement.INCONSISTENT), (20, Agreement.CONSISTENT)):
        found = agreement(STORED[0], again(0.74), others, ["steps_per_s"], among, False)
        assert found is expected


def test_two_repetitions_say_nothing_of_a_third():
    found = agreement(STORED[0], again(0.51), STORED[:2], ["steps_per_s"], 1, same_machine=False)
    assert found is Agreement.INCONSISTENT


def test_other_numbers_of_the_same_machine_are_inconsistent_but_for_last_places():
    for score, expected in ((0.5001, Agreement.INCONSISTENT), (0.5 + 1e-9, Agreement.LAST_PLACES)):
        found = agreement(STORED[0], again(score), STORED, ["steps_per_s"], 1, same_machine=True)
        assert found is expected
