"""Reading suites from TOML.

A file holds one suite, or ``[extend.NAME]`` tables that add to another plugin's
(:mod:`uqbench.suites.rows`). A suite's ``task_defaults`` hold what its tasks share; a method
may have another as its ``base``, even one from another plugin. Errors name the plugin, the file,
the key, what was expected and the nearest known name.
"""

import tomllib
from collections.abc import Container, Mapping
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from uqbench.contract.errors import UqbenchError, did_you_mean, unknown
from uqbench.registry.local import PREFIX, SuiteTable
from uqbench.registry.packages import TRAINS
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin, Registry
from uqbench.suites.checks import check_budgets, check_suite
from uqbench.suites.rows import extended, methods_in, with_base
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Method, Table
from uqbench.suites.typed import typed


@dataclass(frozen=True)
class Problem:
    """A suite file, or part of one, that cannot be used."""

    plugin: Plugin
    reason: str

    def __str__(self) -> str:
        return f"{self.plugin.distribution} {self.plugin.version}: {self.reason}"


@dataclass(frozen=True)
class Catalog:
    """The suites of the installed plugins, and what could not be used."""

    suites: dict[str, Suite]
    problems: tuple[Problem, ...]

    def suite(self, name: str) -> Suite:
        """The suite of that name.

        Raises:
            UqbenchError: there is none; lists the nearest names and the problems found.
        """
        if name in self.suites:
            return self.suites[name]
        error = unknown("suite", name, self.suites)
        more = [] if self.suites else [f"Suites come with extras: {TRAINS}"]
        raise UqbenchError("\n".join(map(str, [error, *more, *self.problems])))


def read_suites(host: Host, *, check: Container[str] | None = None) -> Catalog:
    """Read every suite of the installed plugins, with its extensions.

    A faulty file becomes a :class:`Problem`; the others are still read.

    Args:
        host: the plugins.
        check: names of the suites to check against what the plugins define; None for all. Checking
            a suite imports what it names, including torch; the others are only parsed.

    Raises:
        UqbenchError: a file that the user named is at fault.
    """
    suites: dict[str, tuple[Suite, Plugin]] = {}
    extensions: list[tuple[str, dict[str, Any], str, Plugin, Path | None]] = []
    problems: list[Problem] = []
    failed: dict[str, str] = {}
    for path, plugin in host.suite_files:
        where = f"{plugin.distribution}: {path.name}"
        folder: Path | None = getattr(path, "parent", None)
        table: dict[str, Any] = {}
        try:
            if isinstance(path, SuiteTable):
                table = dict(path.table)
            else:
                table = _parse(path.read_text(encoding="utf-8"), where)
            added = table.pop("extend", {}).items()
            extensions += [(name, t, where, plugin, folder) for name, t in added]
            if table:
                suite = _suite(table, where)
                local = isinstance(path, SuiteTable)  # wins over the package that it is in
                if suite.name in suites and (not local or suites[suite.name][1].shipped):
                    raise UqbenchError(
                        f"{where}: the suite {suite.name!r} is already defined by "
                        f"{suites[suite.name][1].distribution}; rename one of them."
                    )
                if check is None or suite.name in check:
                    check_suite(suite, host, where)
                suite = suite.with_table(folder, own=True)
                suites[suite.name] = suite, plugin
        except (Exception, SystemExit) as error:  # a module that a suite names may fail in any way
            problems.append(Problem(plugin, _reason(error, where)))
            failed.setdefault(str(table.get("name")), str(problems[-1]))
    bases: dict[str, dict[str, Any]] = {}
    for name, table, *_ in extensions:
        bases.setdefault(name, {}).update(methods_in(table))
    for name, table, where, plugin, at in extensions:
        if name not in suites:
            # perhaps the plugin that defines it is not installed; a near name is a slip
            near = get_close_matches(name, suites, n=1, cutoff=0.8)
            if name in failed:
                reason = f"{where}: extend.{name}: the suite did not load: {failed[name]}"
                problems.append(Problem(plugin, reason))
            elif near or plugin.distribution.startswith(PREFIX):
                reason = f"{where}: extend.{name}: there is no suite {name!r}. "
                problems.append(Problem(plugin, reason + did_you_mean(name, near or suites)))
            continue
        suite, origin = suites[name]
        checked = host if check is None or name in check else None
        if plugin.distribution.startswith(PREFIX):
            suite = _without_copies(suite, table, host)
        place = f"{where}: extend.{name}"
        joined, wrong = extended(suite, table, checked, place, bases.get(name, {}))
        try:
            joined = joined.with_table(at, own=False)
        except UqbenchError as error:
            wrong.append(str(error))
        suites[name] = joined, origin
        problems += [Problem(plugin, reason) for reason in wrong]
    for name, (suite, origin) in list(suites.items()):
        where = f"{origin.distribution}: {name}"
        try:
            if check is None or name in check:
                check_budgets(suite, host, where)
        except (Exception, SystemExit) as error:  # a config's module may fail in any way
            problems.append(Problem(origin, _reason(error, where)))
            del suites[name]
    if named := [p for p in problems if p.plugin.distribution.startswith(PREFIX)]:
        raise UqbenchError("\n".join(problem.reason for problem in named))
    return Catalog({name: suites[name][0] for name in sorted(suites)}, tuple(problems))


def _without_copies(suite: Suite, table: Mapping[str, Any], host: Host) -> Suite:
    """The suite without methods that a local plugin has, too, such as the file of a package.

    Shipped methods stay: there the name is taken.
    """
    names = {method.get("name") for method in table.get("methods", ()) if method}

    def stays(method: Method) -> bool:
        registry: Registry[Any] = host.agents if method.agent else host.estimators
        entry = str(method.agent or method.estimator)
        return method.name not in names or (entry in registry and registry.origin(entry).shipped)

    return suite.model_copy(update={"methods": tuple(filter(stays, suite.methods))})


def parse_suite(text: str, host: Host, where: str) -> Suite:
    """Read and check one suite from TOML text; errors call it ``where``."""
    suite = _suite(_parse(text, where), where)
    check_suite(suite, host, where)
    check_budgets(suite, host, where)
    return suite


def _suite(table: dict[str, Any], where: str) -> Suite:
    """A suite with its ``task_defaults`` and its methods' bases resolved."""
    defaults = table.pop("task_defaults", {})
    if defaults:
        typed(TaskDefaults, defaults, f"{where}: task_defaults")
        table["tasks"] = [_with_defaults(task, defaults) for task in table.get("tasks", [])]
    suite: Suite = typed(Suite, table, where)
    known = {method.name: method for method in suite.methods}
    methods = tuple(with_base(method, known, where) for method in suite.methods)
    return suite.model_copy(update={"methods": methods})


class TaskDefaults(Table):
    """Keys that the suite's tasks share, unless they say otherwise."""

    environment: str | None = None
    dataset: str | None = None
    config: dict[str, Any] | None = None
    discount: float | None = None
    time_limit: int | None = None
    time_limit_is: str | None = None
    worlds: str | None = None


def _with_defaults(task: Any, defaults: Mapping[str, Any]) -> Any:
    if not isinstance(task, dict):
        return task  # validation reports what is wrong
    config = defaults.get("config", {}) | task.get("config", {})
    return {**defaults, **task, **({"config": config} if config else {})}


def _reason(error: BaseException, where: str) -> str:
    if isinstance(error, UqbenchError):
        return str(error)
    return f"{where}: {type(error).__name__}: {error}"


_parsed = cache(tomllib.loads)  # a command reads all suites up to five times


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return deepcopy(_parsed(text))
    except tomllib.TOMLDecodeError as error:
        raise UqbenchError(f"{where}: not valid TOML: {error}") from None
