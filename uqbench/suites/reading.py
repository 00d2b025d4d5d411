"""Reading suites from TOML.

A file holds one suite, or ``[extend.NAME]`` tables that add methods, claims and readings of papers
to another plugin's suite. A suite's ``task_defaults`` hold what its tasks share; a method may have
another as its ``base``, even one from another plugin. Errors name the plugin, the file, the key,
what was expected and the nearest known name.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from uqbench.config import explain
from uqbench.errors import UqbenchError, did_you_mean, unknown
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin
from uqbench.suites.checks import (
    check_budget_configs,
    check_claim,
    check_method,
    check_suite,
    check_unique,
)
from uqbench.suites.claims import Claim, Reading
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Evaluation, Method, Name, Table, Task


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
        raise UqbenchError("\n".join(map(str, [error, *self.problems])))


class Extension(Table):
    """What an ``[extend.NAME]`` table adds to a suite."""

    methods: tuple[Method, ...] = ()
    readings: dict[Name, Reading] = Field(default_factory=dict)
    claims: tuple[Claim, ...] = ()


def read_suites(host: Host, *, check: Container[str] | None = None) -> Catalog:
    """Read every suite of the installed plugins, with its extensions.

    A faulty file becomes a :class:`Problem`; the others are still read.

    Args:
        host: the plugins.
        check: names of the suites to check against what the plugins define; None for all. Checking
            a suite imports what it names, including torch; the others are only parsed.
    """
    suites: dict[str, tuple[Suite, Plugin]] = {}
    extensions: list[tuple[str, dict[str, Any], str, Plugin]] = []
    problems: list[Problem] = []
    for path, plugin in host.suite_files:
        where = f"{plugin.distribution}: {path.name}"
        try:
            table = _parse(path.read_text(encoding="utf-8"), where)
            extensions += [(name, t, where, plugin) for name, t in table.pop("extend", {}).items()]
            if table:
                suite = _suite(table, where)
                if suite.name in suites:
                    raise UqbenchError(
                        f"{where}: the suite {suite.name!r} is already defined by "
                        f"{suites[suite.name][1].distribution}; rename one of them."
                    )
                if check is None or suite.name in check:
                    check_suite(suite, host, where)
                suites[suite.name] = suite, plugin
        except Exception as error:  # a module that a suite names may fail in any way
            problems.append(Problem(plugin, _reason(error, where)))
    bases = _bases(extensions)
    for name, table, where, plugin in extensions:
        if name not in suites:
            # perhaps the plugin that defines it is not installed; a near name is a slip
            if near := get_close_matches(name, suites, n=1, cutoff=0.8):
                reason = f"{where}: extend.{name}: there is no suite {name!r}. "
                problems.append(Problem(plugin, reason + did_you_mean(name, near)))
            continue
        suite, origin = suites[name]
        place = f"{where}: extend.{name}"
        try:
            joined, added = _joined(suite, table, place, bases.get(name, {}))
            if check is None or name in check:
                _check_added(added, joined, host, place)
            suites[name] = joined, origin
        except Exception as error:  # a config's module may fail in any way
            problems.append(Problem(plugin, _reason(error, place)))
    for name, (suite, origin) in list(suites.items()):
        where = f"{origin.distribution}: {name}"
        try:
            if check is None or name in check:
                check_budget_configs(suite, host, where)
        except Exception as error:  # a config's module may fail in any way
            problems.append(Problem(origin, _reason(error, where)))
            del suites[name]
    return Catalog({name: suites[name][0] for name in sorted(suites)}, tuple(problems))


def parse_suite(text: str, host: Host, where: str) -> Suite:
    """Read and check one suite from TOML text; errors call it ``where``."""
    suite = _suite(_parse(text, where), where)
    check_suite(suite, host, where)
    check_budget_configs(suite, host, where)
    return suite


def join(suite: Suite, table: Any, host: Host, where: str) -> Suite:
    """Return the suite with the methods and claims of an ``[extend.NAME]`` table added."""
    joined, extension = _joined(suite, table, where, {})
    _check_added(extension, joined, host, where)
    return joined


def _suite(table: dict[str, Any], where: str) -> Suite:
    """A suite with its ``task_defaults`` and its methods' bases resolved."""
    defaults = table.pop("task_defaults", {})
    if defaults:
        _validate(_TaskDefaults, defaults, f"{where}: task_defaults")
        table["tasks"] = [_with_defaults(task, defaults) for task in table.get("tasks", [])]
    suite: Suite = _validate(Suite, table, where)
    methods = _resolve_bases(suite.methods, {m.name: m for m in suite.methods}, where)
    return suite.model_copy(update={"methods": methods})


class _TaskDefaults(Table):
    environment: str | None = None
    dataset: str | None = None
    config: dict[str, Any] | None = None
    discount: float | None = None
    time_limit: int | None = None
    time_limit_is: str | None = None


def _with_defaults(task: Any, defaults: Mapping[str, Any]) -> Any:
    if not isinstance(task, dict):
        return task  # validation reports what is wrong
    config = defaults.get("config", {}) | task.get("config", {})
    return {**defaults, **task, **({"config": config} if config else {})}


def _bases(
    extensions: list[tuple[str, dict[str, Any], str, Plugin]],
) -> dict[str, dict[str, Method]]:
    """Methods of extensions by suite and name; other extensions may use them as bases."""
    bases: dict[str, dict[str, Method]] = {}
    for name, table, where, _ in extensions:
        methods = table.get("methods") if isinstance(table, dict) else None
        for method in methods if isinstance(methods, list) else ():
            try:
                read: Method = _validate(Method, method, where)
            except UqbenchError:
                continue  # reported where the extension itself is read
            bases.setdefault(name, {})[read.name] = read
    return bases


def _resolve_bases(
    methods: tuple[Method, ...], known: Mapping[str, Method], where: str
) -> tuple[Method, ...]:
    """The methods with everything they inherit from their base, and its base in turn."""

    def resolved(method: Method, variants: tuple[str, ...]) -> Method:
        if method.base is None:
            return method
        key = f"{where}: methods.{method.name}.base"
        if method.base in variants:
            raise UqbenchError(f"{key}: {' → '.join((*variants, method.base))} is a cycle.")
        if method.base not in known:
            near = did_you_mean(method.base, known)
            raise UqbenchError(f"{key}: there is no method {method.base!r}. {near}")
        return method.on(resolved(known[method.base], (*variants, method.base)))

    return tuple(resolved(method, (method.name,)) for method in methods)


def _joined(
    suite: Suite, table: Any, where: str, bases: Mapping[str, Method]
) -> tuple[Suite, Extension]:
    read: Extension = _validate(Extension, table, where)
    known = {m.name: m for m in (*bases.values(), *suite.methods, *read.methods)}
    extension = read.model_copy(update={"methods": _resolve_bases(read.methods, known, where)})
    joined = suite.model_copy(
        update={
            "methods": suite.methods + extension.methods,
            "readings": suite.readings | extension.readings,
            "claims": suite.claims + extension.claims,
        }
    )
    check_unique([method.name for method in joined.methods], f"{where}.methods")
    check_unique([*suite.readings, *extension.readings], f"{where}.readings")
    check_unique([claim.id for claim in joined.claims], f"{where}.claims")
    return joined, extension


def _check_added(extension: Extension, suite: Suite, host: Host, where: str) -> None:
    for method in extension.methods:
        check_method(method, suite, host, where)
    for claim in extension.claims:
        check_claim(claim, suite, host, where)


def _reason(error: Exception, where: str) -> str:
    if isinstance(error, UqbenchError):
        return str(error)
    return f"{where}: {type(error).__name__}: {error}"


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UqbenchError(f"{where}: not valid TOML: {error}") from None


def _validate(model: type[Any], table: Any, where: str) -> Any:
    try:
        return model.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        raise UqbenchError(f"{where}: {_located(error, model)}") from None


def _located(error: ValidationError, model: type[BaseModel]) -> str:
    """Explain the error; for an unknown key, with the nearest key of its table."""
    sentences = []
    for found in error.errors():
        if found["type"] == "extra_forbidden":
            *path, key = found["loc"]
            table = next((_TABLES[str(p)] for p in reversed(path) if p in _TABLES), model)
            place = ".".join(map(str, path)) or "top level"
            near = did_you_mean(str(key), table.model_fields)
            sentences.append(f"{place}: unknown key {key!r}. {near}")
    return "; ".join(sentences) or explain(error)


_TABLES: dict[int | str, type[BaseModel]] = {
    "tasks": Task,
    "budgets": Budget,
    "evaluation": Evaluation,
    "methods": Method,
    "metrics": Metric,
    "normalization": Normalization,
    "readings": Reading,
    "constants": NormalizationConstants,
}
