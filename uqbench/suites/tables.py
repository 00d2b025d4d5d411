"""The tables of a suite file as typed models: tasks, budgets, methods, metrics, claims.

Nothing here reads a file (:mod:`uqbench.suites.reading`) or looks a name up
(:mod:`uqbench.suites.checks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from uqbench.claim import ClaimKind
from uqbench.config import resolve
from uqbench.errors import UqbenchError, unknown
from uqbench.registry.plugins import Host
from uqbench.specs import Spec

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100)]
"""Names of suites, tasks, budgets and methods are names of folders too."""
Count = Annotated[int, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0, le=1)]

EPISODE_STATISTICS = ("return", "discounted_return", "length", "regret")
"""One number an episode, of which a metric's risk measure makes one."""
EVENT_STATISTICS = ("events", "events_per_step", "events_per_episode", "episodes_with")
"""Of a counter of the environment, as in ``events/falls``."""
STATISTICS = (*EPISODE_STATISTICS, "reward_per_step", "cumulative_regret")
RECORDS = 100
"""Records of a run's metrics, evenly spaced: a metric's window is a whole number of them."""


class Table(BaseModel):
    """A table of a suite file: unknown keys are errors, and it cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


class Task(Table):
    """One environment, or one dataset, with its config.

    ``time_limit`` is in steps; ``time_limit_is`` says whether the state it ends in counts as
    terminal (value zero) or as cut off (its value goes on). An environment needs a ``discount``.
    """

    name: Name
    environment: str | None = None
    dataset: str | None = None
    config: dict[str, Any] = {}
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


class Evaluation(Table):
    """Episodes of the agent's ``policy``, in fresh environments: at the end, and ``every`` steps.

    An episode that has not ended after ``max_steps`` counts with what it collected so far.
    """

    episodes: Count
    max_steps: Count
    every: Count | None = None


class Budget(Table):
    """How long, how many seeds, when evaluated, in which numerics mode.

    Attributes:
        steps: environment steps of a run; optimisation steps of an estimator.
        task_steps: steps by task, of tasks that take another number: see :meth:`on`.
        seeds: runs 0, 1, … of each task and method.
        schedule: factor on every ``Steps`` field of a method's config.
        config: values for the fields of these names, of every method whose config has them; taken
            as they are, whatever the schedule is.
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
    config: dict[str, Any] = {}
    numerics: Literal["eager", "compiled"] = "eager"
    primary: str | None = None
    tasks: tuple[str, ...] | None = None
    task_steps: dict[str, Count] = {}
    evaluation: Evaluation | None = None

    def on(self, task: Task) -> Budget:
        """The budget as it is on one task: ``steps`` are those of the task's runs."""
        steps = self.task_steps.get(task.name, self.steps)
        return self.model_copy(update={"steps": steps, "task_steps": {}})


class Method(Table):
    """An agent, or an estimator, with a config, under the name that leaderboards show.

    ``base`` names a method that this one is a variant of: what is not given here is taken from
    there, ``config``, ``tasks`` and ``budget_config`` key by key.

    ``tasks`` holds values that replace those of ``config`` on single tasks. A value
    ``{ task = "KEY", plus = N, times = X }`` follows the task's own config: ``X · task.KEY + N``.
    ``budgets`` are those that it takes part in unless it is asked for by name; None for all.
    ``budget_config`` holds values by budget, which replace also those of the budget's own
    ``config``, and are not scaled by its schedule either.
    """

    name: Name
    base: str | None = None
    agent: str | None = None
    estimator: str | None = None
    config: dict[str, Any] = {}
    tasks: dict[str, dict[str, Any]] = {}
    budgets: tuple[str, ...] | None = None
    budget_config: dict[str, dict[str, Any]] = {}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        named = [name for name in (self.base, self.agent, self.estimator) if name is not None]
        if len(named) != 1:
            raise ValueError("a method has exactly one of 'agent', 'estimator' and 'base'")
        return self

    def on(self, base: Method) -> Method:
        """This variant with what its ``base`` gives."""
        return Method(
            name=self.name,
            agent=base.agent,
            estimator=base.estimator,
            config=base.config | self.config,
            tasks=_merged(base.tasks, self.tasks),
            budgets=self.budgets,
            budget_config=_merged(base.budget_config, self.budget_config),
        )

    def suits(self, task: Task) -> bool:
        """Whether the method is for such a task: agents for environments, estimators for data."""
        return (self.agent is None) == (task.environment is None)

    def spec(self, host: Host) -> Spec:
        """What the method is made of."""
        if self.agent is not None:
            return host.agents[self.agent]
        return host.estimators[str(self.estimator)]


class Metric(Table):
    """A number that every run gets.

    Attributes:
        kind: ``online`` (training), ``evaluation`` (the last evaluation), ``agent`` (what the agent
            reports of itself, or is scored on, at the records of training), ``dataset`` (a score
            that a dataset gives), or ``cost`` (measured: it differs from machine to machine).
        statistic: online: of the episodes that end in the window, ``return``,
            ``discounted_return``, ``length`` or ``regret``, the optimal return minus the return; of
            its steps, ``reward_per_step``, or ``cumulative_regret``, what the optimal policy would
            have collected minus what was; of an event of the environment, ``events/NAME``, its
            total, ``events_per_step/NAME``, ``events_per_episode/NAME`` or ``episodes_with/NAME``,
            the share of episodes in which it occurs. Evaluation: those of episodes, and
            ``reward_per_step``. Agent: the name of its metric, averaged over the window's records.
            Dataset: the name of its score. Cost: ``steps_per_s``, of one core or device.
        window: online and agent: the last fraction of training that counts.
        risk: the risk measure that makes one number of the episodes', such as ``"cvar(0.25)"``.
        direction: whether more is better.
        normalized_as: the metric whose normalization constants this one uses; None for its own.
    """

    name: Name
    summary: str
    kind: Literal["online", "evaluation", "agent", "dataset", "cost"]
    statistic: str = "return"
    window: Fraction = 1.0
    risk: str = "expectation"
    direction: Literal["max", "min"] = "max"
    normalized_as: str | None = None

    def suits(self, task: Task) -> bool:
        """Whether the metric is about such a task."""
        return self.kind == "cost" or (self.kind == "dataset") == (task.dataset is not None)

    @property
    def event(self) -> tuple[str, str] | None:
        """Statistic and name of an event, where the metric is about one."""
        statistic, slash, name = self.statistic.partition("/")
        return (statistic, name) if slash and self.kind in ("online", "evaluation") else None

    def definition(self) -> dict[str, Any]:
        """What the metric's values depend on; kept with every run that was scored by it."""
        return self.model_dump(mode="json", exclude={"summary", "normalized_as", "direction"})


class NormalizationConstants(Table):
    """Raw values of one task that stand for normalized 0 and 1; ``zero_se`` is a standard error."""

    zero: float
    one: float
    zero_se: float | None = None

    def normalize(self, raw: float) -> float:
        """``(raw − zero) / (one − zero)``."""
        return (raw - self.zero) / (self.one - self.zero)


class Normalization(Table):
    """Normalization constants of one metric by task; ``zero`` and ``one`` say what they are."""

    version: str
    zero: str
    one: str
    constants: dict[str, NormalizationConstants]


class Claim(Table):
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
        if self.kind not in host.claim_kinds:
            raise UqbenchError(
                f"{where}.kind: {unknown('claim kind', self.kind, host.claim_kinds)}"
            )
        config = host.claim_kinds[self.kind].load_config()
        kind: ClaimKind = resolve(config, self.settings, where=where)
        if not isinstance(kind, ClaimKind):
            raise UqbenchError(f"{where}.kind: {self.kind!r} is no uqbench.claim.ClaimKind.")
        return kind


class Suite(Table):
    """Everything that a leaderboard rests on. See the module's docstring."""

    name: Name
    version: str
    summary: str
    source: str = ""
    primary: str
    baseline: str
    default_budget: str
    tasks: tuple[Task, ...]
    budgets: dict[Name, Budget]
    metrics: tuple[Metric, ...]
    normalization: dict[str, Normalization]
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

    def normalization_constants(self, metric: Metric) -> dict[str, NormalizationConstants]:
        """Normalization constants of a metric by task; empty where it is not normalized."""
        normalization = self.normalization.get(metric.normalized_as or metric.name)
        return normalization.constants if normalization else {}

    def tasks_of(self, budget: Budget) -> tuple[Task, ...]:
        """The tasks that take part in a budget."""
        return tuple(t for t in self.tasks if budget.tasks is None or t.name in budget.tasks)


def _merged(
    base: dict[str, dict[str, Any]], own: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    names = dict.fromkeys((*base, *own))
    return {name: base.get(name, {}) | own.get(name, {}) for name in names}


def _find(kind: str, name: str, things: Iterable[N]) -> N:
    by_name = {thing.name: thing for thing in things}
    if name not in by_name:
        raise unknown(kind, name, by_name)
    return by_name[name]
