"""From what an installed plugin registers to subjects, tried where its own suites use it.

An agent is tried on the first task of a suite that uses it, with that method's config and a
learning that starts early; one that no suite uses, in ``RotatingPixels``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.config import as_table, scaled, warm_up_steps
from uqbench.environment import LaneEnv, TimeLimit
from uqbench.errors import unknown
from uqbench.registry.definitions import summary
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin, Registry
from uqbench.runner.train.environments import lanes_of
from uqbench.seeding import derive_seed
from uqbench.specs import EnvironmentSpec, truth
from uqbench.suites.configs import method_config, task_config
from uqbench.suites.reading import Catalog, read_suites
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Method, Task
from uqbench.testing.conformance.actors import ACTORS
from uqbench.testing.conformance.agent_runs import AgentSubject
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
EARLY = 40
"""Steps after which learning starts."""


def subjects(host: Host, name: str) -> list[Subject]:
    """Everything that a plugin registers, as subjects.

    Args:
        host: the plugins.
        name: of the plugin: its entry point's name, or its distribution's.

    Raises:
        UqbenchError: there is no such plugin.
    """
    plugins = [p for p in host.plugins if name in (p.name, p.distribution)]
    if not plugins:
        raise unknown("plugin", name, [plugin.name for plugin in host.plugins])
    catalog = read_suites(host)
    return [subject for plugin in plugins for subject in _of(plugin, host, catalog)]


def _of(plugin: Plugin, host: Host, catalog: Catalog) -> Iterable[Subject]:
    yield _package(plugin, host, catalog)
    if plugin.failure:
        return
    expected = host.expected_failures(plugin)

    def made(
        registry: Registry[Any], make: Callable[[str, Host, Catalog], Subject | None]
    ) -> Iterable[Subject]:
        for name in registry:
            if registry.origin(name) == plugin:
                known = expected.get(f"{registry.kind} {name}", {})
                try:
                    subject = make(name, host, catalog)
                except Exception as error:  # a plugin may raise anything
                    yield ComponentSubject(name=f"{registry.kind} {name}", problem=error)
                    continue
                if subject is None:
                    reason = "no installed suite uses it"
                    yield ComponentSubject(name=f"{registry.kind} {name}", problem=reason)
                else:
                    yield dataclasses.replace(subject, expected_failures=known)

    yield from made(host.agents, _agent)
    yield from made(host.environments, _environment)
    yield from made(host.datasets, _dataset)
    yield from made(host.estimators, _estimator)
    yield from made(host.risk_measures, _risk)
    yield from made(host.claim_kinds, _claim)


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
        distribution=plugin.distribution,
        names=names,
        problems=[p.reason for p in catalog.problems if p.plugin == plugin],
        failure=plugin.failure,
    )


def _uses(catalog: Catalog, fits: Callable[[Task], bool]) -> Iterable[Task]:
    for suite in catalog.suites.values():
        for task in suite.tasks_of(suite.budget("smoke")):
            if fits(task):
                yield task


def _agent(name: str, host: Host, catalog: Catalog) -> Subject:
    spec = host.agents[name]
    make = spec.load_factory()
    suite, task, method = _method(catalog, lambda m: m.agent == name)
    if task is None or suite is None or method is None:
        config = _early(spec.load_config()())
        world: Callable[[int, int], LaneEnv] = RotatingPixels
        info = RotatingPixels.info()
    else:
        budget = ("smoke", suite.budget("smoke"))
        where = f"{suite.name}: methods.{method.name}"
        config = method_config(method, task, host, where=where, budget=budget)
        config = _early(config)
        lanes = _lanes_of(host.environments[str(task.environment)], task, host)
        limit = _limit(task)

        def world(lane_count: int, first: int) -> LaneEnv:
            return lanes(range(first, first + lane_count), limit)

        sample = world(1, 0)
        discount = float(task.discount or 0.0)
        info = EnvironmentInfo(sample.observation_space, sample.n_actions, discount, 10_000)
    if spec.owns_loop:
        return LoopAgentSubject(
            name=name, make=partial(make, info, config), world=lambda: world(1, 0)
        )

    def subject(info: EnvironmentInfo) -> AgentSubject:
        return AgentSubject(
            name=name,
            make=lambda seeds, device: make(info, list(seeds), config, device),
            world=world,
            info=info,
            role=spec.role,
            config=config,
            stops=stops_of(160 // info.actors, derive_seed("stops", name)),
            planted=(partial(_planted, make, info, config) if spec.calibrated else None),
            recipe=(spec.factory, info, config),
        )

    several = subject(dataclasses.replace(info, actors=ACTORS)) if spec.takes_actors else None
    return dataclasses.replace(subject(info), several=several)


def _planted(make: Callable[..., Agent], info: EnvironmentInfo, config: Any, seeds: Any) -> Agent:
    return make(dataclasses.replace(info, discount=0.0), list(seeds), config, CPU)


def _method(
    catalog: Catalog, fits: Callable[[Method], bool]
) -> tuple[Suite | None, Task | None, Method | None]:
    """The first suite, task and method where something is used; the shortest config first."""
    uses = [
        (suite, task, method)
        for suite in catalog.suites.values()
        for method in suite.methods
        if fits(method)
        for task in suite.tasks_of(suite.budget("smoke"))
        if method.suits(task)
    ]
    return min(uses, key=lambda use: len(use[2].config)) if uses else (None, None, None)


def _early(config: Any) -> Any:
    """The config with a learning that starts, and targets that are synced, within a short run."""
    starts = warm_up_steps(config)
    return scaled(config, EARLY / starts) if starts > EARLY else config


def _limit(task: Task) -> TimeLimit | None:
    return None if task.time_limit is None else TimeLimit(task.time_limit, task.time_limit_is)


def _lanes_of(
    spec: EnvironmentSpec, task: Task, host: Host
) -> Callable[[Sequence[int], TimeLimit | None], LaneEnv]:
    config = task_config(task, host, where=task.name)
    return lambda seeds, limit: lanes_of(spec, config, list(seeds), limit, CPU)


def _environment(name: str, host: Host, catalog: Catalog) -> Subject:
    spec = host.environments[name]
    used = _uses(catalog, lambda task: task.environment == name)
    task = next(iter(used), None)
    if task is None:
        task = Task(name="default", environment=name, discount=0.99)
    config, discount = task_config(task, host, where=name), float(task.discount or 0.0)
    factory = spec.load_factory()
    optimal_q, optimal_return = truth(spec.optimal_q), truth(spec.optimal_return)
    return EnvironmentSubject(
        name=name,
        make=_lanes_of(spec, task, host),
        single=None if spec.lanes or spec.vector else partial(factory, config),
        events=spec.events,
        discount=discount,
        limit=_limit(task),
        optimal_q=None if optimal_q is None else partial(optimal_q, config, discount),
        optimal_return=None if optimal_return is None else partial(optimal_return, config),
    )


def _dataset(name: str, host: Host, catalog: Catalog) -> Subject:
    spec = host.datasets[name]
    used = _uses(catalog, lambda task: task.dataset == name)
    task = next(iter(used), Task(name="default", dataset=name))
    dataset = spec.load_factory()(task_config(task, host, where=name))
    return DatasetSubject(name=name, dataset=dataset, scores=spec.scores)


def _estimator(name: str, host: Host, catalog: Catalog) -> Subject | None:
    suite, task, method = _method(catalog, lambda m: m.estimator == name)
    if suite is None or task is None or method is None:
        return None  # there is nothing that it could estimate
    make = host.estimators[name].load_factory()
    budget = suite.budget("smoke")
    config = method_config(method, task, host, where=name, budget=("smoke", budget))
    dataset = host.datasets[str(task.dataset)].load_factory()(task_config(task, host, where=name))
    return EstimatorSubject(
        name=name,
        make=lambda dataset, seeds: make(dataset, list(seeds), config, CPU),
        dataset=dataset,
        steps=min(budget.on(task).steps, 50),
    )


def _risk(name: str, host: Host, _: Catalog) -> Subject:
    kind = host.risk_measures[name].load_config()
    measure = kind()
    neutral: Mapping[str, float] | None = measure.neutral
    return RiskSubject(
        name=name, measure=measure, neutral=None if neutral is None else kind(**neutral)
    )


def _claim(name: str, host: Host, catalog: Catalog) -> Subject | None:
    for suite in catalog.suites.values():
        for claim in suite.claims:
            if claim.kind == name:
                kind = claim.load(host, f"{suite.name}: claims.{claim.id}")
                known = {method.name: method for method in suite.methods}
                configs = {
                    method: as_table(
                        method_config(known[method], suite.tasks[0], host, where=method),
                        host.risk_names,
                    )
                    for method in kind.named_methods
                    if method in known
                }
                return ClaimSubject(name=name, claim=kind, configs=configs)
    return None  # no suite makes such a claim
