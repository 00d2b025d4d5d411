"""From the finished runs of a results folder to a submission."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from uqbench.boards.board_files import curve_files
from uqbench.boards.cost import cost_csv
from uqbench.boards.leaderboard import board
from uqbench.boards.provenance import of_older_code, provenance, provenance_json
from uqbench.boards.stored import PROVENANCE
from uqbench.boards.submission.bundle import CHECK, LOCK, write_bundle
from uqbench.errors import UqbenchError, see
from uqbench.results.store import RunState, Store
from uqbench.wording import count

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host
    from uqbench.registry.registry import Plugin
    from uqbench.suites.plan import Plan

Checks = Callable[["Host", str], list[dict[str, str]]]
"""From a plugin's name to the results of its checks, as ``uqbench plugin check --json`` prints."""
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
    files[CHECK] = json.dumps(report(host, involved(plan, host), check), indent=1).encode()
    files |= curve_files(plan, result.scores, store)
    return write_bundle(path, plan.suite.name, plan.budget_name, sorted(plan.roles), files)


def involved(plan: Plan, host: Host) -> list[Plugin]:
    """The plugins of a plan's methods, and those of its tasks that uqbench does not ship."""
    methods, tasks = set(), set()
    for cell in plan.cells:
        if cell.method.agent is not None:
            methods.add(host.agents.origin(cell.method.agent))
        if cell.method.estimator is not None:
            methods.add(host.estimators.origin(cell.method.estimator))
        if cell.task.environment is not None:
            tasks.add(host.environments.origin(cell.task.environment))
        if cell.task.dataset is not None:
            tasks.add(host.datasets.origin(cell.task.dataset))
    plugins = methods | {plugin for plugin in tasks if not plugin.shipped}
    return sorted(plugins, key=lambda plugin: (plugin.distribution, plugin.name))


def report(host: Host, plugins: Iterable[Plugin], check: Checks) -> dict[str, list[dict[str, str]]]:
    """The conformance report of plugins, by distribution.

    Raises:
        UqbenchError: a required rule is broken, or nothing was checked.
    """
    checked: dict[str, list[dict[str, str]]] = {}
    for plugin in plugins:
        results = check(host, plugin.name)
        broken = [
            f"{result['subject']}: {result['check']}"
            for result in results
            if result["level"] == "required" and result["status"] in ("failed", "blocked")
        ]
        if broken or not results:
            what = ", ".join(broken[:5])
            raise UqbenchError(
                f"{plugin.distribution} does not keep {count(len(broken), 'required rule')} "
                f"({what or 'nothing was checked'}): uqbench plugin check {plugin.name} says more."
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
