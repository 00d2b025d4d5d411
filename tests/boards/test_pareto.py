"""Which methods no other one beats in everything."""

from __future__ import annotations

from uqbench.boards.pareto import pareto_front


def test_a_method_is_dominated_by_one_that_is_as_good_in_all_and_better_in_one():
    front = pareto_front({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.0, 0.5], "d": [1.0, 0.0]})
    assert front == {"a", "b", "d"}


def test_who_states_nothing_is_below_any_number():
    assert pareto_front({"silent": [1.0, None], "honest": [1.0, -9.0]}) == {"honest"}
    assert pareto_front({"silent": [1.1, None], "honest": [1.0, -9.0]}) == {"silent", "honest"}
    assert pareto_front({"a": [None], "b": [None]}) == {"a", "b"}
