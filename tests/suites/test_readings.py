"""Readings of the installed suites: claims rest on what was chosen, not on the alternative."""

import pytest

from uqbench.registry import Host
from uqbench.suites import read_suites

SUITES = read_suites(Host.load(), check=()).suites


def named(value: object) -> set[str]:
    """The texts in a claim's settings, however deep."""
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(named, inner))


@pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))
def test_no_claim_is_about_a_row_of_the_alternative_reading(suite):
    """Two claims on contradictory readings could both hold.

    A claim may say that a method is better than all of them: each of them makes it harder to hold.
    """
    rows = {row for reading in suite.readings.values() for row in reading.rows}
    assert rows <= {method.name for method in suite.methods}
    for claim in suite.claims:
        about = {key: value for key, value in claim.settings.items() if key != "ratio_to"}
        assert not rows & named(about), claim.id
        assert set(claim.readings) <= suite.readings.keys()
