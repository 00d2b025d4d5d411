"""Registries: specs of one kind by name, each with the plugin it came from."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from packaging.utils import canonicalize_name

from uqbench.contract.errors import UnknownNameError, UqbenchError, see, unknown
from uqbench.contract.specs import Spec

S = TypeVar("S", bound=Spec)

NAME = r"[a-z0-9][a-z0-9_.-]*"
"""The name of what plugins register, as suites, ``--set`` and risk measures have it."""


@dataclass(frozen=True)
class Plugin:
    """An entry point of the group ``uqbench``, and whether it loaded.

    Attributes:
        package: top-level import name, where its installed files are.
        module: that the entry point names.
        requires: names of the distributions that it depends on.
        failure: why it was left out; None where it was loaded.
        changed: global defaults that importing it changed; they were set back.
        local: sha256 of what a local plugin is; None where it is installed.
    """

    name: str
    distribution: str
    version: str
    package: str = ""
    module: str = field(default="", compare=False)
    requires: tuple[str, ...] = field(default=(), compare=False)
    failure: str | None = None
    changed: tuple[str, ...] = field(default=(), compare=False)
    local: str | None = field(default=None, compare=False)

    @property
    def shipped(self) -> bool:
        """Whether it is one of uqbench's own."""
        name = canonicalize_name(self.distribution)
        return name == "uqbench" or name.startswith("uqbench-")


@dataclass(frozen=True)
class Later:
    """A spec that is made, by importing the class that it is of, when it is looked up."""

    name: str
    make: Callable[[], Any]


class Registry(Mapping[str, S], Generic[S]):
    """Specs of one kind by name, each with the plugin that it came from.

    ``distribution:name`` always works. A bare name that several distributions claim means the one
    of uqbench's own distributions, if exactly one of those claims it; else that of the one local
    plugin, such as the file from which an installed package is made; and nothing otherwise.
    """

    def __init__(self, kind: str, spec: type[S]) -> None:
        self.kind, self._spec = kind, spec
        self._claims: dict[str, dict[str, tuple[S | Later, Plugin]]] = {}

    def check(self, specs: Iterable[S | Later], origin: Plugin) -> None:
        """Refuse another type, a name that is not valid, or that a distribution registers twice."""
        for spec in specs:
            if not isinstance(spec, self._spec | Later):
                raise TypeError(
                    f"the {self.kind} {getattr(spec, 'name', spec)!r} is a {type(spec).__name__}; "
                    f"expected a uqbench.{self._spec.__name__}"
                )
        names = [spec.name for spec in specs]
        for name in names:
            if not isinstance(name, str) or not re.fullmatch(NAME, name):
                near = re.sub(r"[^a-z0-9_.-]+", "-", str(name).strip().lower()).strip("-._")
                raise ValueError(
                    f"the {self.kind} is called {name!r}; expected lower-case letters, digits, "
                    f"'-', '_' and '.', such as {near or 'name'!r}"
                )
        own = canonicalize_name(origin.distribution)
        for name in names:
            if own in self._claims.get(name, {}) or names.count(name) > 1:
                raise ValueError(
                    f"the {self.kind} {name!r} is already registered by {origin.distribution} "
                    f"{origin.version}; rename one of the two"
                )

    def add(self, specs: Iterable[S | Later], origin: Plugin) -> None:
        """Add specs that passed :meth:`check`."""
        for spec in specs:
            own = canonicalize_name(origin.distribution)
            self._claims.setdefault(spec.name, {})[own] = spec, origin

    def __getitem__(self, name: str) -> S:
        spec, origin = self._find(name)
        if not isinstance(spec, Later):
            return spec
        try:
            made: S = spec.make()
        except Exception as error:  # a module may raise anything
            raise UqbenchError(
                f"the {self.kind} {name!r} of {origin.distribution} {origin.version} cannot be "
                f"imported: {type(error).__name__}: {error}"
            ) from error
        self._claims[spec.name][canonicalize_name(origin.distribution)] = made, origin
        return made

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._claim(name) is not None

    def __iter__(self) -> Iterator[str]:
        names = []
        for name, claims in self._claims.items():
            owner = self._claim(name)
            names += [] if owner is None else [name]
            names += [f"{d}:{name}" for d, claim in claims.items() if claim is not owner]
        return iter(sorted(names))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def origin(self, name: str) -> Plugin:
        """The plugin that registered ``name``."""
        return self._find(name)[1]

    def clashes(self, plugin: Plugin) -> list[str]:
        """Messages about names that other distributions claim too."""
        own = canonicalize_name(plugin.distribution)
        return [
            self._clash(name)
            for name, claims in sorted(self._claims.items())
            if len(claims) > 1 and own in claims and claims[own][1] == plugin
            and self._claim(name) is not claims[own]
            and not any(origin.local for _, origin in claims.values())
        ]  # fmt: skip

    def _claim(self, name: str) -> tuple[S | Later, Plugin] | None:
        distribution, colon, bare = name.rpartition(":")
        claims = self._claims.get(bare, {})
        if colon:
            return claims.get(canonicalize_name(distribution))
        shipped = [claim for claim in claims.values() if claim[1].shipped]
        local = [claim for claim in claims.values() if claim[1].local]
        owners = (shipped or local) if len(claims) > 1 else list(claims.values())
        return owners[0] if len(owners) == 1 else None

    def _find(self, name: str) -> tuple[S | Later, Plugin]:
        claim = self._claim(name)
        if claim is None:
            if name in self._claims:
                raise UnknownNameError(self._clash(name))
            raise unknown(self.kind, name, self)
        return claim

    def _clash(self, name: str) -> str:
        claims = self._claims[name]
        who = " and ".join(f"{p.distribution} {p.version}" for _, p in claims.values())
        forms = " or ".join(repr(f"{d}:{name}") for d in claims)
        owner = self._claim(name)
        whose = "is disabled" if owner is None else f"means that of {owner[1].distribution}"
        return (
            f"the {self.kind} {name!r} is claimed by {who} and {whose}: write {forms}"
            f"{see('claimed-twice')}"
        )
