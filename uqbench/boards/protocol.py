"""Is a stored board of the protocol that its suite has now?

A suite's protocol moves on: more seeds, other schedules, another score. A board that was written
before keeps its scores and says what it was run with, but its tables do not follow from the suite
as it is installed, and its rows are not to be compared with new runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uqbench.registry.plugins import Host
from uqbench.suites.suite import Suite

NOT_PROTOCOL = {"name", "summary", "step_ms", "lanes"}
"""Fields of a budget that change no number."""


def departures(manifest: Mapping[str, Any], suite: Suite, versions: Mapping[str, str]) -> list[str]:
    """What the suite does otherwise by now than a board's ``manifest.json`` says; mostly nothing.

    Fields that the manifest does not have are newer than it, and had their defaults.

    Args:
        manifest: the board's.
        suite: as it is installed.
        versions: of the installed agents and estimators, by name.
    """
    name = str(manifest["budget"]["name"])
    if name not in suite.budgets:
        return [f"there is no budget {name!r} any more"]
    budget = suite.budgets[name]
    now = {"actors": budget.actors, **budget.model_dump(mode="json")}
    found = []
    if manifest["suite"]["version"] != suite.version:
        found.append(f"suite version {manifest['suite']['version']}, now {suite.version}")
    for field, value in now.items():
        then = manifest["budget"].get(field, type(budget).model_fields[field].default)
        if field not in NOT_PROTOCOL and then != value:
            found.append(f"{field} {then}, now {value}")
    run = {(m["agent"] or m["estimator"], m["version"]) for m in manifest["methods"].values()}
    for method, version in sorted(run):
        if versions.get(method, version) != version:
            found.append(f"{method} version {version}, now {versions[method]}")
    metric, primary = manifest["primary_metric"]["name"], suite.primary_metric(budget).name
    if metric != primary:
        found.append(f"score {metric}, now {primary}")
    return found


def versions_here(host: Host) -> dict[str, str]:
    """The versions of the installed agents and estimators, by name."""
    return {
        spec.name: spec.version for of in (host.agents, host.estimators) for spec in of.values()
    }
