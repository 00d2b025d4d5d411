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
from uqbench.suites.tuning import FEWEST, LAST, NAME, RATES, Space, Tuning, grids_of
from uqbench.suites.variants import base_name, expanded, grid, variant_name


def space_of(suite: Suite, method: Method, host: Host) -> Space:
    """The search space of a method; empty where it is not tuned."""
    if suite.tuning is None or (method.role or method.spec(host).role) != "method":
        return {}
    of = suite.tuning.space
    names = {name for part in grids_of(of) for name in part}
    usual = of if names <= field_names(method, host) else {}
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
    if suite.tuning is not None and name in (NAME, LAST):
        tried = settings_tried(space_of(suite, method, host), method.name)
        if name == NAME or suite.tuning.last is None:
            return [*tried]
        kept = [
            f"{method.name}[{s}]" for s in suite.tables.kept(method.name, suite.tuning.last.keep)
        ]
        own = default_of(suite, name, method, host, tried)
        return list(dict.fromkeys([*kept, *([own] if kept and own is not None else [])]))
    of = suite.tables.tuned.get(method.name)
    if budget.tuned != "with-default" or of is None:
        return [method.name]
    default, *others = defaults(suite, name, method, host, of.values)
    if any(other != default for other in others):
        raise UqbenchError(
            f"{suite.name}: the defaults of {method.name} for {', '.join(default)} differ by task, "
            f"so they are not one setting: expected tuned = 'only' in budgets.{name}."
        )
    other = variant_name(method.name, default)
    return [method.name] if default == of.values else [method.name, other]


def settings_tried(space: Space, name: str) -> dict[str, dict[str, Any]]:
    """The settings of a search space by the names of the method's variants."""
    tried: dict[str, dict[str, Any]] = {}
    for part in grids_of(space):
        tried |= expanded(name, {key: grid(*values) for key, values in part.items()})
    return tried


def default_of(
    suite: Suite, budget: str, method: Method, host: Host, tried: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """The variant whose values are the method's own under a budget; None where none is."""
    for name, values in tried.items():
        if all(own == values for own in defaults(suite, budget, method, host, values)):
            return name
    return None


def defaults(
    suite: Suite, name: str, method: Method, host: Host, keys: Collection[str]
) -> list[dict[str, Any]]:
    """The method's own values of some fields under a budget, by task."""
    budget = suite.budget(name)
    configs = (
        method_config(method, task, host, where=method.name, budget=(suite.written(name), budget))
        for task in filter(method.suits, suite.tasks_of(budget))
    )
    return [{key: getattr(config, key) for key in keys} for config in configs]


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
