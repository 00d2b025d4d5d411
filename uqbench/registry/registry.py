"""Registries: specs of one kind by name, each with the plugin it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from uqbench.errors import unknown
from uqbench.specs import Spec

S = TypeVar("S", bound=Spec)

SLOW_SECONDS = 2.0


@dataclass(frozen=True)
class Plugin:
    """An entry point of the group ``uqbench``, and whether it loaded.

    Attributes:
        package: top-level import name, where its files are installed.
        requires: names of the distributions it depends on.
        failure: why it was left out; None if it loaded.
        seconds: time it took to load.
    """

    name: str
    distribution: str
    version: str
    package: str = ""
    requires: tuple[str, ...] = field(default=(), compare=False)
    failure: str | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def slow(self) -> str | None:
        """A warning if the plugin is slow to import, else None."""
        if self.seconds < SLOW_SECONDS:
            return None
        return (
            f"took {self.seconds:.1f} s to import, on every command; pass factories as strings "
            f"('package.module:Name'), so that libraries are imported only when a run needs them"
        )


class Registry(Mapping[str, S], Generic[S]):
    """Specs of one kind by name, each with the plugin it came from."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._specs: dict[str, S] = {}
        self._origins: dict[str, Plugin] = {}

    def check(self, specs: Iterable[S], origin: Plugin) -> None:
        """Reject a name that is taken, naming both plugins."""
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
        """Add specs that passed :meth:`check`."""
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
