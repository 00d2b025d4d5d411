"""The tables of a suite file as typed models: tasks, evaluation, budgets, methods.

Nothing here reads a file (:mod:`uqbench.suites.reading`) or looks up a name
(:mod:`uqbench.suites.checks`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from uqbench.contract.errors import did_you_mean
from uqbench.contract.specs import MethodSpec, Role
from uqbench.registry.definitions import source
from uqbench.registry.plugins import Host

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100)]
"""Names of suites, tasks, budgets and methods are names of folders too."""
Count = Annotated[int, Field(gt=0)]
Fraction = Annotated[float, Field(gt=0, le=1)]
UNKNOWN = "unknown_name"
"""The type of the errors of :func:`known`, whose message says all."""


def known(kind: str) -> AfterValidator:
    """Refuse a name that is not one of a kind, where the validation's context has those."""

    def check(name: str, info: ValidationInfo) -> str:
        names = (info.context or {}).get(kind)
        if names is not None and name not in names:
            said = {"said": f"there is no {kind} {name!r}. {did_you_mean(name, names)}"}
            raise PydanticCustomError(UNKNOWN, "{said}", said)
        return name

    return AfterValidator(check)


TaskName = Annotated[str, known("task")]
MetricName = Annotated[str, known("metric")]
BudgetName = Annotated[str, known("budget")]


class Table(BaseModel):
    """A table of a suite file: immutable, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(Table):
    """An environment or a dataset, with its config.

    ``worlds`` are ``drawn`` where every seed has one of its own, from the prior that agents have
    (or test data that are fresh): there stated intervals must cover as often as they say.
    ``time_limit`` is in steps; ``time_limit_is`` says whether the state at the limit counts as
    terminal (value zero) or as truncated (bootstrapped). An environment needs a ``discount``.
    """

    name: Name
    environment: Annotated[str, known("environment")] | None = None
    dataset: Annotated[str, known("dataset")] | None = None
    config: dict[str, Any] = {}
    discount: Annotated[float, Field(ge=0, le=1)] | None = None
    time_limit: Count | None = None
    time_limit_is: Literal["terminal", "truncation"] = "truncation"
    worlds: Annotated[Literal["fixed", "drawn"], Field(exclude=True)] = "fixed"  # in no identity

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.environment is None) == (self.dataset is None):
            raise ValueError("a task has either an 'environment' or a 'dataset'")
        if (self.environment is None) != (self.discount is None):
            raise ValueError("'discount' goes with an 'environment', and only there")
        return self


class Evaluation(Table):
    """Episodes of the agent's ``policy`` in new environments, at the end and ``every`` steps.

    An episode that has not ended after ``max_steps`` counts with its return so far.
    """

    episodes: Count
    max_steps: Count
    every: Count | None = None


Rollouts = Annotated[int, Field(ge=2)]
"""At least two, which have a standard error."""


class Queries(Table):
    """Query states at which predictions are scored against the truth about an agent's policy.

    Attributes:
        states: query states of a task, asked after training. Where the environment knows the
            truth, all its states are asked, and nothing else in this table counts. Where it has no
            query states, so many are asked that the policy visits, and the truth is one
            return of each (``queries/realized/…``).
        early_states: those asked after a quarter and a half of training; None for as many.
        rollouts: of the policy after every action in each of them.
        most_rollouts: set where the rollouts of a state's actions share their random numbers, and
            so many more are made, ``rollouts`` at a time, that differences between actions are
            resolved (:func:`uqbench.uncertainty.epistemic.resolved`); at most so many.
        tail: a rollout ends with its episode, or when a reward would count less than this.
    """

    states: Count | None = None
    early_states: Count | None = None
    rollouts: Rollouts | None = None
    most_rollouts: Rollouts | None = None
    tail: Annotated[float, Field(gt=0, lt=1)] = 1e-3

    @pydantic.model_serializer(mode="wrap")
    def _table(self, serialize: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The table, without a later key that is not set: identities stay as they were."""
        table: dict[str, Any] = serialize(self)
        return {k: v for k, v in table.items() if v or k != "most_rollouts"}


class Budget(Table):
    """Length of runs, number of seeds, evaluation, queries and numerics mode.

    Attributes:
        steps: environment steps of a run; optimization steps of an estimator.
        task_steps: steps by task, where they differ from ``steps``; see :meth:`on`.
        seeds: runs 0, 1, … of each task and method.
        schedule: factor on every ``Steps`` field of a method's config.
        config: values for the config fields of these names, in every method that has them; not
            scaled by the schedule.
        ranks: whether results may rank methods; if not, tables show no order.
        numerics: how the update is executed: ``eager``, or ``compiled``, which takes 15 to 30 s to
            warm up and pays off for runs of many minutes, or ``native``, a step of own kernels
            where a method has one for the network, and compiled elsewhere. Part of a run's
            identity, since the last bits may differ.
        primary: the metric to score, where it is not the suite's.
        also_ranked_by: further metrics that methods are ranked by, each beside the primary one.
        tasks: the tasks included; None for all.
        step_ms: nominal milliseconds per step of one run on one core, for the time estimate where
            neither a run nor a stored board tells.
        gpu_step_ms: the same on a GPU, which may be shared by many runs; None: as on a core.
        first_seed: the first of the runs' seeds, where it is not 0.
        tuned: whether methods have the settings that ``uqbench tune`` chose: ``only``, or
            ``with-default``, a row for these and one for their default settings.
        actors: K, copies of its environment that step together in a run and feed one learner; steps
            are those of all of them.
        lanes: runs that a process executes together on a CPU, for agents whose hundreds of lanes
            cost little more than one, such as tabular ones; None: at most five, and fewer where
            cores would idle.
    """

    summary: str
    steps: Count
    seeds: Count
    ranks: bool
    step_ms: Annotated[float, Field(gt=0)]
    gpu_step_ms: Annotated[float, Field(gt=0)] | None = None
    lanes: Count | None = None
    schedule: Annotated[float, Field(gt=0)] = 1.0
    config: dict[str, Any] = {}
    numerics: Literal["eager", "compiled", "native"] = "eager"
    primary: MetricName | None = None
    also_ranked_by: tuple[MetricName, ...] = ()
    tasks: tuple[TaskName, ...] | None = None
    task_steps: dict[TaskName, Count] = {}
    evaluation: Evaluation | None = None
    queries: Queries | None = None
    actors: Count = 1
    first_seed: Annotated[int, Field(ge=0)] = 0
    tuned: Literal["only", "with-default"] | None = None

    @pydantic.model_serializer(mode="wrap")
    def _table(self, serialize: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The table, without later keys that are not set: identities stay as they were."""
        later: dict[str, Any] = {"actors": 1, "gpu_step_ms": None, "first_seed": 0, "tuned": None}
        table: dict[str, Any] = serialize(self)
        later["also_ranked_by"] = type(table.get("also_ranked_by", ()))()
        return {k: v for k, v in table.items() if k not in later or later[k] != v}

    @model_validator(mode="after")
    def _whole_vector_steps(self) -> Self:
        for steps in (self.steps, *self.task_steps.values()):
            if steps % self.actors:
                raise ValueError(
                    f"'steps' counts those of all actors: expected a multiple of actors = "
                    f"{self.actors}, got {steps}"
                )
        return self

    def on(self, task: Task) -> Budget:
        """The budget on one task: ``steps`` are those of the task's runs."""
        steps = self.task_steps.get(task.name, self.steps)
        return self.model_copy(update={"steps": steps, "task_steps": {}})


INHERITED = ("role", "source", "title", "summary", "agent", "estimator")
"""Values of a method that its variants have where they say nothing else."""


class Method(Table):
    """An agent or an estimator, with a config, under the name that leaderboards show.

    ``base`` names the method that this one is a variant of; what is not set here is inherited,
    ``config``, ``tasks`` and ``budget_config`` key by key.

    ``tasks`` holds values that replace those of ``config`` on single tasks. A value
    ``{ task = "KEY", plus = N, times = X }`` follows the task's own config: ``X · task.KEY + N``;
    ``{ task = "KEY" }`` is that value itself, which may be a name.
    ``budgets`` are the budgets that include it, unless it is selected by name; None for all.
    ``budget_config`` holds values by budget; they override the budget's own ``config`` and are not
    scaled by its schedule either.
    ``role`` replaces its agent's: ``trivial`` for one that its config keeps from learning.
    ``unranked`` are the budgets whose boards show it without a rank. ``source`` is the paper whose
    method the row is, where that is not its agent's or estimator's own; ``title`` is then that
    method's name, and ``summary`` a line about it.
    """

    name: Name
    source: str | None = None
    title: str = ""
    summary: str = ""
    role: Role | None = None
    unranked: tuple[BudgetName, ...] = ()
    base: str | None = None
    agent: Annotated[str, known("agent")] | None = None
    estimator: Annotated[str, known("estimator")] | None = None
    config: dict[str, Any] = {}
    tasks: dict[TaskName, dict[str, Any]] = {}
    budgets: tuple[BudgetName, ...] | None = None
    budget_config: dict[BudgetName, dict[str, Any]] = {}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        named = [name for name in (self.base, self.agent, self.estimator) if name is not None]
        if len(named) != 1:
            raise ValueError("a method has exactly one of 'agent', 'estimator' and 'base'")
        return self

    def on(self, base: Method) -> Method:
        """This variant with what it inherits from its ``base``."""
        own = {of: getattr(self, of) or getattr(base, of) for of in INHERITED}
        own |= {"base": None, "config": base.config | self.config}
        own["tasks"] = _merged(base.tasks, self.tasks)
        own["budget_config"] = _merged(base.budget_config, self.budget_config)
        return self.model_copy(update=own)

    def suits(self, task: Task) -> bool:
        """Whether the method applies: agents to environments, estimators to datasets."""
        return (self.agent is None) == (task.environment is None)

    def cited(self, host: Host) -> str:
        """The paper whose method it is."""
        return source(self.spec(host)) if self.source is None else self.source

    def spec(self, host: Host) -> MethodSpec:
        """The spec of its agent or estimator."""
        if self.agent is not None:
            return host.agents[self.agent]
        return host.estimators[str(self.estimator)]


def _merged(
    base: dict[str, dict[str, Any]], own: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    return {name: base.get(name, {}) | own.get(name, {}) for name in base | own}
