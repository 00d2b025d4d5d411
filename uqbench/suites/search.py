"""``[tuning]`` for the methods of a suite: their search spaces, rows and settings."""

from collections.abc import Collection, Mapping
from typing import Any

from uqbench.contract.errors import UqbenchError
from uqbench.contract.specs import MethodSpec
from uqbench.registry.local import MARK
from uqbench.registry.plugins import Host
from uqbench.suites.configs import field_names, method_config
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Method
from uqbench.suites.tuning import FEWEST, NAME, RATES, Space, Tuning
from uqbench.suites.variants import base_name, expanded, grid, variant_name


def space_of(suite: Suite, method: Method, host: Host) -> Space:
    """The search space of a method; empty where it is not tuned."""
    if suite.tuning is None or (method.role or method.spec(host).role) != "method":
        return {}
    of = suite.tuning.space
    usual = of if {*of} <= field_names(method, host) else {}
    return suite.search_spaces.get(str(method.agent or method.estimator), usual)


def chosen_values(suite: Suite, budget: Budget, method: str, spec: MethodSpec) -> Mapping[str, Any]:
    """The values that a budget takes from the table, for a method or a variant of one.

    Raises:
        UqbenchError: they are of another version of the method.
    """
    name = base_name(method)
    if not budget.tuned or (of := suite.tables.tuned.get(name)) is None:
        return {}
    if of.version.partition(MARK)[0] != spec.version.partition(MARK)[0]:
        raise UqbenchError(
            f"{suite.name}.tuning.csv has settings for version {of.version} of {name}, and version "
            f"{spec.version} is installed: uqbench tune {suite.name} --methods {name}."
        )
    return of.values


def rows_under(suite: Suite, name: str, method: Method, host: Host) -> list[str]:
    """The rows of a method under a budget.

    Under ``tuning`` they are the settings of its search space. Under a budget that is tuned "with
    default" the second is for the default settings, unless these were chosen.
    """
    budget = suite.budget(name)
    if suite.tuning is not None and name == NAME:
        space = space_of(suite, method, host)
        values = {key: grid(*values) for key, values in space.items()}
        return [*expanded(method.name, values)] if space else []
    of = suite.tables.tuned.get(method.name)
    if budget.tuned != "with-default" or of is None:
        return [method.name]
    tasks = filter(method.suits, suite.tasks_of(budget))
    configs = [
        method_config(method, task, host, where=method.name, budget=(name, budget))
        for task in tasks
    ]
    default, *others = ({key: getattr(c, key) for key in of.values} for c in configs)
    if any(other != default for other in others):
        raise UqbenchError(
            f"{suite.name}: {method.name} has other defaults of {', '.join(default)} by task, so "
            f"that they are no row: expected tuned = 'only' in budgets.{name}."
        )
    other = variant_name(method.name, default)
    return [method.name] if default == of.values else [method.name, other]


def check_space(names: Collection[str], settings: int, tuning: Tuning, where: str) -> None:
    """Check that a rate is among a space's fields, and the number of its settings.

    Raises:
        UqbenchError: says what was expected.
    """
    if not {*RATES} & {*names} or not FEWEST <= settings <= tuning.configurations:
        raise UqbenchError(
            f"{where}: expected {FEWEST} to {tuning.configurations} settings, of "
            f"{' or '.join(RATES)} among others; got {settings}, of {', '.join(names)}."
        )
