"""Installed things by kind: the entries of ``uqbench list``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.registry.load_host import load_host

if TYPE_CHECKING:
    from uqbench.registry.registry import Registry

Kind = Literal[
    "suites", "tasks", "methods", "claims", "agents", "estimators", "environments", "datasets",
    "risks", "scores", "claim-kinds", "plugins",
]  # fmt: skip
Entries = list[dict[str, Any]]


def listing(kind: Kind | None = None, say: Say = warn) -> Mapping[Kind, Entries]:
    """Installed components by kind: names, versions, summaries and origins.

    Args:
        kind: this one alone; None for all.
        say: is told which plugins and suites cannot be used.
    """
    from uqbench.suites.reading import read_suites

    host = load_host(say)
    catalog = read_suites(host, check=())
    for problem in catalog.problems:
        say(f"uqbench: left out: {problem}")
    suites = catalog.suites.values()
    entries: dict[Kind, Entries] = {
        "suites": [
            named(suite, "name", "version", "summary")
            | {"budgets": list(suite.budgets), "tasks": [task.name for task in suite.tasks]}
            | {"methods": [method.name for method in suite.methods]}
            for suite in suites
        ],
        "tasks": [
            {"name": f"{suite.name}/{task.name}"} | named(task, "environment", "dataset")
            for suite in suites
            for task in suite.tasks
        ],
        "methods": [
            {"name": f"{suite.name}/{method.name}"} | named(method, "agent", "estimator", "budgets")
            for suite in suites
            for method in suite.methods
        ],
        "claims": [
            {"name": f"{suite.name}/{claim.id}", "kind": claim.kind}
            | {"budgets": list(claim.budgets), "source": claim.source, "summary": claim.sentence}
            for suite in suites
            for claim in suite.claims
        ],
    }
    for title in get_args(Kind)[4:-1]:
        name = {"risks": "risk_measures"}.get(title, title.replace("-", "_"))
        if kind in (None, title):  # docstrings are those of modules that this imports
            entries[title] = _registered(getattr(host, name))
    entries["plugins"] = [
        named(plugin, "name", "distribution", "version")
        | {"adds": host.added_by(plugin), "failure": plugin.failure}
        | {"problems": [p.reason for p in catalog.problems if p.plugin == plugin]}
        | {"complaints": host.complaints(plugin)}
        for plugin in host.plugins
    ]
    return entries if kind is None else {kind: entries[kind]}


def _registered(registry: Registry[Any]) -> Entries:
    """Entries of a registry, with the reason where one cannot be imported."""
    from uqbench.registry.definitions import source, summary

    entries = []
    for name in registry:
        about = {"version": "", "summary": "", "source": ""}
        try:
            spec = registry[name]
            about |= {"version": spec.version, "summary": summary(spec), "source": source(spec)}
        except UqbenchError as error:
            about["summary"] = str(error)
        entries.append({"name": name} | about | {"plugin": registry.origin(name).distribution})
    return entries


def named(thing: object, *names: str) -> dict[str, Any]:
    """Attributes by name."""
    return {name: getattr(thing, name) for name in names}
