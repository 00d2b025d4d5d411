"""Checks of a suite, beyond its types, against what the plugins define.

Every error names the file, the key, the value and the nearest known name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from uqbench.contract.claim import Paired
from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.registry.plugins import Host
from uqbench.suites.claims import NOT_VERIFIABLE, Claim, are_judged
from uqbench.suites.configs import field_names, method_config, task_config
from uqbench.suites.controls import ONE_SIZE
from uqbench.suites.metrics import EVENT_STATISTICS, STATISTICS, Metric
from uqbench.suites.search import check_space
from uqbench.suites.suite import Suite, rows_of
from uqbench.suites.tables import Budget, Method, Task
from uqbench.suites.tuning import BOARD_SEEDS, LAST, NAME, Space, grids_of
from uqbench.suites.typed import typed

if TYPE_CHECKING:
    from uqbench.statistics.bounded import Ranges

KINDS = (
    "tasks", "normalization", "metrics", "budgets", "methods", "search_spaces", "readings",
    "claims",
)  # fmt: skip
"""Kinds of rows; a row may name what stands before it."""
TRUTHS = {"regret": ("optimal_return",), "cumulative_regret": ("optimal_return", "optimal_reward")}
"""What an environment must know for a statistic: one of these."""
Row = tuple[str, str]
"""Its kind, and its name."""
Check = Callable[[str], None]
"""Raises, with the row's key where it is given."""


def names(suite: Suite, host: Host) -> dict[str, Collection[str]]:
    """Names that a suite's rows may use, by kind."""
    known: dict[str, Collection[str]] = {
        one.kind: one for one in host.registries if one is not host.claim_kinds or are_judged(host)
    }
    return known | {kind.removesuffix("s"): rows_of(suite, kind) for kind in KINDS}


def check_suite(suite: Suite, host: Host, where: str) -> None:
    """Check every name and config value of a suite against what the plugins define.

    Raises:
        UqbenchError: names each row that is wrong, of the first kind of rows with a wrong one.
    """
    typed(Suite, suite.model_dump(mode="json"), where, names(suite, host))
    key = f"{where}: budgets: every suite needs smoke and paper"
    _known(key, "budget", suite.budgets, "smoke", "paper")
    if problems := problems_of(suite, host, where):
        raise UqbenchError("\n".join(problems))
    if suite.tuning is not None:
        checks: dict[Row, Check] = {("tuning", "budget"): partial(_search, suite, host)}
        if problems := _failed(checks, where):
            raise UqbenchError("\n".join(problems))


def check_budgets(suite: Suite, host: Host, where: str) -> None:
    """Check budgets against all methods, which plugins may join.

    Raises:
        UqbenchError: names the budgets.
    """
    checks = {("budgets", n): partial(_fit, b, suite, host) for n, b in suite.budgets.items()}
    if problems := _failed(checks, where):
        raise UqbenchError("\n".join(problems))


def problems_of(suite: Suite, host: Host, where: str, row: Row | None = None) -> list[str]:
    """Problems of the first kind of rows that has any.

    Args:
        suite: whose types and names are right.
        host: the plugins.
        where: the suite's file, or the table that the row is in.
        row: the only one that is new; None for all.
    """
    checks: dict[Row, Check] = {}
    for kind, (check, after) in CHECKS.items():
        for name, one in rows_of(suite, kind).items():
            if row in (None, (kind, name)) or (row and row[0] in after):
                checks[kind, name] = partial(check, one, suite, host)
    problems = _failed(checks, where)
    if row and row[0] == "budgets" and not problems:
        return _failed({row: partial(_fit, suite.budget(row[1]), suite, host)}, where)
    return problems


def _failed(checks: Mapping[Row, Check], where: str) -> list[str]:
    """Messages of the checks that fail, of the first kind with one."""
    problems: dict[str, list[str]] = {}
    for (kind, name), check in checks.items():
        if problems.keys() <= {kind}:
            try:
                check(key := f"{where}: {kind}.{name}")
            except Exception as error:  # a config's module may fail in any way
                told = isinstance(error, UqbenchError | ValueError)
                text = str(error) if told else f"{type(error).__name__}: {error}"
                text = text if text.startswith(where) else f"{key}: {text}"
                problems.setdefault(kind, []).append(text)
    return [problem for found in problems.values() for problem in found]


def _task(task: Task, _: Suite, host: Host, key: str) -> None:
    """Check a task's config."""
    task_config(task, host, where=key)


def _metric(metric: Metric, suite: Suite, host: Host, key: str) -> None:
    """Check a metric's risk measure, its constants, and its statistic on every task."""
    host.risk_names.measure(metric.risk)
    for task in filter(metric.suits, suite.tasks):
        _statistic(metric, task, host, f"{key}.statistic")
    for name, of in suite.normalization_constants(metric).items():
        if (of.one > of.zero) != (metric.direction == "max"):
            raise ValueError(
                f"its constant one = {of.one} of {name!r} must be better than zero = {of.zero} in "
                f"the direction {metric.direction!r}"
            )


def _statistic(metric: Metric, task: Task, host: Host, where: str) -> None:
    """Check that a task has the quantity of a metric."""
    name, of = metric.statistic, f"of task {task.name!r},"
    if metric.kind == "cost":
        _known(where, "cost", ["steps_per_s"], name)
    elif metric.kind == "predictions":
        _known(where, "score of predictions", host.scores, name)
    elif metric.kind == "dataset":
        _known(where, f"score {of}", host.datasets[str(task.dataset)].scores, name)
    elif name.startswith(ONE_SIZE):
        spec = host.environments[str(task.environment)]
        what = f"score of widths of every size (sizes of {spec.name!r}) {of}"
        _known(where, what, spec.sizes, name.removeprefix(ONE_SIZE))
    elif metric.kind in ("online", "evaluation"):
        spec = host.environments[str(task.environment)]
        statistic, event = metric.event or (name, None)
        if event is not None:
            _known(where, "statistic of an event", EVENT_STATISTICS, statistic)
            _known(where, f"event {of}", spec.events, event)
        else:
            _known(where, "statistic", STATISTICS, name)
        truths = TRUTHS.get(name, ())
        if truths and not any(getattr(spec, truth) for truth in truths):
            raise ValueError(
                f"{name!r} needs an environment with {' or '.join(truths)}; {spec.name!r} {of} has "
                f"none"
            )


def _search(suite: Suite, host: Host, key: str) -> None:
    """Check that a search can be scored, and is no other budget."""
    for name in (NAME, LAST)[: 1 + bool(suite.tuning and suite.tuning.last)]:
        if name in suite.budgets:
            raise ValueError(f"its budget is called {name!r}: name the other one otherwise")
        _budget(suite.budget(name), suite, host, key)
    if suite.tuning and suite.tuning.space:
        _space(suite.tuning.space, suite, host, key)


def _space(space: Space, suite: Suite, host: Host, key: str) -> None:
    """Check what it is of, the number of its settings, and that a rate is in it."""
    if (name := key.rpartition("search_spaces.")[2]) != key:
        _known(key, "agent or estimator", {*host.agents, *host.estimators}, name)
    if suite.tuning is None:
        raise ValueError("expected [tuning], too")
    if space:  # an empty one: its methods are not tuned
        parts = grids_of(space)
        settings = sum(math.prod(map(len, part.values())) for part in parts)
        check_space({name for part in parts for name in part}, settings, suite.tuning, key)


def _budget(budget: Budget, suite: Suite, host: Host, _: str) -> None:
    """Check that its runs can be normalized, evaluated and asked, and are not those of a search."""
    if budget.tuned and suite.tuning is None:
        raise ValueError("it is tuned: expected [tuning], too")
    if budget.first_seed < BOARD_SEEDS.stop < budget.first_seed + budget.seeds:
        raise ValueError(f"expected seeds below {BOARD_SEEDS.stop}, where those of [tuning] begin")
    for metric in suite.ranking_metrics(budget):
        if metric.kind == "evaluation" and budget.evaluation is None:
            raise ValueError(f"its ranking metric {metric.name!r} needs an 'evaluation' table here")
        for task in suite.tasks_of(budget):
            if not metric.suits(task):
                raise ValueError(
                    f"its ranking metric {metric.name!r} is not for task {task.name!r}"
                )
            if task.name not in suite.normalization_constants(metric):
                raise ValueError(
                    f"expected normalization.{metric.name}.constants.{task.name} = "
                    f"{{ zero = …, one = … }}; scores cannot be aggregated without it"
                )
    for task in suite.tasks_of(budget):
        if budget.queries is not None and task.environment is not None:
            spec = host.environments[task.environment]
            asked = budget.queries.states and budget.evaluation
            if not (spec.exact_truth or spec.queries or asked):
                raise ValueError(
                    f"task {task.name!r} has neither query states nor exact truth: to be scored by "
                    f"Monte Carlo returns it needs queries.states and an 'evaluation' table"
                )


def _fit(budget: Budget, suite: Suite, host: Host, key: str) -> None:
    """Check that a budget's keys are fields of methods, and that it can rank these.

    Methods come from many plugins: nothing is said until the suite has its baseline.
    """
    from uqbench.statistics.bounded import scaled

    if suite.baseline not in rows_of(suite, "methods"):
        return
    fields = {f for m in suite.methods for f in field_names(m, host)} if budget.config else ()
    _known(f"{key}.config", "method with a field", fields, *budget.config)
    if budget.ranks:
        metric, tasks = suite.primary_metric(budget), suite.tasks_of(budget)
        ranges = scaled([metric.range_on(task.name) for task in tasks], [float] * len(tasks))
        roles = [method.role or method.spec(host).role for method in suite.methods]
        check_ranking(budget.seeds, roles.count("method"), paired=suite.pairing, ranges=ranges)


def check_ranking(seeds: int, methods: int, *, paired: Paired, ranges: Ranges | None) -> None:
    """Raise ``ValueError`` where no runs could tell any two of so many methods apart."""
    import numpy as np

    from uqbench.statistics.bounded import difference
    from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS

    if methods < 2:
        return
    if paired == "seeds" and ranges is not None and not all(ranges):
        raise ValueError(
            "may_fail names some of the tasks, and the suite is paired: expected all tasks, as a "
            "seed with all its tasks is one run; use fails_beyond with lowest and highest"
        )
    least = 1.0 if seeds < MINIMUM_SEEDS else 0.0
    if not least and ranges is not None and all(ranges):
        ends = [of for of in ranges if of is not None]
        worst, best = (np.array([one] * seeds) for one in zip(*ends, strict=True))
        apart = difference(best, worst, ranges, paired)
        least = apart.p_value() * methods * (methods - 1) / 2
    if least > ALPHA:
        raise ValueError(
            f"{seeds} seeds can never tell any two of {methods} methods apart: the least adjusted "
            f"p-value is {min(1.0, least):.2g}; give the budget more seeds, or say ranks = false"
        )


def _method(method: Method, suite: Suite, host: Host, key: str) -> None:
    """Check a method's config on each of its tasks, under every budget."""
    for task in filter(method.suits, suite.tasks):
        method_config(method, task, host, where=key)
        for name, budget in suite.budgets.items():
            if budget.config or name in method.budget_config:
                place = f"{key} under budget {name!r}"
                method_config(method, task, host, where=place, budget=(name, budget))


def _claim(claim: Claim, suite: Suite, host: Host, key: str) -> None:
    """Check a claim against its kind, except for its methods: their plugins may be missing.

    So may the package be that judges claims.
    """
    if not are_judged(host):
        return
    kind = claim.load(host, key)
    if kind.published and not claim.names_place:
        raise ValueError(
            f"source: {claim.source!r} does not say where the published number stands: expected a "
            f"figure, table or edition, or {NOT_VERIFIABLE!r}"
        )
    _known(f"{key}.metric", "metric", rows_of(suite, "metrics"), kind.metric)
    metric = suite.metric(kind.metric)
    for name in claim.budgets:
        budget = suite.budget(name)
        if not budget.ranks:
            raise ValueError(f"the budget {name!r} cannot rank methods; a claim cannot use it")
        suited = [task.name for task in suite.tasks_of(budget) if metric.suits(task)]
        of = f"task with {metric.name} in budget {name!r},"
        _known(f"{key}.tasks", of, suited, *kind.tasks or ())
        kind.check(kind.tasks or suited, suite.normalization_constants(metric))
        kind.check_seeds(budget.seeds, kind.tasks or suited, paired=suite.pairing)


CHECKS: dict[str, tuple[Callable[..., None], Collection[str]]] = {
    "tasks": (_task, ()),
    "metrics": (_metric, ("tasks", "normalization")),
    "budgets": (_budget, ()),
    "methods": (_method, ("tasks", "budgets")),
    "search_spaces": (_space, ()),
    "claims": (_claim, ()),
}
"""The check of each kind of row, and the kinds whose new rows may break it."""


def _known(where: str, kind: str, known: Collection[str], *names: str) -> None:
    for name in names:
        if name not in known:
            raise UqbenchError(f"{where}: there is no {kind} {name!r}. {did_you_mean(name, known)}")
