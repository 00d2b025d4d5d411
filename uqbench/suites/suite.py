"""A suite: everything that a leaderboard rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, PrivateAttr
from pydantic_core import PydanticCustomError

from uqbench.contract.claim import Paired
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.registry.definitions import source
from uqbench.registry.plugins import Host
from uqbench.suites import tuning as search
from uqbench.suites.claims import Claim, Reading
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.tables import UNKNOWN, Budget, BudgetName, Method, MetricName, Name, Table, Task

N = TypeVar("N", Task, Method, Metric)


def rows_of(suite: Any, kind: str) -> dict[str, Any]:
    """The rows of a kind, such as ``tasks``, by name."""
    rows = getattr(suite, kind)
    return rows if isinstance(rows, dict) else {_name(row): row for row in rows}


def _name(row: Any) -> str:
    return str(row.id if isinstance(row, Claim) else row.name)


def _distinct(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    names = [_name(row) for row in rows]
    for name in names:
        if names.count(name) > 1:
            said = {"said": f"the name {name!r} is taken; choose another."}
            raise PydanticCustomError(UNKNOWN, "{said}", said)
    return rows


DISTINCT = AfterValidator(_distinct)


class Suite(Table):
    """Everything a leaderboard is computed from, apart from the runs.

    Attributes:
        ranks_by: the statistic of the normalized scores that orders the methods: ``mean``, that of
            the tasks' means; ``iqm``, which trims runs, of unlike tasks whole ones; ``median``.
        paired: whether the methods meet the same data sets, or environments, of a seed, and these
            matter to the result: differences are then taken seed by seed.
        search_spaces: what is tried of an agent or estimator by ``uqbench tune``, by its name.
        readings: how the paper is read where it can be read in two ways, by name.
    """

    name: Name
    version: str
    summary: str
    source: str = ""
    primary: MetricName
    baseline: str
    default_budget: BudgetName
    ranks_by: Literal["mean", "iqm", "median"] = "mean"
    paired: bool = False
    tasks: Annotated[tuple[Task, ...], DISTINCT]
    budgets: dict[Name, Budget]
    metrics: Annotated[tuple[Metric, ...], DISTINCT]
    normalization: dict[str, Normalization]
    methods: Annotated[tuple[Method, ...], DISTINCT] = ()
    tuning: search.Tuning | None = None
    search_spaces: dict[Name, search.Space] = Field(default_factory=dict)
    readings: dict[Name, Reading] = Field(default_factory=dict)
    claims: Annotated[tuple[Claim, ...], DISTINCT] = ()
    _added: frozenset[tuple[str, str]] = PrivateAttr(frozenset())
    _tables: search.Tables = PrivateAttr(default_factory=search.Tables)

    @property
    def pairing(self) -> Paired:
        """Worlds are drawn of a seed and a task; data sets may share their pool with another's."""
        unit: Paired = "seeds" if any(task.dataset for task in self.tasks) else "runs"
        return unit if self.paired else ""

    def with_row(self, kind: str, name: str, row: Table, *, added: bool) -> Suite:
        """The suite with a row more, in the place of one of its name where rows have names.

        Args:
            kind: ``tasks``, ``budgets``, …
            name: of the row.
            row: to add.
            added: whether it is another plugin's, and so changes no run of the suite's own.
        """
        rows = getattr(self, kind)
        new = {**rows, name: row} if isinstance(rows, dict) else (*rows, row)
        suite = self.model_copy(update={kind: new})
        suite._added = self._added | ({(kind, name)} if added else set())
        return suite

    @property
    def tables(self) -> search.Tables:
        """The settings that ``uqbench tune`` found for its methods."""
        return self._tables

    def with_table(self, folder: Path | None, *, own: bool) -> Suite:
        """The suite with the table of its tuning in a folder, if there is one.

        Args:
            folder: of a suite file; None where that is in none.
            own: whether that is the suite's, or extends it.

        Raises:
            UqbenchError: the table is damaged.
        """
        if self.tuning is None or folder is None:
            return self
        suite, before = self.model_copy(), self._tables
        rows = search.read_table(folder / f"{self.name}.tuning.csv")
        at = folder if own else before.folder
        last = None if self.tuning.last is None else 2
        suite._tables = search.Tables(search.joined(before.rows, rows), at, last)
        return suite

    def risks_of(self, task: Task, budget: Budget) -> Iterable[str]:
        """Risk measures that runs are identified by: those of its own metrics, and of the score.

        Other plugins' metrics leave the identity of runs alone.
        """
        for metric in self.metrics:
            own = ("metrics", metric.name) not in self._added
            if (own or metric is self.primary_metric(budget)) and metric.suits(task):
                yield metric.risk

    def sources(self, host: Host, methods: Collection[str] | None = None) -> list[str]:
        """Its source, then those of its tasks, methods and claims, in the words of ``source``.

        Args:
            host: the plugins.
            methods: only these of its methods; all where it is None.
        """
        sources = [self.source]
        for task in self.tasks:
            if task.environment is not None and task.environment in host.environments:
                sources.append(source(host.environments[task.environment]))
            if task.dataset is not None and task.dataset in host.datasets:
                sources.append(source(host.datasets[task.dataset]))
        for method in self.methods:
            if methods is None or method.name in methods:
                sources.append(method.cited(host))
        return [*sources, *(claim.source for claim in self.claims)]

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
        if name not in self.all_budgets:
            if name in (search.NAME, search.LAST):
                raise UqbenchError(
                    f"{self.name} needs a [tuning] table to be tuned (docs/protocols.md#tuning)."
                )
            raise unknown("budget", name, self.all_budgets, f"Suite {self.name} has")
        return self.all_budgets[name]

    @property
    def all_budgets(self) -> dict[str, Budget]:
        """The budgets, and those of the rungs of a search."""
        of = self.tuning
        rungs = (
            {}
            if of is None
            else {n: of.derived(self.budgets[b], n) for n, b in self._rungs.items()}
        )
        return {**self.budgets, **rungs}

    @property
    def _rungs(self) -> dict[str, str]:
        """Budgets by the names of the rungs of a search."""
        of = self.tuning
        last = {} if of is None or of.last is None else {search.LAST: of.last.budget}
        return {} if of is None else {search.NAME: of.budget, **last}

    def written(self, budget: str) -> str:
        """The budget whose methods and values count: under a rung they are another's."""
        return self._rungs.get(budget, budget)

    def primary_metric(self, budget: Budget) -> Metric:
        """The metric that scores a budget's runs."""
        return self.metric(budget.primary or self.primary)

    def ranking_metrics(self, budget: Budget) -> list[Metric]:
        """The metrics that a budget ranks by, the primary one first."""
        return [self.primary_metric(budget), *map(self.metric, budget.also_ranked_by)]

    def methods_of(self, budget: str) -> tuple[Method, ...]:
        """The methods included in a budget."""
        name = self.written(budget)
        return tuple(m for m in self.methods if m.budgets is None or name in m.budgets)

    def normalization_constants(self, metric: Metric) -> dict[str, NormalizationConstants]:
        """Normalization constants of a metric by task; empty where it is not normalized."""
        normalization = self.normalization.get(metric.normalized_as or metric.name)
        return normalization.constants if normalization else {}

    def tasks_of(self, budget: Budget) -> tuple[Task, ...]:
        """The tasks included in a budget: where it names none, all of the suite's own."""
        if budget.tasks is None:
            return tuple(t for t in self.tasks if ("tasks", t.name) not in self._added)
        return tuple(t for t in self.tasks if t.name in budget.tasks)


def _find(kind: str, name: str, things: Iterable[N]) -> N:
    by_name = {thing.name: thing for thing in things}
    if name not in by_name:
        raise unknown(kind, name, by_name)
    return by_name[name]
