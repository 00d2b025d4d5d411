"""Suites as data: tasks, budgets, methods, metrics, normalisation and claims, read from TOML.

A file holds one suite, or ``[extend.NAME]`` tables that join methods, and claims about them, to a
suite of another plugin.
Whatever is wrong in a file is told with the file, the key, what was expected and the nearest name.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from uqbench.claim import ClaimKind
from uqbench.config import explain, resolve
from uqbench.errors import UqbenchError, did_you_mean, unknown
from uqbench.plugins import Host, Plugin
from uqbench.specs import EnvironmentSpec, Spec

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
Count = Annotated[int, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0, le=1)]

EPISODE_STATISTICS = ("return", "discounted_return", "length", "regret")
"""One number an episode, of which a metric's risk measure makes one."""
EVENT_STATISTICS = ("events", "events_per_step", "events_per_episode", "episodes_with")
"""Of a counter of the environment, as in ``events/falls``."""
STATISTICS = (*EPISODE_STATISTICS, "reward_per_step", "cumulative_regret")
RECORDS = 100
"""Records of a run's metrics, evenly spaced: a metric's window is a whole number of them."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


class Task(_Model):
    """One environment, or one dataset, with its options.

    ``time_limit`` is in steps; ``time_limit_is`` says whether the state it ends in counts as
    terminal (value zero) or as cut off (its value goes on). An environment needs a ``discount``.
    """

    name: Name
    environment: str | None = None
    dataset: str | None = None
    options: dict[str, Any] = {}
    discount: Annotated[float, Field(ge=0, le=1)] | None = None
    time_limit: Count | None = None
    time_limit_is: Literal["terminal", "truncation"] = "truncation"

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.environment is None) == (self.dataset is None):
            raise ValueError("a task has either an 'environment' or a 'dataset'")
        if (self.environment is None) != (self.discount is None):
            raise ValueError("'discount' goes with an 'environment', and only there")
        return self


class Evaluation(_Model):
    """Episodes of the agent's ``policy``, in fresh environments: at the end, and ``every`` steps.

    An episode that has not ended after ``max_steps`` counts with what it collected so far.
    """

    episodes: Count
    max_steps: Count
    every: Count | None = None


class Budget(_Model):
    """How long, how many seeds, when evaluated, in which numerics mode.

    Attributes:
        steps: environment steps of a run; optimisation steps of an estimator.
        task_steps: steps by task, of tasks that take another number: see :meth:`on`.
        seeds: runs 0, 1, … of each task and method.
        schedule: factor on every ``Steps`` field of a method's config.
        ranks: whether results may be put in an order; where not, tables show none.
        numerics: how the update is executed: ``eager``, or ``compiled``, which takes 15 to 30 s to
            warm up and pays where a run takes many minutes. Part of a run's identity: it may change
            last bits.
        primary: the metric that is scored, where it is not the suite's.
        tasks: the tasks that take part; None for all.
        step_ms: milliseconds a step of one run takes on one core, nominal: the first estimate,
            before any run has been timed.
        lanes: runs that a process executes together on a CPU, where a step of hundreds costs little
            more than one's, as of tabular agents; None leaves it to a measurement.
    """

    summary: str
    steps: Count
    seeds: Count
    ranks: bool
    step_ms: Annotated[float, Field(gt=0)]
    lanes: Count | None = None
    schedule: Annotated[float, Field(gt=0)] = 1.0
    numerics: Literal["eager", "compiled"] = "eager"
    primary: str | None = None
    tasks: tuple[str, ...] | None = None
    task_steps: dict[str, Count] = {}
    evaluation: Evaluation | None = None

    def on(self, task: Task) -> Budget:
        """The budget as it is on one task: ``steps`` are those of the task's runs."""
        steps = self.task_steps.get(task.name, self.steps)
        return self.model_copy(update={"steps": steps, "task_steps": {}})


class Method(_Model):
    """An agent, or an estimator, with a config, under the name that leaderboards show.

    ``tasks`` holds settings that replace those of ``config`` on single tasks. ``budgets`` are those
    that it takes part in unless it is asked for by name, where it is not for all.
    """

    name: Name
    agent: str | None = None
    estimator: str | None = None
    config: dict[str, Any] = {}
    tasks: dict[str, dict[str, Any]] = {}
    budgets: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.agent is None) == (self.estimator is None):
            raise ValueError("a method has either an 'agent' or an 'estimator'")
        return self

    def suits(self, task: Task) -> bool:
        """Whether the method is for such a task: agents for environments, estimators for data."""
        return (self.agent is None) == (task.environment is None)

    def spec(self, host: Host) -> Spec:
        """What the method is made of."""
        if self.agent is not None:
            return host.agents[self.agent]
        return host.estimators[str(self.estimator)]


class Metric(_Model):
    """A number that every run gets.

    Attributes:
        kind: ``online`` (training), ``evaluation`` (the last evaluation), ``agent`` (what the agent
            states of itself, or is scored on, at the records of training), ``estimate`` (a score
            that a dataset gives), or ``cost`` (measured: it differs from machine to machine).
        statistic: online: of the episodes that end in the window, ``return``,
            ``discounted_return``, ``length`` or ``regret``, the optimal return minus the return; of
            its steps, ``reward_per_step``, or ``cumulative_regret``, what the optimal policy would
            have collected minus what was; of an event of the environment, ``events/NAME``, its
            total, ``events_per_step/NAME``, ``events_per_episode/NAME`` or ``episodes_with/NAME``,
            the share of episodes in which it occurs. Evaluation: those of episodes, and
            ``reward_per_step``. Agent: the name of its metric, averaged over the window's records.
            Estimate: the name of the dataset's score. Cost: ``steps_per_s``, of one core or device.
        window: online and agent: the last fraction of training that counts.
        risk: the risk measure that makes one number of the episodes', with its settings.
        direction: whether more is better.
        references: the metric whose normalisation references this one uses; None for its own.
    """

    name: Name
    summary: str
    kind: Literal["online", "evaluation", "agent", "estimate", "cost"]
    statistic: str = "return"
    window: Fraction = 1.0
    risk: str = "expectation"
    risk_config: dict[str, Any] = {}
    direction: Literal["max", "min"] = "max"
    references: str | None = None

    def suits(self, task: Task) -> bool:
        """Whether the metric is about such a task."""
        return self.kind == "cost" or (self.kind == "estimate") == (task.dataset is not None)

    @property
    def event(self) -> tuple[str, str] | None:
        """Statistic and name of an event, where the metric is about one."""
        statistic, slash, name = self.statistic.partition("/")
        return (statistic, name) if slash and self.kind in ("online", "evaluation") else None

    def definition(self) -> dict[str, Any]:
        """What the metric's values depend on; kept with every run that was scored by it."""
        return self.model_dump(mode="json", exclude={"summary", "references", "direction"})


class Reference(_Model):
    """Raw values of one task that stand for normalised 0 and 1; ``zero_se`` is a standard error."""

    zero: float
    one: float
    zero_se: float | None = None

    def normalise(self, raw: float) -> float:
        """``(raw − zero) / (one − zero)``."""
        return (raw - self.zero) / (self.one - self.zero)


class Normalisation(_Model):
    """Reference values of one metric by task; ``zero`` and ``one`` say what they are and whence."""

    version: str
    zero: str
    one: str
    references: dict[str, Reference]


class Claim(_Model):
    """A statement of a paper that the suite's runs are checked against.

    Attributes:
        id: unique in the suite.
        sentence: what is claimed, in our own words.
        source: the paper, with its figure or table.
        budgets: under any other one the claim is never decided.
        kind: name of the claim kind; all keys that are not named here are its settings.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    id: Name
    sentence: str
    source: str
    budgets: Annotated[tuple[str, ...], Field(min_length=1)]
    kind: str

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the claim's kind."""
        return dict(self.model_extra or {})

    def load(self, host: Host, where: str) -> ClaimKind:
        """The claim as its kind reads it.

        Raises:
            UqbenchError: there is no such kind, or a setting is wrong.
        """
        _known(self.kind, host.claim_kinds, f"{where}.kind", "claim kind")
        kind: ClaimKind = resolve(
            host.claim_kinds[self.kind].load_config(), self.settings, where=where
        )
        if not isinstance(kind, ClaimKind):
            raise UqbenchError(f"{where}.kind: {self.kind!r} is no uqbench.claim.ClaimKind.")
        return kind


class Suite(_Model):
    """Everything that a leaderboard rests on. See the module's docstring."""

    name: Name
    version: str
    summary: str
    source: str = ""
    primary: str
    baseline: str
    default_budget: str
    tasks: tuple[Task, ...]
    budgets: dict[str, Budget]
    metrics: tuple[Metric, ...]
    normalisation: dict[str, Normalisation]
    methods: tuple[Method, ...] = ()
    claims: tuple[Claim, ...] = ()

    def task(self, name: str) -> Task:
        """The task of that name."""
        return _find("task", name, self.tasks)

    def method(self, name: str) -> Method:
        """The method of that name."""
        return _find("method", name, self.methods)

    def metric(self, name: str) -> Metric:
        """The metric of that name."""
        return _find("metric", name, self.metrics)

    def budget(self, name: str) -> Budget:
        """The budget of that name."""
        if name not in self.budgets:
            raise unknown(f"budget of suite {self.name}", name, self.budgets)
        return self.budgets[name]

    def primary_metric(self, budget: Budget) -> Metric:
        """The metric that a budget is scored by."""
        return self.metric(budget.primary or self.primary)

    def methods_of(self, budget: str) -> tuple[Method, ...]:
        """The methods that take part in a budget."""
        return tuple(m for m in self.methods if m.budgets is None or budget in m.budgets)

    def references(self, metric: Metric) -> dict[str, Reference]:
        """Normalisation references of a metric by task; empty where it is not normalised."""
        normalisation = self.normalisation.get(metric.references or metric.name)
        return normalisation.references if normalisation else {}

    def tasks_of(self, budget: Budget) -> tuple[Task, ...]:
        """The tasks that take part in a budget."""
        return tuple(t for t in self.tasks if budget.tasks is None or t.name in budget.tasks)


@dataclass(frozen=True)
class Problem:
    """A suite file, or a part of one, that cannot be used."""

    plugin: Plugin
    reason: str

    def __str__(self) -> str:
        return f"{self.plugin.distribution} {self.plugin.version}: {self.reason}"


@dataclass(frozen=True)
class Catalogue:
    """The suites of the installed plugins, and what could not be used."""

    suites: dict[str, Suite]
    problems: tuple[Problem, ...]

    def suite(self, name: str) -> Suite:
        """The suite of that name.

        Raises:
            UqbenchError: there is none; nearest names and the problems found are given.
        """
        if name in self.suites:
            return self.suites[name]
        error = unknown("suite", name, self.suites)
        raise UqbenchError("\n".join(map(str, [error, *self.problems])))


def read_suites(host: Host, *, check: Container[str] | None = None) -> Catalogue:
    """Read every suite of the installed plugins and join what extends them.

    A file that is wrong becomes a problem that names it; the others go on working.

    Args:
        host: the plugins.
        check: names of suites to check against what is defined; None for all. To check a suite is
            to import what it names, torch among it. Of the others only the form is looked at.
    """
    suites: dict[str, tuple[Suite, Plugin]] = {}
    extensions: list[tuple[str, dict[str, Any], str, Plugin]] = []
    problems: list[Problem] = []
    for path, plugin in host.suite_files:
        where = path.name
        try:
            table = _parse(path.read_text(encoding="utf-8"), where)
            extensions += [(name, t, where, plugin) for name, t in table.pop("extend", {}).items()]
            if table:
                suite = _validate(Suite, table, where)
                if suite.name in suites:
                    raise UqbenchError(
                        f"{where}: the suite {suite.name!r} is already given by "
                        f"{suites[suite.name][1].distribution}; rename one of them."
                    )
                if check is None or suite.name in check:
                    check_suite(suite, host, where)
                suites[suite.name] = suite, plugin
        except Exception as error:  # a module that a suite names may fail in any way
            problems.append(Problem(plugin, _reason(error, where)))
    for name, table, where, plugin in extensions:
        if name not in suites:
            continue  # the plugin that gives this suite is not installed
        suite, origin = suites[name]
        try:
            joined, added = _joined(suite, table, f"{where}: extend.{name}")
            if check is None or name in check:
                _check_added(added, suite, host, f"{where}: extend.{name}")
            suites[name] = joined, origin
        except Exception as error:  # a module that a suite names may fail in any way
            problems.append(Problem(plugin, _reason(error, where)))
    return Catalogue({name: suites[name][0] for name in sorted(suites)}, tuple(problems))


def _reason(error: Exception, where: str) -> str:
    if isinstance(error, UqbenchError):
        return str(error)
    return f"{where}: {type(error).__name__}: {error}"


def parse_suite(text: str, host: Host, where: str) -> Suite:
    """Read and check one suite from TOML text; ``where`` is what errors call it."""
    suite: Suite = _validate(Suite, _parse(text, where), where)
    check_suite(suite, host, where)
    return suite


def join(suite: Suite, table: Any, host: Host, where: str) -> Suite:
    """Return the suite with the methods and claims of an ``[extend.NAME]`` table added."""
    joined, extension = _joined(suite, table, where)
    _check_added(extension, suite, host, where)
    return joined


def _joined(suite: Suite, table: Any, where: str) -> tuple[Suite, _Extension]:
    extension = _validate(_Extension, table, where)
    added = {
        "methods": suite.methods + extension.methods,
        "claims": suite.claims + extension.claims,
    }
    joined = suite.model_copy(update=added)
    _unique([method.name for method in joined.methods], f"{where}.methods")
    _unique([claim.id for claim in joined.claims], f"{where}.claims")
    return joined, extension


def _check_added(extension: _Extension, suite: Suite, host: Host, where: str) -> None:
    for method in extension.methods:
        _check_method(method, suite, host, where)
    for claim in extension.claims:
        _check_claim(claim, suite, host, where)


def check_suite(suite: Suite, host: Host, where: str) -> None:
    """Check every name and setting of a suite against what is defined.

    Raises:
        UqbenchError: names the file, the key, what was expected and the nearest known name.
    """
    metrics = [metric.name for metric in suite.metrics]
    _unique([task.name for task in suite.tasks], f"{where}: tasks")
    _unique([method.name for method in suite.methods], f"{where}: methods")
    _unique(metrics, f"{where}: metrics")
    _unique([claim.id for claim in suite.claims], f"{where}: claims")
    _known(suite.primary, metrics, f"{where}: primary", "metric")
    _known(suite.default_budget, suite.budgets, f"{where}: default_budget", "budget")
    for required in ("smoke", "paper"):
        _known(required, suite.budgets, f"{where}: budgets: every suite has smoke and paper", "one")
    for task in suite.tasks:
        _check_task(task, host, f"{where}: tasks.{task.name}")
    for metric in suite.metrics:
        _check_metric(metric, suite, host, f"{where}: metrics.{metric.name}")
        _check_normalisation(metric, suite, where)
    for name, budget in suite.budgets.items():
        _check_budget(suite, budget, f"{where}: budgets.{name}")
    for method in suite.methods:
        _check_method(method, suite, host, where)
    for claim in suite.claims:
        _check_claim(claim, suite, host, where)


def _check_task(task: Task, host: Host, key: str) -> None:
    spec: Spec
    if task.environment is not None:
        _known(task.environment, host.environments, f"{key}.environment", "environment")
        spec = host.environments[task.environment]
    else:
        _known(str(task.dataset), host.datasets, f"{key}.dataset", "dataset")
        spec = host.datasets[str(task.dataset)]
    resolve(spec.load_config(), task.options, where=f"{key}.options")


def _check_metric(metric: Metric, suite: Suite, host: Host, key: str) -> None:
    _known(metric.risk, host.risk_measures, f"{key}.risk", "risk measure")
    config = host.risk_measures[metric.risk].load_config()
    resolve(config, metric.risk_config, where=f"{key}.risk_config")
    if not math.isclose(metric.window * RECORDS, round(metric.window * RECORDS)):
        raise UqbenchError(f"{key}.window: expected whole hundredths, got {metric.window}.")
    if metric.kind == "cost":
        _known(metric.statistic, ["steps_per_s"], f"{key}.statistic", "cost")
    for task in suite.tasks:
        if not metric.suits(task):
            continue
        if metric.kind == "estimate":
            scores = host.datasets[str(task.dataset)].scores
            _known(metric.statistic, scores, f"{key}.statistic", f"score of task {task.name!r},")
        elif metric.kind in ("online", "evaluation"):
            _check_statistic(metric, task, host.environments[str(task.environment)], key)
    if metric.statistic not in EPISODE_STATISTICS and metric.risk != "expectation":
        raise UqbenchError(
            f"{key}.risk: a risk measure needs one of {EPISODE_STATISTICS} as statistic."
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
            raise UqbenchError(f"{where}: 'cumulative_regret' is of training: kind = 'online'.")
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


def _check_normalisation(metric: Metric, suite: Suite, where: str) -> None:
    tasks = [task.name for task in suite.tasks]
    if metric.references is not None:
        key = f"{where}: metrics.{metric.name}.references"
        _known(metric.references, suite.normalisation, key, "normalisation")
    for task, reference in suite.references(metric).items():
        key = f"{where}: normalisation.{metric.references or metric.name}.references"
        _known(task, tasks, key, "task")
        if (reference.one > reference.zero) != (metric.direction == "max"):
            raise UqbenchError(
                f"{key}.{task}: one = {reference.one} must be better than zero = {reference.zero} "
                f"in the direction of {metric.name!r}, {metric.direction!r}."
            )


def _check_budget(suite: Suite, budget: Budget, key: str) -> None:
    if budget.primary is not None:
        metrics = [metric.name for metric in suite.metrics]
        _known(budget.primary, metrics, f"{key}.primary", "metric")
    for name in budget.tasks or ():
        _known(name, [task.name for task in suite.tasks], f"{key}.tasks", "task")
    for name in budget.task_steps:
        _known(name, [task.name for task in suite.tasks], f"{key}.task_steps", "task")
    metric = suite.primary_metric(budget)
    if metric.kind == "evaluation" and budget.evaluation is None:
        raise UqbenchError(
            f"{key}: its primary metric {metric.name!r} needs a table 'evaluation' here."
        )
    for task in suite.tasks_of(budget):
        if not metric.suits(task):
            raise UqbenchError(f"{key}: the primary {metric.name!r} is not for task {task.name!r}.")
        if task.name not in suite.references(metric):
            raise UqbenchError(
                f"{key}: expected normalisation.{metric.name}.references.{task.name} = "
                f"{{ zero = …, one = … }}; a score cannot be aggregated without."
            )


def _check_method(method: Method, suite: Suite, host: Host, where: str) -> None:
    key = f"{where}: methods.{method.name}"
    if method.agent is not None:
        _known(method.agent, host.agents, f"{key}.agent", "agent")
    else:
        _known(str(method.estimator), host.estimators, f"{key}.estimator", "estimator")
    for name in method.tasks:
        _known(name, [task.name for task in suite.tasks], f"{key}.tasks", "task")
    for name in method.budgets or ():
        _known(name, suite.budgets, f"{key}.budgets", "budget")
    for task in suite.tasks:
        if method.suits(task):
            method_config(method, task, method.spec(host), where=key)


def _check_claim(claim: Claim, suite: Suite, host: Host, where: str) -> None:
    """Check a claim, but for its methods: they come from many plugins and may not be there."""
    key = f"{where}: claims.{claim.id}"
    for name in claim.budgets:
        _known(name, suite.budgets, f"{key}.budgets", "budget")
        if not suite.budget(name).ranks:
            raise UqbenchError(
                f"{key}.budgets: the budget {name!r} cannot rank methods; no claim can need it."
            )
    kind = claim.load(host, key)
    _known(kind.metric, [metric.name for metric in suite.metrics], f"{key}.metric", "metric")
    metric = suite.metric(kind.metric)
    for budget in claim.budgets:
        suited = [t.name for t in suite.tasks_of(suite.budget(budget)) if metric.suits(t)]
        for task in kind.tasks or ():
            of = f"task with {metric.name} in budget {budget!r},"
            _known(task, suited, f"{key}.tasks", of)
        try:
            kind.check(suite, kind.tasks or suited)
        except ValueError as error:
            raise UqbenchError(f"{key}: {error}") from None


def method_config(
    method: Method,
    task: Task,
    spec: Spec,
    *,
    where: str,
    schedule: float = 1.0,
    overrides: Mapping[str, Any] | None = None,
) -> Any:
    """The typed config of a method on a task, with the budget's schedule and ``--set`` applied."""
    return resolve(
        spec.load_config(),
        method.config | method.tasks.get(task.name, {}),
        where=f"{where}.config",
        schedule=schedule,
        overrides=overrides,
    )


class _Extension(_Model):
    methods: tuple[Method, ...] = ()
    claims: tuple[Claim, ...] = ()


def _unique(names: list[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UqbenchError(f"{where}: the name {name!r} is taken; choose another.")


def _known(given: str, names: Iterable[str], where: str, kind: str) -> None:
    names = list(names)
    if given not in names:
        raise UqbenchError(f"{where}: there is no {kind} {given!r}. {did_you_mean(given, names)}")


def _find(kind: str, name: str, things: Iterable[N]) -> N:
    by_name = {thing.name: thing for thing in things}
    if name not in by_name:
        raise unknown(kind, name, by_name)
    return by_name[name]


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UqbenchError(f"{where}: not valid TOML: {error}") from None


def _validate(model: type[Any], table: Any, where: str) -> Any:
    try:
        return model.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        raise UqbenchError(f"{where}: {_located(error, model)}") from None


def _located(error: ValidationError, model: type[BaseModel]) -> str:
    """Explain; an unknown key gets the nearest key of the table that it stands in."""
    sentences = []
    for found in error.errors():
        if found["type"] == "extra_forbidden":
            *path, key = found["loc"]
            table = next((_TABLES[str(p)] for p in reversed(path) if p in _TABLES), model)
            place = ".".join(map(str, path)) or "top level"
            near = did_you_mean(str(key), table.model_fields)
            sentences.append(f"{place}: unknown key {key!r}. {near}")
    return "; ".join(sentences) or explain(error)


_TABLES: dict[int | str, type[BaseModel]] = {
    "tasks": Task,
    "budgets": Budget,
    "evaluation": Evaluation,
    "methods": Method,
    "metrics": Metric,
    "normalisation": Normalisation,
    "references": Reference,
}
