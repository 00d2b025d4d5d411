"""Plans: the runs of a suite under a budget, each with its identity."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from uqbench.contract.claim import ClaimKind
from uqbench.contract.config import as_table
from uqbench.contract.errors import Say, UqbenchError, see, unknown, warn
from uqbench.contract.identity import DeviceKind, Run, digest_of, runs_of
from uqbench.contract.specs import KINDS, AgentSpec, Role, Spec, imported
from uqbench.registry.plugins import Host
from uqbench.suites.claims import Claim, are_judged
from uqbench.suites.configs import method_config, task_config, task_spec
from uqbench.suites.controls import with_controls
from uqbench.suites.search import chosen_values, rows_under
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Method, Task
from uqbench.suites.tuning import LAST
from uqbench.suites.tuning import NAME as TUNING
from uqbench.suites.variants import base_name, expanded, values_of

SELF_RUN = "self-run"
"""Agent, and version, of a run whose loop its owner kept (:mod:`uqbench_record.self_run`)."""
Stage = Literal["train", "judge"]
"""One of a run's two stages, where a command does not do both."""
RowRole = Role | Literal["imported"]
"""A row's role; *imported* ones were not run here, and have no rank beside those that were."""


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one task, which differ only in their seed.

    Attributes:
        config: the method's typed config, resolved for this task and budget.
        owns_loop: whether the method is a ``LoopAgent``.
        role: of its agent or estimator: a method, or a trivial or oracle row beside the methods.
    """

    task: Task
    method: Method
    config: Any
    owns_loop: bool
    runs: tuple[Run, ...]
    role: RowRole = "method"


@dataclass(frozen=True)
class Plan:
    """The runs that a command is about.

    Attributes:
        standard: whether this is the suite's budget as written: all tasks, methods and seeds, and
            nothing set by the user.
        as_written: whether these are runs of the budget as written, though perhaps not all of
            them: steps and configs are the suite's.
        claims: the suite's claims, each with its parsed kind; none where they are not judged.
        board_tables: tables that plugins add to its board.
        steps: what the user set instead of the budget's steps; None if nothing.
        settings: config values that the user set, by method.
        keep_agents: whether the final state of each agent is stored; changes no identity.
        stage: of the runs, that is done; None for both.
        defaults: rows with default settings, by the tuned row of the same method.
        score_versions: of the registered scores, and of the data sets' own, by statistic.
    """

    suite: Suite
    budget_name: str
    budget: Budget
    cells: tuple[Cell, ...]
    standard: bool
    as_written: bool = True
    claims: tuple[tuple[Claim, ClaimKind], ...] = ()
    board_tables: tuple[Spec, ...] = ()
    steps: int | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keep_agents: bool = False
    stage: Stage | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    score_versions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs, cell by cell."""
        return tuple(run for cell in self.cells for run in cell.runs)

    @property
    def roles(self) -> dict[str, RowRole]:
        """The role of each method."""
        return {cell.method.name: cell.role for cell in self.cells}

    @property
    def name(self) -> str:
        """Name of the leaderboard's folder: the budget, or a selection of its runs."""
        if self.standard:
            return self.budget_name
        digest = digest_of(sorted(run.on_device("cpu").digest for run in self.runs))
        return f"{self.budget_name}-selection-{digest[:8]}"


def board_title(suite: str, name: str) -> str:
    """The title of a plan's board, without a digest: ``cartpole · paper (selection)``.

    Args:
        suite: its suite's name.
        name: the plan's.
    """
    budget, selected, _ = name.partition("-selection-")
    return f"{suite} · {budget}{' (selection)' if selected else ''}"


def make_plan(
    suite: Suite,
    host: Host,
    budget: str | None = None,
    *,
    device: DeviceKind,
    say: Say = warn,
    methods: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    steps: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    keep_agents: bool = False,
    stage: Stage | None = None,
) -> Plan:
    """Plan the runs of a suite.

    Args:
        suite: what to run.
        host: the plugins.
        budget: name of the budget; None for the suite's default.
        device: kind of device that the runs are for; part of their identity.
        say: called with each method that is left out, as it cannot predict what a task has.
        methods: only these; None for those of the budget.
        tasks: the same for tasks.
        seeds: the same for seeds.
        steps: instead of the budget's.
        settings: config values by method that replace the suite's.
        keep_agents: whether the final state of each agent is stored.
        stage: of the runs, that is done; None for both.

    Raises:
        UqbenchError: a name is unknown, a selection is empty, or a setting is wrong.
    """
    _check_baseline(suite)
    budget_name = budget or suite.default_budget
    planned = _budget(suite, budget_name, steps)
    offered, given = suite.methods_of(budget_name), settings or {}
    rows = {m.name: rows_under(suite, budget_name, m, host) for m in suite.methods}
    first, names = planned.first_seed, [method.name for method in offered]
    usual, as_usual = _variants(offered, [row for name in names for row in rows[name]], {})
    searching = budget_name in (TUNING, LAST)
    searched = () if methods and not searching else rows.keys() - given.keys()
    asked = [row for n in methods or names for row in (rows[n] if n in searched else [n])]
    chosen_methods, settings = _methods(suite, host, offered, methods, asked, given)
    every_task, every_seed = suite.tasks_of(planned), range(first, first + planned.seeds)
    chosen_tasks = _choose("task", every_task, tasks, f"Budget {budget_name} of {suite.name} has")
    chosen_seeds = tuple(every_seed) if seeds is None else tuple(sorted(seeds))
    unable = _unable(chosen_methods, chosen_tasks, host, say)
    cells = tuple(
        _cell(suite, host, (budget_name, planned), task, method, settings, device, chosen_seeds)
        for task in chosen_tasks
        for method in chosen_methods
        if method.suits(task) and method.name not in unable
    )
    if not cells:
        raise UqbenchError(
            f"of {', '.join(one.name for one in chosen_methods)} none can be run on "
            f"{', '.join(one.name for one in chosen_tasks)} of {suite.name}: agents need an "
            f"environment, estimators a data set of their kind."
        )
    whole = (chosen_methods, chosen_tasks, chosen_seeds) == (usual, every_task, tuple(every_seed))
    skills = {name: spec.skill for name, spec in host.scores.items() if spec.skill is not None}
    judged = suite.claims if are_judged(host) else ()
    as_written = steps is None and all(as_usual.get(name) == one for name, one in settings.items())
    claims: Any = [(c, c.load(host, f"{suite.name}: claims.{c.id}")) for c in judged]
    return Plan(
        suite.model_copy(update={"metrics": with_controls(suite.metrics, skills)}),
        budget_name,
        planned,
        cells,
        standard=as_written and whole,
        as_written=as_written,
        claims=tuple(claims),
        board_tables=tuple(host.board_tables.values()),
        steps=steps,
        settings=settings,
        keep_agents=keep_agents,
        stage=stage,
        defaults={name: own[1] for name, own in rows.items() if len(own) == 2},
        score_versions=_score_versions(suite, host),
    )


def _unable(methods: Sequence[Method], tasks: Sequence[Task], host: Host, say: Say) -> set[str]:
    """Names of estimators that cannot predict what one of the data sets has, each of them said."""
    found = set()
    for task in tasks:
        of = imported(getattr(task_spec(task, host), "kind", None))
        kind = of and of(task_config(task, host, where=task.name))
        for name, able in {m.name: getattr(m.spec(host), "kinds", KINDS) for m in methods}.items():
            if kind is not None and kind not in able and name not in found:
                found.add(name)
                say(f"left out: {name}, for {' or '.join(able)}: {task.name} is a {kind}.")
    return found


def _score_versions(suite: Suite, host: Host) -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in sorted({task.dataset for task in suite.tasks if task.dataset}):
        if name in host.datasets:
            versions |= host.datasets[name].score_versions
    own = {metric.statistic for metric in suite.metrics if metric.kind == "dataset"}
    versions = {name: version for name, version in versions.items() if name in own}
    registered = {metric.statistic for metric in suite.metrics if metric.kind == "predictions"}
    return versions | {n: host.scores[n].version for n in sorted(registered) if n in host.scores}


def _check_baseline(suite: Suite) -> None:
    if suite.baseline not in {method.name for method in suite.methods}:
        raise UqbenchError(
            f"The baseline of the suite {suite.name!r} is the method {suite.baseline!r}, which no "
            f"loaded plugin provides: install or repair one that does (uqbench list plugins)."
            f"{see('missing-baseline')}"
        )


def _budget(suite: Suite, name: str, steps: int | None) -> Budget:
    """A budget of the suite, with the user's steps in place of its own."""
    budget = suite.budget(name)
    if steps is None:
        return budget
    if steps % budget.actors:
        raise UqbenchError(
            f"budget {name} has {budget.actors} actors, whose steps together are those of a run: "
            f"expected a multiple of {budget.actors}, got {steps} steps"
        )
    return budget.model_copy(update={"steps": steps, "task_steps": {}})


def _methods(
    suite: Suite,
    host: Host,
    usual: tuple[Method, ...],
    names: Sequence[str] | None,
    asked: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]],
) -> tuple[tuple[Method, ...], dict[str, Mapping[str, Any]]]:
    """The chosen methods with their variants, and the settings of each."""
    offered = usual if names is None else suite.methods
    bases = None if names is None else [base_name(name) for name in names]
    installed = {*host.agents, *host.estimators}.intersection(bases or ())
    for name in installed - {method.name for method in offered}:
        raise UqbenchError(
            f"{name!r} is installed, but no method of the suite {suite.name!r}: a suite file of "
            f"its package makes it one (docs/write-a-plugin.md#joining-a-suite), and "
            f"uqbench try {name} --suite {suite.name} needs none."
        )
    chosen = _choose("method", offered, bases)
    known = {method.name for method in chosen}
    for name in settings:
        if base_name(name) not in known:
            raise unknown("method", name, known, "--set: the plan has")
    if not asked:
        raise UqbenchError(
            f"{suite.name} has no search space for {', '.join(known)}: expected one in its "
            f"[tuning] or [search_spaces], or values to try by --set METHOD.KEY=VALUE,VALUE,…."
        )
    return _variants(chosen, asked, settings)


def _cell(
    suite: Suite,
    host: Host,
    named: tuple[str, Budget],
    task: Task,
    method: Method,
    settings: Mapping[str, Mapping[str, Any]],
    device: DeviceKind,
    seeds: Sequence[int],
) -> Cell:
    """The runs of a method on a task under a budget, which comes with its name."""
    (budget_name, budget), spec = named, method.spec(host)
    if budget.actors > 1 and isinstance(spec, AgentSpec) and not spec.takes_actors:
        raise UqbenchError(
            f"budget {budget_name} has {budget.actors} actors a run, and {method.name} "
            f"learns from one (actors, vector of AgentSpec {spec.name}): leave it out, "
            f"with 'budgets' in the suite or --methods, or choose a budget without actors"
        )
    where, of = f"{suite.name}: methods.{method.name}", (suite.written(budget_name), budget)
    over = {**chosen_values(suite, budget, method.name, spec), **settings.get(method.name, {})}
    config = method_config(method, task, host, where=where, budget=of, overrides=over)
    own, kept = budget.on(task), {"steps", "numerics", "evaluation", "actors"}
    made = {"name": budget_name} | own.model_dump(mode="json", include=kept)
    if own.queries is not None:  # absent otherwise, so that such runs keep their identity
        made["queries"] = own.queries.model_dump(mode="json")
    identity = {
        "suite": {"name": suite.name, "version": suite.version},
        "budget": made,
        "task": task.model_dump(mode="json") | {"version": task_spec(task, host).version},
        "method": {"name": method.name, "agent": method.agent, "estimator": method.estimator}
        | {"version": spec.version, "config": as_table(config, host.risk_names)},
        "device": device,
    }
    if measures := host.measure_versions(config, *suite.risks_of(task, budget)):
        identity["measures"] = measures
    runs = runs_of(suite.name, budget_name, task.name, method.name, identity, seeds)
    own_loop = isinstance(spec, AgentSpec) and spec.loop
    role = "unranked" if budget_name in method.unranked else method.role or spec.role
    return Cell(task, method, config, own_loop, runs, role)


def _variants(
    methods: Sequence[Method], asked: Sequence[str], settings: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[Method, ...], dict[str, Mapping[str, Any]]]:
    """The methods, with their variants in their place, and the settings of each."""
    variants_by_name: dict[str, tuple[Method, Mapping[str, Any]]] = {}
    for method in methods:
        own = settings.get(method.name, {})
        for name in asked:
            if base_name(name) != method.name:
                continue
            given = {**own, **values_of(name), **settings.get(name, {})}
            for variant, values in expanded(name, given).items():
                variants_by_name[variant] = method.model_copy(update={"name": variant}), values
    return (
        tuple(method for method, _ in variants_by_name.values()),
        {name: values for name, (_, values) in variants_by_name.items() if values},
    )


def _choose(
    kind: str, things: Iterable[Any], names: Sequence[str] | None, of: str = "There is"
) -> tuple[Any, ...]:
    by_name = {thing.name: thing for thing in things}
    for name in names or ():
        if name not in by_name:
            raise unknown(kind, name, by_name, of)
    return tuple(thing for name, thing in by_name.items() if names is None or name in names)
