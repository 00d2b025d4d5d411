"""Bars that join methods: the largest sets of which no two are told apart."""

import pytest

from uqbench.pages.differences import joined


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([], [("a", "b", "c", "d")]),
        ([{"a", "d"}], [("a", "b", "c"), ("b", "c", "d")]),
        ([{"a", "d"}, {"a", "c"}, {"b", "d"}], [("a", "b"), ("b", "c"), ("c", "d")]),
        ([{"a", "b"}, {"a", "c"}, {"a", "d"}], [("b", "c", "d")]),
    ],
)
def test_bars_join_what_is_not_told_apart(apart, expected):
    assert joined("abcd", apart) == expected
    assert joined("abcd", reversed(apart)) == expected
