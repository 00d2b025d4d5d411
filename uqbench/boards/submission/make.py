"""From the finished runs of a results folder to a submission."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from uqbench.boards.cost import cost_csv
from uqbench.boards.leaderboard import board
from uqbench.boards.provenance import of_older_code, provenance, provenance_json
from uqbench.boards.stored import PROVENANCE
from uqbench.boards.submission.bundle import CHECK, LOCK, write_bundle
from uqbench.contract.errors import UqbenchError, see
from uqbench.contract.wording import count
from uqbench.results.store import RunState, Store

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host
    from uqbench.registry.registry import Plugin, Registry
    from uqbench.suites.plan import Plan

Checks = Callable[["Host", str], list[dict[str, str]]]
"""From ``DISTRIBUTION:NAME`` to the results of its checks, as ``plugin check --json`` prints."""
DONE = (RunState.FINISHED.value, RunState.FAILED.value)


def submit(plan: Plan, host: Host, store: Store, path: Path, check: Checks) -> str:
    """Write a submission of a plan's runs; return its sha256.

    Args:
        plan: of the methods that are submitted, as their suite and budget say.
        host: the plugins.
        store: of the runs.
        path: of the file.
        check: makes the checks of a plugin.

    Raises:
        UqbenchError: runs are missing, a method is in no package, or a plugin breaks a required
            rule of conformance.
    """
    result = board(plan, store)
    if result.local:
        raise UqbenchError(
            f"{', '.join(sorted(result.local))}: code of a file cannot be run again by others; "
            f"uqbench plugin new makes a package."
        )
    open_runs = [score.run for score in result.scores if score.status not in DONE]
    if open_runs:
        raise UqbenchError(
            f"{count(len(open_runs), 'run')} of {len(result.scores)} are not done, such as "
            f"{open_runs[0]}: uqbench run --suite {plan.suite.name} --budget {plan.budget_name} "
            f"--methods {','.join(plan.roles)} does them."
        )
    older = of_older_code(result.scores)
    if older:
        raise UqbenchError(
            f"runs were made with other code than is installed ({older}), so that its check and "
            f"versions are not theirs: uqbench run --rerun makes them again."
            f"{see('other-code')}"
        )
    files = {name: text.encode() for name, text in result.files().items()}
    files[PROVENANCE] = provenance_json(provenance(result.scores, store), older).encode()
    files["cost.csv"] = cost_csv(plan, result.scores).encode()
    files[LOCK] = lock().encode()
    files[CHECK] = json.dumps(report(host, components(plan, host), check), indent=1).encode()
    return write_bundle(path, plan.suite.name, plan.budget_name, sorted(plan.roles), files)


def components(plan: Plan, host: Host) -> list[tuple[Plugin, str]]:
    """What a plan's rows use, with its plugins: methods, and environments that are not shipped."""
    named: list[tuple[Registry[Any], str | None]] = []
    for method, task in ((cell.method, cell.task) for cell in plan.cells):
        named += [(host.agents, method.agent), (host.estimators, method.estimator)]
        named += [(host.environments, task.environment), (host.datasets, task.dataset)]
    used = {
        (registry.origin(name), name.rpartition(":")[2])
        for registry, name in named
        if name is not None
        and (registry.kind in ("agent", "estimator") or not registry.origin(name).shipped)
    }
    return sorted(used, key=lambda one: (one[0].distribution, one[0].name, one[1]))


def involved(plan: Plan, host: Host) -> list[Plugin]:
    """The plugins of :func:`components`."""
    return list(dict.fromkeys(plugin for plugin, _ in components(plan, host)))


def report(
    host: Host, used: Iterable[tuple[Plugin, str]], check: Checks
) -> dict[str, list[dict[str, str]]]:
    """The conformance report of what rows use, by distribution.

    Raises:
        UqbenchError: a required rule is broken, or nothing was checked.
    """
    checked: dict[str, list[dict[str, str]]] = {}
    for plugin, name in used:
        what = f"{plugin.distribution}:{name}"
        results = check(host, what)
        broken = [
            f"{result['subject']}: {result['check']}"
            for result in results
            if result["level"] == "required" and result["status"] in ("failed", "blocked")
        ]
        if broken or not results:
            rules = ", ".join(broken[:5]) or "nothing was checked"
            raise UqbenchError(
                f"{what} does not keep {count(len(broken), 'required rule')} ({rules}): uqbench "
                f"plugin check {what} says more."
            )
        checked.setdefault(plugin.distribution, []).extend(results)
    return checked


def lock() -> str:
    """``lock.txt``: the exact version of every distribution that is installed, for pip."""
    versions = {}
    for distribution in metadata.distributions():
        name = distribution.name
        source = distribution.read_text("direct_url.json")
        note = "" if source is None else f"  # {_source(source)}"
        versions[canonicalize_name(name)] = f"{name}=={distribution.version}{note}"
    lines = [f"# Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    return "\n".join([*lines, *(versions[name] for name in sorted(versions))]) + "\n"


def _source(direct_url: str) -> str:
    """Where a distribution is from that no index has; a folder's name is nobody's business."""
    origin = json.loads(direct_url)
    if "vcs_info" in origin:
        return f"{origin['url']} at {origin['vcs_info']['commit_id']}"
    return "from a folder" if "dir_info" in origin else "from a file"
