"""How far the tasks' orders of the methods agree: Kendall's W in closed form."""

import pytest

from uqbench.pages.by_task import concordance
from uqbench.statistics.ranks import Place


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        (["abcd", "abcd", "abcd"], 1.0),
        (["abcd", "dcba"], 0.0),
        (["abc", "bca", "cab"], 0.0),
        (["abc", "acb"], 0.75),  # 12 · 4.5 / (2² · 24): rank sums 2, 5, 5
    ],
)
def test_the_degree_to_which_orders_agree(orders, expected):
    places = [{name: Place(i, i, i) for i, name in enumerate(order, 1)} for order in orders]
    assert concordance(places) == pytest.approx(expected)
