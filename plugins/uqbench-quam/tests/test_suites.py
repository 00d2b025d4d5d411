"""The suites."""

from uqbench.registry import Host
from uqbench.suites import Selection


def test_quam_is_a_row_of_fashion_and_searches_for_every_class_from_a_network_like_the_others():
    plan = Selection("fashion", "ood", ("quam", "network")).plan(Host.load(), "cpu")
    own, plain = ({c.config for c in plan.cells if c.method.name == n} for n in ("quam", "network"))
    (quam,), (network,) = own, plain
    assert (quam.hidden, quam.learning_rate) == (network.hidden, network.learning_rate)
    assert quam.classes is None
