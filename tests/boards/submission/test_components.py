"""A submission's conformance is that of what its rows use, not of all that a package registers."""

import pytest

from uqbench.boards.submission.make import components, involved, report
from uqbench.contract.errors import UqbenchError
from uqbench.registry.plugins import Host
from uqbench.suites.selection import Selection


@pytest.fixture
def host(monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin,uqbench-tabular")
    return Host.load()


def test_the_agents_of_the_rows_are_checked_and_no_other(host):
    plan = Selection("five-state", "smoke", ("psrl",)).plan(host, "cpu")
    asked = []

    def check(_, what):
        asked.append(what)
        return [{"subject": what, "check": "agent-forms", "level": "required", "status": "passed"}]

    assert set(report(host, components(plan, host), check)) == {"uqbench-tabular"}
    assert asked == ["uqbench-tabular:psrl"]
    assert [plugin.distribution for plugin in involved(plan, host)] == ["uqbench-tabular"]


def test_a_broken_rule_names_what_breaks_it(host):
    plan = Selection("five-state", "smoke", ("psrl",)).plan(host, "cpu")
    broken = {"subject": "psrl", "check": "agent-masks", "level": "required", "status": "failed"}
    with pytest.raises(UqbenchError, match=r"uqbench-tabular:psrl does not keep 1 required rule"):
        report(host, components(plan, host), lambda _, __: [broken])
