"""``uqbench list``: what is installed."""

from __future__ import annotations

from typing import Any, Literal, get_args

from uqbench.cli.options import load_host, takes
from uqbench.cli.terminal import print_json, say

KINDS = Literal[
    "suites", "tasks", "claims", "agents", "estimators", "environments", "datasets", "risks",
    "scores", "claim-kinds", "plugins",
]  # fmt: skip


@takes(names={"kind": "KIND"})
def command(kind: KINDS | None = None, *, as_json: bool = False) -> None:
    """List what is installed: suites, agents, environments and so on.

    KIND is suites, tasks, claims, agents, estimators, environments, datasets, risks, scores,
    claim-kinds or plugins; all of them without one.

    \b
    Example:
      uqbench list agents

    Args:
        as_json: Print JSON.
    """
    from uqbench.registry.definitions import source, summary
    from uqbench.registry.registry import Registry
    from uqbench.suites.reading import read_suites
    from uqbench.views.suites import print_suites

    host = load_host()
    catalog = read_suites(host, check=())
    for problem in catalog.problems:
        say(f"uqbench: left out: {problem}", err=True)
    suites = catalog.suites.values()
    listing: dict[str, list[dict[str, Any]]] = {
        "suites": [
            _named(suite, "name", "version", "summary")
            | {"budgets": list(suite.budgets), "tasks": [task.name for task in suite.tasks]}
            | {"methods": [method.name for method in suite.methods]}
            for suite in suites
        ],
        "tasks": [
            {"name": f"{suite.name}/{task.name}"} | _named(task, "environment", "dataset")
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
    for title in get_args(KINDS)[3:-1]:
        name = {"risks": "risk_measures"}.get(title, title.replace("-", "_"))
        registry: Registry[Any] = getattr(host, name)
        listing[title] = [
            {"name": key, "version": spec.version, "summary": summary(spec)}
            | {"source": source(spec), "plugin": registry.origin(key).distribution}
            for key, spec in registry.items()
        ]
    listing["plugins"] = [
        _named(plugin, "name", "distribution", "version")
        | {"adds": host.added_by(plugin), "failure": plugin.failure}
        | {"problems": [p.reason for p in catalog.problems if p.plugin == plugin]}
        | {"complaints": host.complaints(plugin), "slow": plugin.slow}
        for plugin in host.plugins
    ]
    if as_json:
        print_json(listing[kind] if kind else listing)
        return
    for title, entries in listing.items():
        if kind not in (None, title):
            continue
        say(title, bold=True)
        if title == "suites" and entries:
            print_suites(entries)
            continue
        say(*(f"  {_line(entry)}" for entry in entries or [{"name": "(none)"}]))


def _named(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def _line(entry: dict[str, Any]) -> str:
    parts = [str(entry["name"])]
    for key, value in entry.items():
        if key != "name" and value:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(text if key in ("summary", "version") else f"[{key}: {text}]")
    return "  ".join(parts)
