"""Plugin discovery.

Entry points are loaded here, through ``importlib.metadata``, because pluggy's own loader stops at
the first plugin that fails to import. Here a failing plugin is reported with its reason, and the
others still load.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import metadata
from importlib.resources.abc import Traversable
from typing import Any

import pluggy
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from uqbench.contract import hookspecs, specs
from uqbench.contract.errors import contained, see, unknown
from uqbench.contract.wording import printed_by
from uqbench.registry import local
from uqbench.registry.classes import GROUPS, SUITES, Added, added
from uqbench.registry.contents import package_of
from uqbench.registry.registry import Plugin, Registry, S
from uqbench.registry.risk_names import MeasuresByName
from uqbench.registry.side_effects import watched

SELECTION = "UQBENCH_PLUGINS"
"""Environment variable that limits the plugins to load: entry points' names, comma-separated."""

EntryPoint = tuple[metadata.Distribution, metadata.EntryPoint]


class Host:
    """All installed plugins, loaded, and the registries they filled."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager("uqbench")
        self.manager.add_hookspecs(hookspecs)
        self.plugins: list[Plugin] = []
        self._registries: dict[str, Registry[Any]] = {}
        self.environments = self._made("environment", specs.EnvironmentSpec)
        self.datasets = self._made("dataset", specs.DatasetSpec)
        self.agents = self._made("agent", specs.AgentSpec)
        self.estimators = self._made("estimator", specs.EstimatorSpec)
        self.scores = self._made("score", specs.ScoreSpec)
        self.risk_measures = self._made("risk measure", specs.Spec)
        self.claim_kinds = self._made("claim kind", specs.Spec)
        self.board_tables = self._made("board table", specs.Spec)
        self.executors = self._made("executor", specs.ExecutorSpec)
        self.risk_names = MeasuresByName(self.risk_measures)
        self.suite_files: list[tuple[Traversable, Plugin]] = []

    def _made(self, kind: str, spec: type[S]) -> Registry[S]:
        """The registry of a kind, which the hook ``uqbench_<kind>s`` fills."""
        registry = Registry(kind, spec)
        self._registries[f"uqbench_{kind.replace(' ', '_')}s"] = registry
        return registry

    @classmethod
    def load(cls) -> Host:
        """Load all installed plugins, or only those named in ``UQBENCH_PLUGINS``.

        Raises:
            UqbenchError: ``UQBENCH_PLUGINS`` names one that is not installed.
        """
        host = cls()
        for distribution, entry_point in _chosen(list(_entry_points())):
            kind = GROUPS.get(entry_point.group) or entry_point.group.partition(".")[2]
            host.register(
                name=f"{kind} {entry_point.name}".strip(),
                distribution=distribution.name,
                version=distribution.version,
                load=partial(imported, distribution, entry_point),
                package=package_of(entry_point.module),
                module=entry_point.module if kind == "" else "",
                requires=distribution.requires or (),
            )
        for plugin, load in local.loaders():
            host.register(
                name=plugin.name,
                distribution=f"{local.PREFIX}{plugin.name}",
                version=plugin.digest[:8],
                load=load,
                package=f"{local.PREFIX}{plugin.name}",
                requires=("uqbench-lanes",),  # it may
                local_digest=plugin.digest or None,
            )
        return host

    def register(
        self,
        *,
        name: str,
        distribution: str,
        version: str,
        load: Callable[[], object],
        package: str = "",
        module: str = "",
        requires: Iterable[str] = (),
        local_digest: str | None = None,
    ) -> Plugin:
        """Load one plugin and register everything it adds, or nothing.

        A failure is stored in ``Plugin.failure``; every command reports it and continues without
        the plugin.

        Args:
            name: of the entry point.
            distribution: that the entry point belongs to.
            version: of the distribution.
            load: imports and returns the plugin.
            package: import name of what the plugin's files are in.
            module: that the entry point names.
            requires: the distribution's requirements; the one on uqbench says which contract the
                plugin is for.
            local_digest: sha256 of a local plugin; becomes part of the versions of its specs.
        """
        requirements = [Requirement(text) for text in requires]
        names = tuple(canonicalize_name(r.name) for r in requirements if _applies(r))
        plugin = Plugin(name, distribution, version, package, module, names, local=local_digest)
        key = f"{distribution}:{name}"
        changed: list[str] = []
        why: list[str] = []
        with contained(why.append, words=local.fault):  # a plugin may fail in any way
            self._check_name(plugin)
            _check_contract(requirements)
            with printed_by(f"the plugin {name!r} of {distribution}"):
                with watched(changed):
                    loaded = load()
                brings = loaded if isinstance(loaded, Added) else self._from_hooks(loaded, key)
            self._add(plugin, brings)
        if why and self.manager.has_plugin(key):
            self.manager.unregister(name=key)
        plugin = replace(plugin, failure=next(iter(why), None), changed=tuple(changed))
        self.plugins.append(plugin)
        return plugin

    def _check_name(self, plugin: Plugin) -> None:
        key = (canonicalize_name(plugin.distribution), plugin.name)
        for other in self.plugins:
            if (canonicalize_name(other.distribution), other.name) == key and not other.failure:
                raise ValueError(f"the entry point {plugin.name!r} is installed twice")

    def _from_hooks(self, loaded: object, key: str) -> Added:
        """Specs and suite files that one plugin's hooks return."""
        self.manager.register(loaded, name=key)
        self.manager.check_pending()
        if not self.manager.get_hookcallers(loaded):
            raise ValueError("nothing in it is marked with @uqbench.hookimpl")
        registered = {
            registry.kind: [spec for part in self._hook(hook, key)() for spec in part]
            for hook, registry in self._registries.items()
        }
        files = [path for part in self._hook("uqbench_suites", key)() for path in part]
        return Added(registered, files)

    def _hook(self, name: str, key: str) -> pluggy.HookCaller:
        """A hook of one plugin alone."""
        others = [p for other, p in self.manager.list_name_plugin() if other != key]
        return self.manager.subset_hook_caller(name, others)

    def _add(self, plugin: Plugin, added: Added) -> None:
        """Register what a plugin adds, or nothing."""
        marked = [
            (registry, [_marked(spec, plugin) for spec in added.specs.get(registry.kind, ())])
            for registry in self.registries
        ]
        for registry, own in marked:
            registry.check(own, plugin)
        for registry, own in marked:
            registry.add(own, plugin)
        self.suite_files += [(path, plugin) for path in added.suites]

    @property
    def registries(self) -> list[Registry[Any]]:
        """All registries."""
        return list(self._registries.values())

    def expected_failures(self, plugin: Plugin) -> dict[str, Mapping[str, str]]:
        """Reasons by check, by subject, for what a plugin says is known to fail."""
        hook = self._hook("uqbench_expected_failures", f"{plugin.distribution}:{plugin.name}")
        return {subject: reasons for part in hook() for subject, reasons in part.items()}

    def added_by(self, plugin: Plugin) -> list[str]:
        """Names of all that a plugin registered: ``"agent dqn"``, ``"suite file minatar.toml"``."""
        names = [
            f"{registry.kind} {name}"
            for registry in self._registries.values()
            for name in registry
            if registry.origin(name) == plugin
        ]
        return names + [f"suite file {path.name}" for path, by in self.suite_files if by == plugin]

    def complaints(self, plugin: Plugin) -> list[str]:
        """Faults of a loaded plugin: names that others claim too, defaults it changed."""
        clashes = [text for r in self._registries.values() for text in r.clashes(plugin)]
        if plugin.changed:
            clashes.append(
                f"importing the plugin {plugin.name!r} of {plugin.distribution} {plugin.version} "
                f"changed {', '.join(plugin.changed)}; runs begin as if it had not"
            )
        return clashes

    def measure_versions(self, config: Any, *texts: str) -> dict[str, str]:
        """Versions of the risk measures named by a config and by texts, for an identity.

        uqbench's own at version "1" are left out: the identities of existing runs, and so the
        committed boards, predate versions of measures.
        """
        versions = {}
        for name in self.risk_names.names_in(config, *texts):
            origin, version = self.risk_measures.origin(name), self.risk_measures[name].version
            if origin.distribution != "uqbench" or version != "1":
                versions[f"{canonicalize_name(origin.distribution)}:{name.rpartition(':')[2]}"] = (
                    version
                )
        return versions

    def with_requirements(self, plugins: Iterable[Plugin]) -> list[Plugin]:
        """These plugins, uqbench's own, and all plugins they depend on, but not what it brings."""
        needed = {p.distribution: p for p in self.plugins if p.distribution == "uqbench"}
        waiting = list(plugins)
        while waiting:
            plugin = waiting.pop()
            if plugin.distribution not in needed:
                needed[plugin.distribution] = plugin
                waiting += [
                    p for p in self.plugins if canonicalize_name(p.distribution) in plugin.requires
                ]
        return [needed[name] for name in sorted(needed)]

    def call_hook(self, hook: str, **arguments: Any) -> list[str]:
        """Call a life-cycle hook of every plugin; return a message for each that raises."""
        messages: list[str] = []
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            accepted = {name: arguments[name] for name in implementation.argnames}
            failed = f"the plugin {implementation.plugin_name} failed in {hook}: "
            # a failing logger must not stop the runs it logs
            with contained(messages.append, failed):
                implementation.function(**accepted)
        return messages

    @property
    def failures(self) -> list[Plugin]:
        """Plugins that could not be loaded."""
        return [plugin for plugin in self.plugins if plugin.failure]


def _marked(spec: Any, plugin: Plugin) -> Any:
    """A local plugin's spec with the digest in its version: edited code is another method."""
    if plugin.local is None:
        return spec
    return replace(spec, version=f"{spec.version}{local.MARK}{plugin.local[:8]}")


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _check_contract(requirements: Iterable[Requirement]) -> None:
    """Reject a plugin whose requirement on uqbench excludes this contract."""
    for requirement in requirements:
        if canonicalize_name(requirement.name) == "uqbench" and not requirement.specifier.contains(
            hookspecs.CONTRACT, prereleases=True
        ):
            raise ValueError(
                f"made for uqbench's contract {requirement.specifier}, but this is contract "
                f"{hookspecs.CONTRACT}; update the plugin, or install a uqbench that it supports"
                f"{see('other-contract')}"
            )


def imported(distribution: metadata.Distribution, entry_point: metadata.EntryPoint) -> object:
    """Import a plugin, which may hang, or end the process.

    It is logged (``uqbench``, level ``DEBUG``): ``uqbench doctor`` imports all in another process
    first, and names the last if that process ends or hangs.

    Raises:
        Exception: whatever its import raises.
    """
    if entry_point.group != hookspecs.ENTRY_POINT_GROUP:
        return added(entry_point)
    who = f"the plugin {entry_point.name!r} of {distribution.name} {distribution.version}"
    logging.getLogger("uqbench").debug("importing %s", who)
    return entry_point.load()


def _chosen(installed: list[EntryPoint]) -> list[EntryPoint]:
    selection = os.environ.get(SELECTION)
    if selection is None:
        return installed
    chosen = {name.strip() for name in selection.split(",") if name.strip()}
    named = [({e.name, d.name, f"{d.name}:{e.name}"}, (d, e)) for d, e in installed]
    for name in chosen:
        if not any(name in names for names, _ in named):
            known = [e.name for _, e in installed]
            raise unknown("plugin", name, known, f"{SELECTION}: this installation has")
    return [one for names, one in named if names & chosen or one[0].name == "uqbench"]


def _entry_points() -> Iterator[EntryPoint]:
    """Entry points of the groups, in an order that does not depend on ``sys.path``."""
    groups = {hookspecs.ENTRY_POINT_GROUP, SUITES, *GROUPS}
    entries = {
        (distribution.name, entry_point.group, entry_point.name): (distribution, entry_point)
        for distribution in reversed([*metadata.distributions()])  # the first is imported
        for entry_point in distribution.entry_points
        if entry_point.group in groups
    }
    for key in sorted(entries, key=lambda key: (key[0] != "uqbench", key)):
        yield entries[key]
