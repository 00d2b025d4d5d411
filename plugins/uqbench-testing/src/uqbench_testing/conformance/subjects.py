"""From what is registered to subjects, tried where installed suites use it.

An agent is tried on a task of the suites that use it, the one whose steps cost least, with that
method's config and steps that pass within a short run; one that no suite uses, in
``RotatingPixels``, an estimator on ``DrawnPoints``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import MISSING, fields, replace
from functools import partial
from typing import Any, Literal, get_type_hints

from uqbench.contract.agent import EnvironmentInfo
from uqbench.contract.claim import ClaimKind
from uqbench.contract.config import as_table, at_most
from uqbench.contract.environment import LaneEnv, TimeLimit
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.estimator import Dataset, Estimator, Problem
from uqbench.contract.risk import RiskMeasure
from uqbench.contract.specs import imported
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.registry.named import plugins_of
from uqbench.registry.plugins import Host
from uqbench.runner.train.environments import lanes_of
from uqbench.suites.configs import method_config, task_config
from uqbench.suites.reading import Catalog, read_suites
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Method, Task
from uqbench_testing.conformance.agent_runs import CPU, AgentSubject, Learner
from uqbench_testing.conformance.check import Skipped, Subject
from uqbench_testing.conformance.claims import ClaimSubject
from uqbench_testing.conformance.environments import EnvironmentSubject
from uqbench_testing.conformance.estimators import DatasetSubject, EstimatorSubject
from uqbench_testing.conformance.figures import FigureSubject
from uqbench_testing.conformance.loop_agents import LoopAgentSubject
from uqbench_testing.conformance.packages import ComponentSubject, PackageSubject
from uqbench_testing.conformance.risks import RiskSubject
from uqbench_testing.conformance.scores import ScoreSubject
from uqbench_testing.worlds import DrawnPoints

WARM_UP, SCHEDULES = 40, 120
"""Environment steps within which learning starts, and every schedule of a config has passed."""
TOYS = {float: 0.0, int: 1, tuple[str, ...]: ("one", "two")}
"""Values of fields that a kind of claim has no default for, where no suite makes such a claim."""
Use = tuple[Suite, Method, Task]
"""A suite, and a method and a task of it."""


def subjects(host: Host, name: str) -> Iterator[Subject]:
    """Everything that a plugin registers, or one thing of it, as subjects.

    Args:
        host: the plugins.
        name: of the plugin: its entry point's name, or its distribution's; or
            ``DISTRIBUTION:NAME`` of one thing that it registers.

    Raises:
        UqbenchError: there is no such plugin, or it registers no such thing.
    """
    of, _, one = name.rpartition(":")
    plugins = plugins_of(host, name)
    catalog = read_suites(host, check=() if of else None)  # a class answers for no suite
    things = [(r, n, r.origin(n)) for r in host.registries for n in r]
    chosen = [t for t in things if t[2] in plugins and (not of or t[1].rpartition(":")[2] == one)]
    if of and not any(r.kind in MAKERS for r, *_ in chosen):
        raise unknown("plugin", name, [f"{plugin.distribution}:{n}" for _, n, plugin in things])
    for plugin in () if of else plugins:
        specs = [(r.kind, r[n]) for r, n, by in chosen if by == plugin]
        problems = [p.reason for p in catalog.problems if p.plugin == plugin]
        yield PackageSubject(name=plugin.name, plugin=plugin, specs=specs, problems=problems)
        for hook in host.manager.hook.uqbench_figures.get_hookimpls():
            if hook.plugin_name == f"{plugin.distribution}:{plugin.name}":
                yield FigureSubject(name=plugin.name, hook=hook, suites=catalog.suites, host=host)
    for kind, n, plugin in ((k, n, by) for k in MAKERS for r, n, by in chosen if r.kind == k):
        what = f"{kind} {n}"
        try:
            subject = MAKERS[kind](n, host, catalog)
            yield replace(subject, expected_failures=host.expected_failures(plugin).get(what, {}))
        except Exception as error:  # a plugin may raise anything
            yield ComponentSubject(name=what, problem=error)


def _use(catalog: Catalog, kind: Literal["agent", "estimator"], name: str) -> Use | None:
    """The use of a method whose steps cost least, and of these the one of the shortest config."""
    rows = ((s, m) for s in catalog.suites.values() for m in s.methods if getattr(m, kind) == name)
    uses = [(s, m, t) for s, m in rows for t in s.tasks_of(s.budget("smoke")) if m.suits(t)]
    return min(uses, key=lambda u: (u[0].budget("smoke").step_ms, len(u[1].config)), default=None)


def _config(use: Use, host: Host) -> Any:
    """The method's config there."""
    suite, method, task = use
    where, budget = f"{suite.name}: methods.{method.name}", ("smoke", suite.budget("smoke"))
    return method_config(method, task, host, where=where, budget=budget)


def _task(catalog: Catalog, own: Task) -> Task:
    """The first task of the same environment or data set; a task of its own where there is none."""
    tasks = (t for suite in catalog.suites.values() for t in suite.tasks_of(suite.budget("smoke")))
    kind = own.environment, own.dataset
    return next((task for task in tasks if (task.environment, task.dataset) == kind), own)


def _lanes(task: Task, host: Host) -> Callable[[Sequence[int], TimeLimit | None], LaneEnv]:
    """A function that makes the task's environment."""
    config = task_config(task, host, where=task.name)
    spec = host.environments[str(task.environment)]
    return lambda seeds, limit: lanes_of(spec, config, list(seeds), limit, CPU)


def _limit(task: Task) -> TimeLimit | None:
    return None if task.time_limit is None else TimeLimit(task.time_limit, task.time_limit_is)


def _agent(name: str, host: Host, catalog: Catalog) -> Subject:
    spec, use = host.agents[name], _use(catalog, "agent", name)
    make: Any = LoopAgentSubject if spec.loop else AgentSubject
    factory = spec.load_factory() if spec.loop else spec.factory  # a name, for other processes
    config = spec.load_config()() if use is None else _config(use, host)
    says = {key: getattr(spec, key) for key in ("role", "takes_actors", "calibrated")}
    short = at_most(config, SCHEDULES, WARM_UP)
    subject: Learner = make(name=name, factory=factory, config=short, **says)
    if use is None:
        return subject
    task = use[-1]
    lanes, limit = _lanes(task, host), _limit(task)
    one = lanes([0], limit)
    info = EnvironmentInfo(one.observation_space, one.n_actions, task.discount or 0.0, 10_000)

    def world(count: int, first: int) -> LaneEnv:
        return lanes(range(first, first + count), limit)

    return replace(subject, world=world, info=info)


def _environment(name: str, host: Host, catalog: Catalog) -> Subject:
    spec = host.environments[name]
    task = _task(catalog, Task(name="default", environment=name, discount=0.99))
    make, discount = _lanes(task, host), float(task.discount or 0.0)
    config = task_config(task, host, where=name)
    optimal_q, optimal_return = imported(spec.optimal_q), imported(spec.optimal_return)
    single = not spec.vector and isinstance(make([0], None), GymnasiumLanes)
    return EnvironmentSubject(
        name=name,
        make=make,
        single=partial(spec.load_factory(), config) if single else None,
        events=spec.events,
        discount=discount,
        limit=_limit(task),
        optimal_q=optimal_q and partial(optimal_q, config, discount),
        optimal_return=optimal_return and partial(optimal_return, config),
    )


def _made(task: Task, host: Host) -> Dataset:
    factory = host.datasets[str(task.dataset)].load_factory()
    dataset: Dataset = factory(task_config(task, host, where=task.name))
    return dataset


def _dataset(name: str, host: Host, catalog: Catalog) -> Subject:
    task = _task(catalog, Task(name="default", dataset=name))
    every = ((s, t) for s in catalog.suites.values() for t in s.tasks if t.dataset == name)
    tasks = {f"{t.name} of {s.name}": partial(_made, t, host) for s, t in every}
    scores = host.datasets[name].scores
    return DatasetSubject(name=name, dataset=_made(task, host), scores=scores, tasks=tasks)


def _estimator(name: str, host: Host, catalog: Catalog) -> Subject:
    spec, use = host.estimators[name], _use(catalog, "estimator", name)
    factory = spec.load_factory()
    config = spec.load_config()() if use is None else _config(use, host)

    def make(problem: Problem, seeds: Sequence[int]) -> Estimator:
        made: Estimator = factory(problem, list(seeds), deepcopy(config), CPU)
        return made

    if use is None:
        return EstimatorSubject(name=name, make=make, dataset=_suited(make), role=spec.role)
    suite, _, task = use
    steps = min(suite.budget("smoke").on(task).steps, 50)
    dataset = _made(task, host)
    return EstimatorSubject(name=name, make=make, dataset=dataset, steps=steps, role=spec.role)


def _suited(make: Callable[[Problem, Sequence[int]], Estimator]) -> Dataset:
    """Three classes in the plane, or values, where an estimator takes no classes."""
    classes = DrawnPoints(3)
    try:
        make(classes.problem, [0]).fit(classes.data([0]), None, 1)
    except Exception:  # a plugin may raise anything; its checks say what
        return DrawnPoints(0)
    return classes


def _claim(name: str, host: Host, catalog: Catalog) -> Subject:
    claims = ((s, c) for s in catalog.suites.values() for c in s.claims if c.kind == name)
    for suite, claim in claims:
        kind = claim.load(host, f"{suite.name}: claims.{claim.id}")
        methods = [method for method in suite.methods if method.name in kind.named_methods]
        of = {m.name: method_config(m, suite.tasks[0], host, where=m.name) for m in methods}
        tables = {n: as_table(config, host.risk_names) for n, config in of.items()}
        return ClaimSubject(name=name, claim=kind, configs=tables)
    made: Any = host.claim_kinds[name].load_factory()
    hints, unset = get_type_hints(made), (MISSING, MISSING)
    needed = [one.name for one in fields(made) if (one.default, one.default_factory) == unset]
    toys = {one: TOYS.get(hints[one], one) for one in needed}  # a name for a method or a metric
    with suppress(TypeError, ValueError):
        return instance(made(**toys), name)
    raise Skipped("no suite makes such a claim, nor can one be made of toys: check an instance")


def instance(what: object, name: str = "") -> Subject:
    """A risk measure, a kind of claim or a data set, as a subject, named after its class or so.

    Raises:
        UqbenchError: it is of another kind, of which every run makes one of its own.
    """
    kind = type(what)
    name = name or kind.__name__
    if isinstance(what, RiskMeasure):
        neutral: Any = None if what.neutral is None else kind(**what.neutral)
        return RiskSubject(name=name, measure=what, neutral=neutral)
    if isinstance(what, ClaimKind):
        return ClaimSubject(name=name, claim=what)
    if isinstance(what, Dataset):
        return DatasetSubject(name=name, dataset=what, scores=getattr(what, "scores", ()))
    raise UqbenchError(f"{what!r}: pass the class, not an instance: each run creates its own.")


MAKERS: dict[str, Callable[[str, Host, Catalog], Subject]] = {
    "agent": _agent,
    "environment": _environment,
    "dataset": _dataset,
    "estimator": _estimator,
    "score": lambda name, host, _: ScoreSubject(name=name, spec=host.scores[name]),
    "risk measure": lambda name, host, _: instance(host.risk_measures[name].load_config()(), name),
    "claim kind": _claim,
}
"""By kind of what is registered, in the order in which they are checked."""
