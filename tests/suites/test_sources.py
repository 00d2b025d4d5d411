"""Every row of every suite says whose method it is, by a paper that some package has."""

import pytest

from uqbench.registry import Host
from uqbench.registry.papers import cited
from uqbench.suites import read_suites


@pytest.fixture(scope="module")
def installed() -> Host:
    return Host.load()


def test_every_method_has_a_paper(installed):
    for name, suite in read_suites(installed, check=()).suites.items():
        for method in suite.methods:
            if (method.role or method.spec(installed).role) in ("method", "unranked"):
                papers, missing = cited(installed, [method.cited(installed)])
                assert papers, (name, method.name)
                assert not missing, (name, method.name, missing)


AUTHORS = [
    ("fashion", "nngp", "Lee, Jaehoon"),
    ("fashion", "mahalanobis", "Lee, Kimin"),
    ("fashion", "sngp", "Liu, Jeremiah"),
    ("ood-digits", "energy", "Liu, Weitang"),
]


@pytest.mark.parametrize(("suite", "row", "first"), AUTHORS)
def test_a_row_is_its_own_authors(installed, suite, row, first):
    (method,) = (m for m in read_suites(installed, check=()).suites[suite].methods if m.name == row)
    papers, _ = cited(installed, [method.cited(installed)])
    assert f"author = {{{first}" in papers[0].bibtex
