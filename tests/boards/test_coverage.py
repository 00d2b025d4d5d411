"""Boards say where what they print errs more than it states."""

from uqbench.boards.coverage import WORSE, errors, simulated


def test_the_nearest_smaller_simulated_board_counts():
    assert simulated(12, 4) == (10, 1)
    assert simulated(60, 57) == (20, 5)
    assert simulated(2, 1) == (3, 1)


def test_only_errors_that_are_surely_too_large_are_said():
    assert errors("mean", 10, 1).keys() == {"log-normal", "one in five fails"}
    assert min(errors("mean", 10, 1).values()) > WORSE
    assert errors("bounded mean", 3, 1) == {}


def test_what_a_rank_says_errs_in_5_percent_where_runs_are_normal_or_may_fail_and_say_so():
    for seeds in (3, 5, 8, 10, 20):
        for tasks in (1, 5):
            for what in ("ranks", "ranks, paired"):
                assert not {"normal", "normal, every second spreads ×3"} & {
                    *errors(what, seeds, tasks)
                }
            assert errors("ranks, runs may fail", seeds, tasks) == {}
