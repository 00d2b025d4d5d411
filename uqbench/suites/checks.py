"""Checks of a suite's names and config values against what the plugins define.

Every error names the file, the key, the value and the nearest known name.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from uqbench.errors import UqbenchError, did_you_mean
from uqbench.registry.plugins import Host
from uqbench.specs import EnvironmentSpec
from uqbench.suites.claims import NOT_VERIFIABLE, Claim
from uqbench.suites.configs import field_names, method_config, task_config
from uqbench.suites.metrics import (
    EPISODE_STATISTICS,
    EVENT_STATISTICS,
    RECORDS,
    STATISTICS,
    Metric,
)
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Method, Task


def check_head(suite: Suite, where: str) -> None:
    """Check the names that a suite gives outside of its rows.

    Raises:
        UqbenchError: names the key, what was expected and the nearest known name.
    """
    metrics = [metric.name for metric in suite.metrics]
    _known(suite.primary, metrics, f"{where}: primary", "metric")
    for name in suite.pareto:
        _known(name, metrics, f"{where}: pareto", "metric")
    _known(suite.default_budget, suite.budgets, f"{where}: default_budget", "budget")
    for required in ("smoke", "paper"):
        key = f"{where}: budgets: every suite needs smoke and paper"
        _known(required, suite.budgets, key, "budget")


def check_row(kind: str, name: str, suite: Suite, host: Host, where: str) -> None:
    """Check one row of a suite against those before it and what the plugins define.

    Raises:
        UqbenchError: names the key, what was expected and the nearest known name.
    """
    metrics: Collection[Metric] = ()
    methods: Collection[Method] = ()
    if kind == "tasks":
        _check_task(suite.task(name), host, f"{where}: tasks.{name}")
        metrics, methods = suite.metrics, suite.methods  # such as of events that it does not count
    elif kind == "metrics":
        metrics = [suite.metric(name)]
    elif kind == "budgets":
        _check_budget(suite, suite.budget(name), f"{where}: budgets.{name}")
        check_budget_configs(suite, host, where)
        methods = suite.methods
    elif kind == "methods":
        methods = [suite.method(name)]
    elif kind == "claims":
        _check_claim(next(c for c in suite.claims if c.id == name), suite, host, where)
    for metric in metrics:
        _check_metric(metric, suite, host, f"{where}: metrics.{metric.name}")
    for metric in suite.metrics:
        normalized = metric.normalized_as or metric.name
        if (kind, name) in (("metrics", metric.name), ("normalization", normalized)):
            _check_normalization(metric, suite, where)
    for method in methods:
        _check_method(method, suite, host, where)


def _check_task(task: Task, host: Host, key: str) -> None:
    """Check a task's environment or dataset, and its config."""
    if task.environment is not None:
        _known(task.environment, host.environments, f"{key}.environment", "environment")
    else:
        _known(str(task.dataset), host.datasets, f"{key}.dataset", "dataset")
    task_config(task, host, where=key)


def _check_metric(metric: Metric, suite: Suite, host: Host, key: str) -> None:
    """Check a metric's window, risk measure, and statistic on every task it applies to."""
    try:
        host.risk_names.measure(metric.risk)
    except UqbenchError as error:
        raise UqbenchError(f"{key}.risk: {error}") from None
    if not math.isclose(metric.window * RECORDS, round(metric.window * RECORDS)):
        raise UqbenchError(f"{key}.window: expected whole hundredths, got {metric.window}.")
    if metric.kind == "cost":
        _known(metric.statistic, ["steps_per_s"], f"{key}.statistic", "cost")
    for task in suite.tasks:
        if not metric.suits(task):
            continue
        if metric.kind == "dataset":
            scores = host.datasets[str(task.dataset)].scores
            _known(metric.statistic, scores, f"{key}.statistic", f"score of task {task.name!r},")
        elif metric.kind in ("online", "evaluation"):
            _check_statistic(metric, task, host.environments[str(task.environment)], key)
    if (
        metric.statistic not in EPISODE_STATISTICS
        and host.risk_names.name(metric.risk) != "expectation"
    ):
        raise UqbenchError(
            f"{key}.risk: a risk measure needs a statistic of episodes, one of "
            f"{', '.join(EPISODE_STATISTICS)}."
        )


def _check_statistic(metric: Metric, task: Task, spec: EnvironmentSpec, key: str) -> None:
    where = f"{key}.statistic"
    if metric.event is not None:
        statistic, name = metric.event
        _known(statistic, EVENT_STATISTICS, where, "statistic of an event")
        _known(name, spec.events, where, f"event of task {task.name!r},")
        return
    _known(metric.statistic, STATISTICS, where, "statistic")
    if metric.statistic == "cumulative_regret":
        if metric.kind == "evaluation":
            raise UqbenchError(
                f"{where}: 'cumulative_regret' is a statistic of training; use kind = 'online'."
            )
        truths = {"optimal_return": spec.optimal_return, "optimal_reward": spec.optimal_reward}
    elif metric.statistic == "regret":
        truths = {"optimal_return": spec.optimal_return}
    else:
        return
    if not any(truths.values()):
        raise UqbenchError(
            f"{where}: {metric.statistic!r} needs an environment with {' or '.join(truths)}; "
            f"{task.environment!r} of task {task.name!r} has none."
        )


def _check_normalization(metric: Metric, suite: Suite, where: str) -> None:
    """Check the tasks of a metric's normalization constants, and their direction."""
    tasks = [task.name for task in suite.tasks]
    if metric.normalized_as is not None:
        key = f"{where}: metrics.{metric.name}.normalized_as"
        _known(metric.normalized_as, suite.normalization, key, "normalization")
    for task, constants in suite.normalization_constants(metric).items():
        key = f"{where}: normalization.{metric.normalized_as or metric.name}.constants"
        _known(task, tasks, key, "task")
        if (constants.one > constants.zero) != (metric.direction == "max"):
            raise UqbenchError(
                f"{key}.{task}: one = {constants.one} must be better than zero = {constants.zero} "
                f"in the direction of {metric.name!r}, {metric.direction!r}."
            )


def _check_budget(suite: Suite, budget: Budget, key: str) -> None:
    """Check the names in a budget, and that its scores can be normalized."""
    if budget.primary is not None:
        metrics = [metric.name for metric in suite.metrics]
        _known(budget.primary, metrics, f"{key}.primary", "metric")
    for name in budget.tasks or ():
        _known(name, [task.name for task in suite.tasks], f"{key}.tasks", "task")
    for name in budget.task_steps:
        _known(name, [task.name for task in suite.tasks], f"{key}.task_steps", "task")
    for name in budget.queries.task_rollouts if budget.queries else ():
        _known(name, [task.name for task in suite.tasks], f"{key}.queries.task_rollouts", "task")
    metric = suite.primary_metric(budget)
    if metric.kind == "evaluation" and budget.evaluation is None:
        raise UqbenchError(
            f"{key}: its primary metric {metric.name!r} needs an 'evaluation' table here."
        )
    for task in suite.tasks_of(budget):
        if not metric.suits(task):
            raise UqbenchError(
                f"{key}: the primary metric {metric.name!r} does not apply to task {task.name!r}."
            )
        if task.name not in suite.normalization_constants(metric):
            raise UqbenchError(
                f"{key}: expected normalization.{metric.name}.constants.{task.name} = "
                f"{{ zero = …, one = … }}; scores cannot be aggregated without it."
            )


def _check_method(method: Method, suite: Suite, host: Host, where: str) -> None:
    """Check a method's names, and its config on every task it applies to."""
    key = f"{where}: methods.{method.name}"
    if method.agent is not None:
        _known(method.agent, host.agents, f"{key}.agent", "agent")
    else:
        _known(str(method.estimator), host.estimators, f"{key}.estimator", "estimator")
    for name in method.tasks:
        _known(name, [task.name for task in suite.tasks], f"{key}.tasks", "task")
    for name in method.budgets or ():
        _known(name, suite.budgets, f"{key}.budgets", "budget")
    for name in method.budget_config:
        _known(name, suite.budgets, f"{key}.budget_config", "budget")
    for task in suite.tasks:
        if method.suits(task):
            method_config(method, task, host, where=key)
            for name, budget in suite.budgets.items():
                if budget.config or name in method.budget_config:
                    place = f"{key} under budget {name!r}"
                    method_config(method, task, host, where=place, budget=(name, budget))


def check_budget_configs(suite: Suite, host: Host, where: str) -> None:
    """Check that each value in a budget's config is a field of some method.

    Methods come from many plugins: the check is made once the suite has its baseline.
    """
    methods = {method.name: method for method in suite.methods}
    if suite.baseline not in methods:
        return
    fields: set[str] = set()
    if any(budget.config for budget in suite.budgets.values()):
        fields.update(*(field_names(method, host) for method in suite.methods))
    for name, budget in suite.budgets.items():
        for key in budget.config:
            _known(key, fields, f"{where}: budgets.{name}.config", "method with a field")


def _check_claim(claim: Claim, suite: Suite, host: Host, where: str) -> None:
    """Check a claim, except for its methods: their plugins need not be installed."""
    key = f"{where}: claims.{claim.id}"
    for name in claim.budgets:
        _known(name, suite.budgets, f"{key}.budgets", "budget")
        if not suite.budget(name).ranks:
            raise UqbenchError(
                f"{key}.budgets: the budget {name!r} cannot rank methods; a claim cannot use it."
            )
    for name in claim.readings:
        _known(name, suite.readings, f"{key}.readings", "reading")
    kind = claim.load(host, key)
    if kind.published and not claim.names_place:
        raise UqbenchError(
            f"{key}.source: {claim.source!r} does not say where the published number stands: "
            f"expected a figure, table or edition, or {NOT_VERIFIABLE!r}."
        )
    _known(kind.metric, [metric.name for metric in suite.metrics], f"{key}.metric", "metric")
    metric = suite.metric(kind.metric)
    for budget in claim.budgets:
        suited = [t.name for t in suite.tasks_of(suite.budget(budget)) if metric.suits(t)]
        for task in kind.tasks or ():
            of = f"task with {metric.name} in budget {budget!r},"
            _known(task, suited, f"{key}.tasks", of)
        normalized = suite.normalization_constants(metric)
        try:
            kind.check(kind.tasks or suited, normalized)
            kind.check_seeds(suite.budget(budget).seeds, kind.tasks or suited, paired=suite.paired)
        except ValueError as error:
            raise UqbenchError(f"{key}: {error}") from None


def _known(name: str, names: Collection[str], where: str, kind: str) -> None:
    if name not in names:
        raise UqbenchError(f"{where}: there is no {kind} {name!r}. {did_you_mean(name, names)}")
