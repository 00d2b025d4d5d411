"""From what is registered to subjects, tried where installed suites use it.

An agent is tried on the first task of a suite that uses it, with that method's config and steps
that pass within a short run; one that no suite uses, in ``RotatingPixels``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.agent import Agent, EnvironmentInfo
from uqbench.config import as_table, at_most
from uqbench.environment import LaneEnv, TimeLimit
from uqbench.errors import unknown
from uqbench.registry.definitions import summary
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin, Registry
from uqbench.runner.train.environments import lanes_of
from uqbench.seeding import derive_seed
from uqbench.specs import imported
from uqbench.suites.configs import method_config, task_config
from uqbench.suites.reading import Catalog, read_suites
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Method, Task
from uqbench.testing.conformance.actors import ACTORS
from uqbench.testing.conformance.agent_runs import AgentSubject, MakeAgent
from uqbench.testing.conformance.check import Subject
from uqbench.testing.conformance.claims import ClaimSubject
from uqbench.testing.conformance.components import ComponentSubject
from uqbench.testing.conformance.environment_runs import EnvironmentSubject
from uqbench.testing.conformance.estimators import DatasetSubject, EstimatorSubject
from uqbench.testing.conformance.loop_agents import LoopAgentSubject
from uqbench.testing.conformance.packages import PackageSubject
from uqbench.testing.conformance.repeatability import stops_of
from uqbench.testing.conformance.risks import RiskSubject
from uqbench.testing.worlds import RotatingPixels

CPU = torch.device("cpu")
WARM_UP, SCHEDULES = 40, 120
"""Environment steps within which learning starts, and every schedule of a config has passed."""
NOWHERE = "no installed suite uses it"


def subjects(host: Host, name: str) -> list[Subject]:
    """Everything that a plugin registers, or one thing of it, as subjects.

    Args:
        host: the plugins.
        name: of the plugin: its entry point's name, or its distribution's; or
            ``DISTRIBUTION:NAME`` of one thing that it registers.

    Raises:
        UqbenchError: there is no such plugin, or it registers no such thing.
    """
    distribution, _, one = name.rpartition(":")
    plugins = [p for p in host.plugins if (distribution or name) in (p.name, p.distribution)]
    catalog, chosen = read_suites(host), one if distribution else ""
    made = [subject for plugin in plugins for subject in _of(plugin, host, catalog, chosen)]
    if not made:
        raise unknown("plugin", name, [f"{p.distribution}:{n}" for p in host.plugins
                                       for n in _names(host, p)] if distribution else
                      [plugin.name for plugin in host.plugins])  # fmt: skip
    return made


def _names(host: Host, plugin: Plugin) -> list[str]:
    return [n for registry in host.registries for n in registry if registry.origin(n) == plugin]


def _of(plugin: Plugin, host: Host, catalog: Catalog, one: str) -> Iterable[Subject]:
    if not one:
        yield _package(plugin, host, catalog)
    if plugin.failure:
        return
    expected = host.expected_failures(plugin)
    makers: list[tuple[Registry[Any], Callable[[str, Host, Catalog], Subject | None]]] = [
        (host.agents, _agent),
        (host.environments, _environment),
        (host.datasets, _dataset),
        (host.estimators, _estimator),
        (host.risk_measures, _risk),
        (host.claim_kinds, _claim),
    ]
    for registry, make in makers:
        for name in registry:
            if registry.origin(name) != plugin or one not in ("", name.rpartition(":")[2]):
                continue
            what = f"{registry.kind} {name}"
            try:
                subject = make(name, host, catalog) or ComponentSubject(name=what, problem=NOWHERE)
            except Exception as error:  # a plugin may raise anything
                subject = ComponentSubject(name=what, problem=error)
            known = {} if isinstance(subject, ComponentSubject) else expected.get(what, {})
            yield dataclasses.replace(subject, expected_failures=known)


def _package(plugin: Plugin, host: Host, catalog: Catalog) -> Subject:
    names = [
        (registry.kind, name, summary(spec))
        for registry in host.registries
        for name, spec in registry.items()
        if registry.origin(name) == plugin
    ]
    return PackageSubject(
        name=plugin.name,
        module=plugin.module,
        names=names,
        problems=[p.reason for p in catalog.problems if p.plugin == plugin],
        failure=plugin.failure,
    )


@dataclasses.dataclass(frozen=True)
class _Use:
    """Where a suite uses something; of what no suite does, a task of its own."""

    task: Task
    suite: Suite | None = None
    method: Method | None = None

    def config(self, host: Host) -> Any:
        """The method's config there."""
        assert self.suite is not None
        assert self.method is not None
        where, budget = f"{self.suite.name}: methods.{self.method.name}", self.suite.budget("smoke")
        return method_config(self.method, self.task, host, where=where, budget=("smoke", budget))

    @property
    def limit(self) -> TimeLimit | None:
        """The task's time limit."""
        limit = self.task.time_limit
        return None if limit is None else TimeLimit(limit, self.task.time_limit_is)

    def lanes(self, host: Host) -> Callable[[Sequence[int], TimeLimit | None], LaneEnv]:
        """What makes the task's environment."""
        config = task_config(self.task, host, where=self.task.name)
        spec = host.environments[str(self.task.environment)]
        return lambda seeds, limit: lanes_of(spec, config, list(seeds), limit, CPU)


def _of_method(catalog: Catalog, fits: Callable[[Method], bool]) -> _Use | None:
    """The first use of a method; the shortest config first."""
    uses = [
        _Use(task, suite, method)
        for suite in catalog.suites.values()
        for method in suite.methods
        if fits(method)
        for task in suite.tasks_of(suite.budget("smoke"))
        if method.suits(task)
    ]
    return min(uses, key=lambda use: len(use.method.config if use.method else ()), default=None)


def _of_task(catalog: Catalog, fits: Callable[[Task], bool], otherwise: Task) -> _Use:
    tasks = (
        task
        for suite in catalog.suites.values()
        for task in suite.tasks_of(suite.budget("smoke"))
        if fits(task)
    )
    return _Use(next(tasks, otherwise))


def _agent(name: str, host: Host, catalog: Catalog) -> Subject:
    spec = host.agents[name]
    make, use = spec.load_factory(), _of_method(catalog, lambda m: m.agent == name)
    if use is None:
        config, info = spec.load_config()(), RotatingPixels.info()
        world: Callable[[int, int], LaneEnv] = RotatingPixels
    else:
        config, lanes, limit = use.config(host), use.lanes(host), use.limit

        def world(lane_count: int, first: int) -> LaneEnv:
            return lanes(range(first, first + lane_count), limit)

        sample, discount = world(1, 0), float(use.task.discount or 0.0)
        info = EnvironmentInfo(sample.observation_space, sample.n_actions, discount, 10_000)
    config = at_most(config, SCHEDULES, WARM_UP)
    with_actors = dataclasses.replace(info, actors=ACTORS)

    def loop(info: EnvironmentInfo) -> LoopAgentSubject:
        return LoopAgentSubject(
            name=name,
            make=partial(make, info, config),
            world=lambda: world(info.actors, 0),
            steps=200 - 200 % info.actors,
            actors=info.actors,
        )

    if spec.owns_loop:
        several = loop(with_actors) if spec.takes_actors else None
        return dataclasses.replace(loop(info), several=several)

    def subject(info: EnvironmentInfo) -> AgentSubject:
        return AgentSubject(
            name=name,
            make=lambda seeds, device: make(info, list(seeds), config, device),
            world=world,
            info=info,
            role=spec.role,
            config=config,
            stops=stops_of(160 // info.actors, derive_seed("stops", name)),
            long=600 if info.actors == 1 else 160,
            discounted=partial(_discounted, make, info, config),
            calibrated=spec.calibrated,
            recipe=(spec.factory, info, config),
        )

    own = subject(with_actors) if spec.takes_actors else None
    return dataclasses.replace(subject(info), several=own)


def _discounted(
    make: Callable[..., Agent], info: EnvironmentInfo, config: Any, discount: float
) -> MakeAgent:
    other = dataclasses.replace(info, discount=discount)
    return lambda seeds, device: make(other, list(seeds), config, device)


def _environment(name: str, host: Host, catalog: Catalog) -> Subject:
    spec = host.environments[name]
    default = Task(name="default", environment=name, discount=0.99)
    use = _of_task(catalog, lambda task: task.environment == name, default)
    make, discount = use.lanes(host), float(use.task.discount or 0.0)
    config, factory = task_config(use.task, host, where=name), spec.load_factory()
    optimal_q, optimal_return = imported(spec.optimal_q), imported(spec.optimal_return)
    single = isinstance(make([0], None), GymnasiumLanes)
    return EnvironmentSubject(
        name=name,
        make=make,
        single=partial(factory, config) if single else None,
        events=spec.events,
        discount=discount,
        limit=use.limit,
        optimal_q=None if optimal_q is None else partial(optimal_q, config, discount),
        optimal_return=None if optimal_return is None else partial(optimal_return, config),
    )


def _dataset(name: str, host: Host, catalog: Catalog) -> Subject:
    spec, default = host.datasets[name], Task(name="default", dataset=name)
    task = _of_task(catalog, lambda task: task.dataset == name, default).task
    dataset = spec.load_factory()(task_config(task, host, where=name))
    return DatasetSubject(name=name, dataset=dataset, scores=spec.scores)


def _estimator(name: str, host: Host, catalog: Catalog) -> Subject | None:
    use = _of_method(catalog, lambda m: m.estimator == name)
    if use is None or use.suite is None:
        return None  # there is nothing that it could estimate
    make, config, task = host.estimators[name].load_factory(), use.config(host), use.task
    dataset = host.datasets[str(task.dataset)].load_factory()(task_config(task, host, where=name))
    return EstimatorSubject(
        name=name,
        make=lambda dataset, seeds: make(dataset, list(seeds), config, CPU),
        dataset=dataset,
        steps=min(use.suite.budget("smoke").on(task).steps, 50),
    )


def _risk(name: str, host: Host, _: Catalog) -> Subject:
    kind = host.risk_measures[name].load_config()
    measure = kind()
    neutral = None if measure.neutral is None else kind(**measure.neutral)
    return RiskSubject(name=name, measure=measure, neutral=neutral)


def _claim(name: str, host: Host, catalog: Catalog) -> Subject | None:
    claims = ((s, c) for s in catalog.suites.values() for c in s.claims if c.kind == name)
    for suite, claim in claims:
        kind = claim.load(host, f"{suite.name}: claims.{claim.id}")
        configs = {
            method.name: as_table(
                method_config(method, suite.tasks[0], host, where=method.name), host.risk_names
            )
            for method in suite.methods
            if method.name in kind.named_methods
        }
        return ClaimSubject(name=name, claim=kind, configs=configs)
    return None  # no suite makes such a claim
