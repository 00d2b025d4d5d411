"""Checks of a suite's names and config values against what the plugins define.

Every error names the file, the key, the value and the nearest known name.
"""

import math
from collections.abc import Collection

from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.contract.specs import EnvironmentSpec
from uqbench.registry.plugins import Host
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

TRUTHS = {
    "regret": ("optimal_return",),
    "cumulative_regret": ("optimal_return", "optimal_reward"),
}
"""What an environment must know for a statistic: one of these."""


def check_head(suite: Suite, where: str) -> None:
    """Check the names that a suite gives outside of its rows.

    Raises:
        UqbenchError: names the key, what was expected and the nearest known name.
    """
    metrics = [metric.name for metric in suite.metrics]
    _known(f"{where}: primary", "metric", metrics, suite.primary)
    _known(f"{where}: default_budget", "budget", suite.budgets, suite.default_budget)
    key = f"{where}: budgets: every suite needs smoke and paper"
    _known(key, "budget", suite.budgets, "smoke", "paper")


def check_row(kind: str, name: str, suite: Suite, host: Host, where: str) -> None:
    """Check one row of a suite against those before it and what the plugins define.

    Raises:
        UqbenchError: names the key, what was expected and the nearest known name.
    """
    row, key = (kind, name), f"{where}: {kind}.{name}"
    if kind == "tasks":
        _check_task(suite.task(name), host, key)
    elif kind == "budgets":
        _check_budget(suite, suite.budget(name), host, key)
        check_budgets_methods(suite, host, where)
    elif kind == "claims":
        _check_claim(next(c for c in suite.claims if c.id == name), suite, host, key)
    for metric in suite.metrics:
        if kind == "tasks" or row == ("metrics", metric.name):  # a task may lack its event
            _check_metric(metric, suite, host, f"{where}: metrics.{metric.name}")
        normalized = metric.normalized_as or metric.name
        if row in (("metrics", metric.name), ("normalization", normalized)):
            _check_normalization(metric, suite, where)
    for method in suite.methods:
        if kind in ("tasks", "budgets") or row == ("methods", method.name):
            _check_method(method, suite, host, where)


def _check_task(task: Task, host: Host, key: str) -> None:
    """Check a task's environment or dataset, and its config."""
    if task.environment is not None:
        _known(f"{key}.environment", "environment", host.environments, task.environment)
    else:
        _known(f"{key}.dataset", "dataset", host.datasets, str(task.dataset))
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
        _known(f"{key}.statistic", "cost", ["steps_per_s"], metric.statistic)
    _known(f"{key}.tasks", "task", [task.name for task in suite.tasks], *metric.tasks or ())
    for task in suite.tasks:
        if not metric.suits(task):
            continue
        if metric.kind == "dataset":
            scores = host.datasets[str(task.dataset)].scores
            _known(f"{key}.statistic", f"score of task {task.name!r},", scores, metric.statistic)
        elif metric.kind == "predictions":
            _known(f"{key}.statistic", "score of predictions", host.scores, metric.statistic)
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
        _known(where, "statistic of an event", EVENT_STATISTICS, statistic)
        _known(where, f"event of task {task.name!r},", spec.events, name)
        return
    _known(where, "statistic", STATISTICS, metric.statistic)
    if metric.statistic == "cumulative_regret" and metric.kind == "evaluation":
        raise UqbenchError(
            f"{where}: 'cumulative_regret' is a statistic of training; use kind = 'online'."
        )
    truths = TRUTHS.get(metric.statistic, ())
    if truths and not any(getattr(spec, truth) for truth in truths):
        raise UqbenchError(
            f"{where}: {metric.statistic!r} needs an environment with {' or '.join(truths)}; "
            f"{task.environment!r} of task {task.name!r} has none."
        )


def _check_normalization(metric: Metric, suite: Suite, where: str) -> None:
    """Check the tasks of a metric's normalization constants, and their direction."""
    if metric.normalized_as is not None:
        key = f"{where}: metrics.{metric.name}.normalized_as"
        _known(key, "normalization", suite.normalization, metric.normalized_as)
    for task, constants in suite.normalization_constants(metric).items():
        key = f"{where}: normalization.{metric.normalized_as or metric.name}.constants"
        _known(key, "task", [task.name for task in suite.tasks], task)
        if (constants.one > constants.zero) != (metric.direction == "max"):
            raise UqbenchError(
                f"{key}.{task}: one = {constants.one} must be better than zero = {constants.zero} "
                f"in the direction of {metric.name!r}, {metric.direction!r}."
            )


def _check_budget(suite: Suite, budget: Budget, host: Host, key: str) -> None:
    """Check the names in a budget, its queries, and that its scores can be normalized."""
    metrics = [metric.name for metric in suite.metrics]
    tasks = [task.name for task in suite.tasks]
    _known(f"{key}.primary", "metric", metrics, budget.primary or suite.primary)
    _known(f"{key}.tasks", "task", tasks, *budget.tasks or ())
    _known(f"{key}.task_steps", "task", tasks, *budget.task_steps)
    if budget.queries is not None:
        _known(f"{key}.queries.task_rollouts", "task", tasks, *budget.queries.task_rollouts)
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
        if budget.queries is None or task.environment is None:
            continue
        spec = host.environments[task.environment]
        if spec.exact_truth or spec.queries or (budget.queries.states and budget.evaluation):
            continue
        raise UqbenchError(
            f"{key}.queries: task {task.name!r} has neither query states nor exact truth: to be "
            f"scored by Monte Carlo returns it needs queries.states and an 'evaluation' table."
        )


def _check_method(method: Method, suite: Suite, host: Host, where: str) -> None:
    """Check a method's names, and its config on every task it applies to."""
    key = f"{where}: methods.{method.name}"
    if method.agent is not None:
        _known(f"{key}.agent", "agent", host.agents, method.agent)
    else:
        _known(f"{key}.estimator", "estimator", host.estimators, str(method.estimator))
    _known(f"{key}.tasks", "task", [task.name for task in suite.tasks], *method.tasks)
    _known(f"{key}.budgets", "budget", suite.budgets, *method.budgets or ())
    _known(f"{key}.budget_config", "budget", suite.budgets, *method.budget_config)
    for task in suite.tasks:
        if method.suits(task):
            method_config(method, task, host, where=key)
            for name, budget in suite.budgets.items():
                if budget.config or name in method.budget_config:
                    place = f"{key} under budget {name!r}"
                    method_config(method, task, host, where=place, budget=(name, budget))


def check_budgets_methods(suite: Suite, host: Host, where: str) -> None:
    """Check that a budget's config values are fields of methods, and that it can rank them.

    Methods come from many plugins: the check is made once the suite has its baseline.
    """
    methods = {method.name: method for method in suite.methods}
    if suite.baseline not in methods:
        return
    fields: set[str] = set()
    if any(budget.config for budget in suite.budgets.values()):
        fields.update(*(field_names(method, host) for method in suite.methods))
    for name, budget in suite.budgets.items():
        key = f"{where}: budgets.{name}.config"
        _known(key, "method with a field", fields, *budget.config)
        if budget.ranks:
            _check_ranking(suite, budget, host, f"{where}: budgets.{name}")


def _check_ranking(suite: Suite, budget: Budget, host: Host, key: str) -> None:
    """Check that some runs of a budget could tell two of its methods apart."""
    from uqbench.statistics.bounded import scaled
    from uqbench.statistics.ranks import check_ranking

    metric, tasks = suite.primary_metric(budget), suite.tasks_of(budget)
    ranges = scaled([metric.range_on(task.name) for task in tasks], [float] * len(tasks))
    roles = {name: spec.role for name, spec in host.agents.items()}
    methods = [m for m in suite.methods if (m.role or roles.get(m.agent or "")) in (None, "method")]
    try:
        check_ranking(budget.seeds, len(methods), paired=suite.paired, ranges=ranges)
    except ValueError as error:
        raise UqbenchError(f"{key}: {error}.") from None


def _check_claim(claim: Claim, suite: Suite, host: Host, key: str) -> None:
    """Check a claim, except for its methods: their plugins need not be installed."""
    _known(f"{key}.budgets", "budget", suite.budgets, *claim.budgets)
    for name in claim.budgets:
        if not suite.budget(name).ranks:
            raise UqbenchError(
                f"{key}.budgets: the budget {name!r} cannot rank methods; a claim cannot use it."
            )
    _known(f"{key}.readings", "reading", suite.readings, *claim.readings)
    kind = claim.load(host, key)
    if kind.published and not claim.names_place:
        raise UqbenchError(
            f"{key}.source: {claim.source!r} does not say where the published number stands: "
            f"expected a figure, table or edition, or {NOT_VERIFIABLE!r}."
        )
    _known(f"{key}.metric", "metric", [metric.name for metric in suite.metrics], kind.metric)
    metric = suite.metric(kind.metric)
    for budget in claim.budgets:
        suited = [t.name for t in suite.tasks_of(suite.budget(budget)) if metric.suits(t)]
        of = f"task with {metric.name} in budget {budget!r},"
        _known(f"{key}.tasks", of, suited, *kind.tasks or ())
        normalized = suite.normalization_constants(metric)
        try:
            kind.check(kind.tasks or suited, normalized)
            kind.check_seeds(suite.budget(budget).seeds, kind.tasks or suited, paired=suite.paired)
        except ValueError as error:
            raise UqbenchError(f"{key}: {error}") from None


def _known(where: str, kind: str, known: Collection[str], *names: str) -> None:
    for name in names:
        if name not in known:
            raise UqbenchError(f"{where}: there is no {kind} {name!r}. {did_you_mean(name, known)}")
