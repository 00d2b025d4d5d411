"""What sources cite is found as BibTeX, in the plugin that implements it."""

import re

import pytest
from click.testing import CliRunner
from uqbench_claims.cli.cite import command

from uqbench.registry import Host
from uqbench.registry.papers import cited, papers
from uqbench.suites import read_suites


@pytest.fixture(scope="module")
def host() -> Host:
    return Host.load()


def test_every_citation_of_every_installed_suite_has_an_entry(host):
    suites = read_suites(host, check=()).suites
    assert suites
    for suite in suites.values():
        found, missing = cited(host, suite.sources(host))
        assert not missing, suite.name
        assert found, suite.name


def test_every_entry_says_who_what_and_when_and_how_sources_cite_it(host):
    found = papers(host)
    assert found
    for paper in found:
        for field in ("author", "title", "year"):
            assert re.search(rf"(?m)^  {field} = \{{.+\}}", paper.bibtex), paper.key
        assert paper.bibtex.count("{") == paper.bibtex.count("}")
        assert paper.bibtex.rstrip().endswith("\n}")
        assert "citedas" not in paper.bibtex
    names = [name for paper in found for name in paper.cited_as]
    assert len(names) == len(set(names))


def test_a_citation_that_nothing_knows_is_named_and_prose_is_none(host):
    sources = ["Nobody et al. 2018, section 3", "the baseline of Strens 2000", "Figure 10, 2 rows"]
    found, missing = cited(host, sources)
    assert missing == ["Nobody et al. 2018"]
    assert [paper.key for paper in found] == ["strens2000bayesian"]


def test_cite_prints_the_papers_of_a_suite_and_of_a_method():
    done = CliRunner().invoke(command, ["ube-chain"], standalone_mode=False)
    assert done.return_value == 0
    assert done.output.startswith("@inproceedings{odonoghue2018uncertainty,")
    keys = re.findall(r"@\w+\{(\w+),", done.output)
    assert (keys[-1], len(keys)) == ("uqbench", len(set(keys)))
    done = CliRunner().invoke(command, ["bql"], standalone_mode=False)
    assert re.findall(r"@\w+\{(\w+),", done.output) == ["dearden1998bayesian", "markou2019bayesian"]


def test_cite_ends_with_1_where_a_citation_has_no_entry(monkeypatch):
    lost = ([], ["Nobody et al. 2018"])
    monkeypatch.setattr("uqbench.registry.papers.cited", lambda host, sources: lost)
    done = CliRunner().invoke(command, ["ube"], standalone_mode=False)
    assert done.return_value == 1
    assert done.stderr.startswith("uqbench: Nobody et al. 2018: no plugin")


def test_cite_names_the_nearest_name_of_what_there_is_not():
    done = CliRunner().invoke(command, ["ube-chian"], standalone_mode=False)
    assert "Did you mean 'ube-chain'" in str(done.exception)
