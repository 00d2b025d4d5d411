"""Discovery of plugins and the registries of what they add.

The loader is ours, over ``importlib.metadata``: pluggy's own stops at the first plugin that does
not import. Here a plugin that fails is named with its reason, and everything else goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from importlib.resources.abc import Traversable
from typing import Any, Generic, TypeVar

import pluggy

from uqbench import hookspecs
from uqbench.errors import unknown
from uqbench.specs import AgentSpec, EnvironmentSpec, Spec

S = TypeVar("S", bound=Spec)


@dataclass(frozen=True)
class Plugin:
    """An entry point of the group ``uqbench`` and what became of it."""

    name: str
    distribution: str
    version: str
    failure: str | None = None


class Registry(Mapping[str, S], Generic[S]):
    """Specs of one kind by name, each with the plugin that it came from."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._specs: dict[str, S] = {}
        self._origins: dict[str, Plugin] = {}

    def check(self, specs: Iterable[S], origin: Plugin) -> None:
        """Refuse a name that is taken, naming both plugins."""
        names = [spec.name for spec in specs]
        for name in names:
            if name in self._specs or names.count(name) > 1:
                first = self._origins.get(name, origin)
                raise ValueError(
                    f"the {self.kind} {name!r} is already registered by {first.distribution} "
                    f"{first.version}; rename it in {origin.distribution} {origin.version}, "
                    f"or uninstall one of the two"
                )

    def add(self, specs: Iterable[S], origin: Plugin) -> None:
        """Add specs whose names were checked."""
        for spec in specs:
            self._specs[spec.name] = spec
            self._origins[spec.name] = origin

    def __getitem__(self, name: str) -> S:
        if name not in self._specs:
            raise unknown(self.kind, name, self._specs)
        return self._specs[name]

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._specs))

    def __len__(self) -> int:
        return len(self._specs)

    def origin(self, name: str) -> Plugin:
        """The plugin that registered ``name``."""
        return self._origins[self[name].name]


class Host:
    """Every installed plugin, loaded, and the registries that they filled."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager("uqbench")
        self.manager.add_hookspecs(hookspecs)
        self.plugins: list[Plugin] = []
        self.environments: Registry[EnvironmentSpec] = Registry("environment")
        self.agents: Registry[AgentSpec] = Registry("agent")
        self.estimators: Registry[Spec] = Registry("estimator")
        self.risk_measures: Registry[Spec] = Registry("risk measure")
        self.claim_kinds: Registry[Spec] = Registry("claim kind")
        self.suite_files: list[tuple[Traversable, Plugin]] = []
        self._registries: dict[str, Registry[Any]] = {
            "uqbench_environments": self.environments,
            "uqbench_agents": self.agents,
            "uqbench_estimators": self.estimators,
            "uqbench_risk_measures": self.risk_measures,
            "uqbench_claim_kinds": self.claim_kinds,
        }

    @classmethod
    def load(cls) -> Host:
        """Load all plugins that are installed."""
        host = cls()
        for distribution, entry_point in _entry_points():
            host.register(
                name=entry_point.name,
                distribution=distribution.name,
                version=distribution.version,
                load=entry_point.load,
            )
        return host

    def register(
        self, *, name: str, distribution: str, version: str, load: Callable[[], object]
    ) -> Plugin:
        """Load one plugin and take in what it adds, all or nothing.

        A failure becomes ``Plugin.failure``; every command reports it and goes on without it.
        """
        plugin = Plugin(name, distribution, version)
        key = f"{distribution}:{name}"
        try:
            self.manager.register(load(), name=key)
            self.manager.check_pending()
            self._take_in(plugin, key)
        except Exception as error:  # a plugin may fail in any way; the reason is kept and shown
            if self.manager.has_plugin(key):
                self.manager.unregister(name=key)
            plugin = replace(plugin, failure=f"{type(error).__name__}: {error}")
        self.plugins.append(plugin)
        return plugin

    def _take_in(self, plugin: Plugin, key: str) -> None:
        """Call the collecting hooks of one plugin; register only when all of them succeeded."""
        others = [p for name, p in self.manager.list_name_plugin() if name != key]
        hooks = self.manager.subset_hook_caller
        specs = [
            (registry, [spec for part in hooks(hook, others)() for spec in part])
            for hook, registry in self._registries.items()
        ]
        files = [path for part in hooks("uqbench_suites", others)() for path in part]
        for registry, found in specs:
            registry.check(found, plugin)
        for registry, found in specs:
            registry.add(found, plugin)
        self.suite_files += [(path, plugin) for path in files]

    def added_by(self, plugin: Plugin) -> list[str]:
        """What a plugin registered, as ``"agent dqn"``, ``"suite file minatar.toml"``."""
        specs = [
            f"{registry.kind} {name}"
            for registry in self._registries.values()
            for name in registry
            if registry.origin(name) == plugin
        ]
        return specs + [f"suite file {path.name}" for path, by in self.suite_files if by == plugin]

    @property
    def failures(self) -> list[Plugin]:
        """The plugins that could not be loaded."""
        return [plugin for plugin in self.plugins if plugin.failure]


def _entry_points() -> Iterator[tuple[metadata.Distribution, metadata.EntryPoint]]:
    """Entry points of the group, in an order that does not depend on ``sys.path``."""
    found = {
        (distribution.name, entry_point.name): (distribution, entry_point)
        for distribution in metadata.distributions()
        for entry_point in distribution.entry_points
        if entry_point.group == hookspecs.ENTRY_POINT_GROUP
    }
    for key in sorted(found, key=lambda key: (key[0] != "uqbench", key)):
        yield found[key]
