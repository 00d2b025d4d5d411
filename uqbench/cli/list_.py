"""``uqbench list``: what is installed."""

from __future__ import annotations

import json
from typing import Any

import click

from uqbench.cli.options import json_option, load_host
from uqbench.cli.terminal import say

KINDS = (
    "suites", "tasks", "claims", "agents", "estimators", "environments", "datasets", "risks",
    "claim-kinds", "plugins",
)  # fmt: skip


@click.command(name="list")
@click.argument("kind", type=click.Choice(KINDS), required=False)
@json_option
def command(kind: str | None, as_json: bool) -> None:
    """List what is installed: suites, agents, environments and so on.

    \b
    Example:
      uqbench list agents
    """
    from uqbench.registry.docstrings import source, summary
    from uqbench.registry.registry import Registry
    from uqbench.suites.reading import read_suites
    from uqbench.views.suites import print_suites

    host = load_host()
    catalog = read_suites(host, check=())
    for problem in catalog.problems:
        say(f"uqbench: left out: {problem}", err=True)
    registries: dict[str, Registry[Any]] = {
        "agents": host.agents,
        "estimators": host.estimators,
        "environments": host.environments,
        "datasets": host.datasets,
        "risks": host.risk_measures,
        "claim-kinds": host.claim_kinds,
    }
    listing: dict[str, list[dict[str, object]]] = {
        "suites": [
            {
                "name": suite.name,
                "version": suite.version,
                "summary": suite.summary,
                "budgets": list(suite.budgets),
                "tasks": [task.name for task in suite.tasks],
                "methods": [method.name for method in suite.methods],
            }
            for suite in catalog.suites.values()
        ],
        "tasks": [
            {
                "name": f"{suite.name}/{task.name}",
                "environment": task.environment,
                "dataset": task.dataset,
            }
            for suite in catalog.suites.values()
            for task in suite.tasks
        ],
        "claims": [
            {
                "name": f"{suite.name}/{claim.id}",
                "kind": claim.kind,
                "budgets": list(claim.budgets),
                "source": claim.source,
                "summary": claim.sentence,
            }
            for suite in catalog.suites.values()
            for claim in suite.claims
        ],
        **{
            name: [
                {
                    "name": key,
                    "version": spec.version,
                    "summary": summary(spec),
                    "source": source(spec),
                    "plugin": registry.origin(key).distribution,
                }
                for key, spec in registry.items()
            ]
            for name, registry in registries.items()
        },
        "plugins": [
            {
                "name": plugin.name,
                "distribution": plugin.distribution,
                "version": plugin.version,
                "adds": host.added_by(plugin),
                "failure": plugin.failure,
                "problems": [p.reason for p in catalog.problems if p.plugin == plugin],
                "complaints": host.complaints(plugin),
                "slow": plugin.slow,
            }
            for plugin in host.plugins
        ],
    }
    chosen = {kind: listing[kind]} if kind else listing
    if as_json:
        click.echo(json.dumps(chosen[kind] if kind else chosen, indent=1))
        return
    for title, entries in chosen.items():
        say(title, bold=True)
        if title == "suites" and entries:
            print_suites(entries)
            continue
        for entry in entries:
            say(f"  {_line(entry)}")
        if not entries:
            say("  (none)")


def _line(entry: dict[str, object]) -> str:
    parts = [str(entry["name"])]
    for key, value in entry.items():
        if key != "name" and value:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(text if key in ("summary", "version") else f"[{key}: {text}]")
    return "  ".join(parts)
