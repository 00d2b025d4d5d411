"""What is installed, by kind: the entries of ``uqbench list``, and as frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.registry.definitions import source, summary
from uqbench.registry.load_host import load_host

if TYPE_CHECKING:  # pandas is imported where a frame is asked for
    import pandas as pd

    from uqbench.registry.registry import Registry

Kind = Literal[
    "suites", "tasks", "claims", "agents", "estimators", "environments", "datasets", "risks",
    "scores", "claim-kinds", "plugins",
]  # fmt: skip
Entries = list[dict[str, Any]]


def listing(kind: Kind | None = None, say: Say = warn) -> Mapping[Kind, Entries]:
    """What is installed, by kind: names, versions, summaries, and what defines them.

    Args:
        kind: this one alone; None for all.
        say: is told which plugins and suites cannot be used.
    """
    from uqbench.suites.reading import read_suites  # not for the sake of --help

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
        "claims": [
            {"name": f"{suite.name}/{claim.id}", "kind": claim.kind}
            | {"budgets": list(claim.budgets), "source": claim.source, "summary": claim.sentence}
            for suite in suites
            for claim in suite.claims
        ],
    }
    for title in get_args(Kind)[3:-1]:
        name = {"risks": "risk_measures"}.get(title, title.replace("-", "_"))
        if kind in (None, title):  # docstrings are those of modules that this imports
            entries[title] = _registered(getattr(host, name))
    entries["plugins"] = [
        named(plugin, "name", "distribution", "version")
        | {"adds": host.added_by(plugin), "failure": plugin.failure}
        | {"problems": [p.reason for p in catalog.problems if p.plugin == plugin]}
        | {"complaints": host.complaints(plugin), "slow": plugin.slow}
        for plugin in host.plugins
    ]
    return entries if kind is None else {kind: entries[kind]}


def _registered(registry: Registry[Any]) -> Entries:
    """What a registry holds, with the reason where something cannot be imported."""
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


def list_suites() -> pd.DataFrame:
    """The installed suites: ``name``, ``version``, ``summary``, budgets, tasks and methods.

    Example:
        >>> import uqbench
        >>> uqbench.list_suites().query("name.str.startswith('deep')")  # doctest: +SKIP
    """
    return _frame(listing("suites")["suites"])


def list_agents() -> pd.DataFrame:
    """The installed agents: ``name``, ``version``, ``summary``, ``source``, ``plugin``."""
    return _frame(listing("agents")["agents"])


def list_methods(suite: str) -> pd.DataFrame:
    """The methods of a suite: ``name``, agent or estimator, ``role``, ``summary``, ``config``.

    Args:
        suite: its name.

    Raises:
        UqbenchError: there is no such suite; says the nearest.
    """
    from uqbench.suites.reading import read_suites

    host, rows = load_host(), []
    for method in read_suites(host, check=()).suite(suite).methods:
        spec = host.agents[method.agent] if method.agent else host.estimators[str(method.estimator)]
        about = {"role": spec.role, "summary": summary(spec), "config": method.config}
        rows.append(named(method, "name", "agent", "estimator") | about)
    return _frame(rows)


def list_budgets(suite: str) -> pd.DataFrame:
    """The budgets of a suite: ``name``, ``steps``, ``seeds``, ``tasks``, ``ranks``, ``summary``.

    Args:
        suite: its name.

    Raises:
        UqbenchError: there is no such suite; says the nearest.
    """
    from uqbench.suites.reading import read_suites

    own = read_suites(load_host(), check=()).suite(suite)
    rows = [
        {"name": name, "steps": budget.steps, "seeds": budget.seeds}
        | {"tasks": [task.name for task in own.tasks_of(budget)]}
        | named(budget, "ranks", "summary")
        for name, budget in own.budgets.items()
    ]
    return _frame(rows)


def _frame(rows: Entries) -> pd.DataFrame:
    from pandas import DataFrame

    return DataFrame(rows)
