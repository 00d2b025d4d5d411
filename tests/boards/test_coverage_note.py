"""Of which simulated laws a board says the errors: those that its runs do not rule out."""

from pathlib import Path

import numpy as np
import pytest

from uqbench.boards import coverage
from uqbench.boards.coverage import LAWS, TIMES_3, above, errors, possible

METHODS, SEEDS, TASKS = 8, 10, 4


def runs(draw, seed, times=1.0):
    values = draw(np.random.default_rng(seed), (METHODS, SEEDS, TASKS))
    values[1::2] *= times
    return list(values)


@pytest.mark.parametrize("law", [*LAWS, TIMES_3])
def test_runs_of_a_law_are_hardly_ever_said_not_to_be(law):
    draw, times = (LAWS["log-normal"], 3.0) if law == TIMES_3 else (LAWS[law], 1.0)
    held = [possible(law, runs(draw, seed, times)) for seed in range(60)]
    assert np.mean(held) > 0.85


def test_many_normal_runs_are_neither_skewed_nor_failing():
    normal = runs(LAWS["normal"], 0)
    assert not any(possible(law, normal) for law in (*LAWS, TIMES_3) if law != "normal")


def test_few_normal_runs_rule_nothing_out():
    few = [own[:3, :1] for own in runs(LAWS["normal"], 1)[:2]]
    assert all(possible(law, few) for law in (*LAWS, TIMES_3))


def test_methods_have_their_own_numbers_of_seeds():
    """As where ``uqbench try`` puts a class with three seeds beside a board with hundreds."""
    normal = [*runs(LAWS["normal"], 0), runs(LAWS["normal"], 1)[0][:3]]
    assert possible("normal", normal)
    assert not any(possible(law, normal) for law in LAWS if law != "normal")


def test_skewed_runs_of_one_spread_are_not_of_three_times_it():
    skewed = runs(LAWS["log-normal"], 2)
    assert possible("log-normal", skewed)
    assert not possible(TIMES_3, skewed)


def test_what_the_page_marks_is_what_boards_say():
    """The same limit holds for both."""
    page = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text(encoding="utf-8")
    marked = page.count("✗") - 1  # one in the text above
    assert marked == sum(above(float(r["wrong"]), int(r["simulated"])) for r in coverage._table())
    assert errors("mean", 3, 1)
