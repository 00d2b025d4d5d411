"""Is a stored board of the protocol that its suite has now?

A suite's protocol moves on: more seeds, other schedules, another score. A board that was written
before keeps its scores and says what it was run with, but its tables do not follow from the suite
as it is installed, and its rows are not to be compared with new runs.
"""

from collections.abc import Mapping

import numpy as np

from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import Manifest
from uqbench.contract.errors import UqbenchError, see
from uqbench.registry.plugins import Host
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Task
from uqbench.suites.variants import base_name
from uqbench.uncertainty.scores import score_versions

NOT_PROTOCOL = {"name", "summary", "step_ms", "gpu_step_ms", "lanes", "also_ranked_by"}
"""Fields of a budget that change no score."""


def departures(manifest: Manifest, suite: Suite, versions: Mapping[str, str]) -> list[str]:
    """Changes of a suite since a board's ``manifest.json`` was written; mostly none.

    Fields that the manifest has not are newer than it, and had their defaults.

    Args:
        manifest: the board's.
        suite: as it is installed.
        versions: of what is installed; see :func:`versions_here`.
    """
    name = manifest.budget["name"]
    if manifest.imported is not None:
        return []
    if name not in suite.all_budgets:
        return [f"there is no budget {name!r} any more"]
    budget = suite.budget(name)
    earlier = {**manifest.budget}
    changed = []
    if manifest.suite["version"] != suite.version:
        changed.append(f"suite version {manifest.suite['version']}, now {suite.version}")
    for field, value in {
        "actors": budget.actors,
        "tuned": budget.tuned,
        **budget.model_dump(mode="json"),
    }.items():
        then = earlier.get(field, type(budget).model_fields[field].default)
        if field not in NOT_PROTOCOL and then != value:
            changed.append(f"{field} {then}, now {value}")
    methods = manifest.methods.values()
    run = {(m["agent"] or m["estimator"] or m["name"], m["version"]) for m in methods}
    for method, version in sorted(run):
        if versions.get(method, version) != version:
            changed.append(f"{method} version {version}, now {versions[method]}")
    for task, then in (manifest.task_versions or {}).items():
        own = next((of for of in suite.tasks if of.name == task), None)
        now = then if own is None else versions.get(world_of(own), then)
        if now != then:
            changed.append(f"task {task} version {then}, now {now}")
    tuned = {base_name(key.partition("/")[2]) for key in manifest.methods}
    if budget.tuned and manifest.tuning_table not in (None, suite.tables.digest(tuned)):
        changed.append(f"other settings by {suite.name}.tuning.csv")
    was = {"score": manifest.primary_metric["name"], "ranks by": manifest.ranks_by}
    here = {"score": suite.primary_metric(budget).name, "ranks by": suite.ranks_by}
    return changed + [f"{key} {was[key]}, now {of}" for key, of in here.items() if of != was[key]]


def versions_here(host: Host) -> dict[str, str]:
    """The versions of the installed agents and estimators, by name, and of tasks' worlds."""
    methods = [spec for of in (host.agents, host.estimators) for spec in of.values()]
    worlds = {
        f"{of.kind} {name}": spec.version
        for of in (host.environments, host.datasets)
        for name, spec in of.items()
    }
    return {spec.name: spec.version for spec in methods} | worlds


def world_of(task: Task) -> str:
    """The environment or data set of a task, by kind and name."""
    return f"environment {task.environment}" if task.environment else f"dataset {task.dataset}"


def older_scores(board: Board) -> str:
    """The sentence on those scores of a stored board that have another version by now.

    Empty for a board of new runs; scores that no run of it has do not count.
    """
    if board.made_by is None:
        return ""
    now, changed = score_versions(board.plan), dict[str, None]()
    for metric in board.plan.suite.metrics:
        versions = [of.get(metric.statistic, "1") for of in (board.made_by, now)]
        known = any(np.isfinite(cell.values(metric.name)).any() for cell in board.scores.cells)
        if known and versions[0] != versions[1]:
            score = metric.statistic.rpartition("/")[2]
            changed[f"{score} v{versions[0]} (installed: v{versions[1]})"] = None
    return f"Scored with older definitions: {', '.join(changed)}." if changed else ""


def check_as_run(board: Board, folder: object) -> None:
    """See that the scored runs of a stored board are those that its plan would run today.

    Raises:
        UqbenchError: a method or task has another version or other settings by now, or a metric is
            gone, so that tables written now would say what was not run.
    """
    planned = {(run.task, run.method, run.seed): run for run in board.plan.runs}
    metrics = {metric.name for metric in board.plan.suite.metrics}
    for score in board.scores:
        run = planned[score.task, score.method, score.seed]
        if score.run not in {str(one.folder) for one in run.on_any_device}:
            raise UqbenchError(
                f"{folder}: {score.run} was run with other settings or versions than {run.folder} "
                f"would be now; run the suite again instead.{see('earlier-protocol')}"
            )
        if not metrics >= score.values.keys():
            gone = ", ".join(sorted(score.values.keys() - metrics))
            raise UqbenchError(
                f"{folder}: the suite has no metric {gone} any more; run it again instead."
            )
