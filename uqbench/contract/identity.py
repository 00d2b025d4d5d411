"""A run and its identity."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from uqbench.contract.seeding import derive_seed

DeviceKind = Literal["cpu", "cuda"]
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, eq=False)
class Run:
    """One (suite, budget, task, method, seed): the unit of work, of resuming and of storage.

    Two runs are equal when their identities are.

    Attributes:
        identity: everything that defines the run, as JSON values.
        known_digest: that of the identity, where it is known already.
    """

    suite: str
    budget: str
    task: str
    method: str
    seed: int
    identity: Mapping[str, Any]
    known_digest: str | None = field(default=None, repr=False)

    @cached_property
    def digest(self) -> str:
        """The sha256 of the identity."""
        return self.known_digest or digest_of(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def place(self) -> str:
        """:attr:`folder` as text, without making a path, for a hundred thousand runs."""
        leaf = f"{self.seed}-{self.digest[:8]}"
        return f"{self.suite}/{self.budget}/{self.task}/{self.method}/{leaf}"

    @cached_property
    def folder(self) -> PurePosixPath:
        """The run's folder, relative to the store's root."""
        return PurePosixPath(self.place)

    @property
    def name(self) -> str:
        """Short name for messages, ``task/method/seed``."""
        return f"{self.task}/{self.method}/{self.seed}"

    @property
    def environment_seed(self) -> int:
        """Seed by (task, seed): all methods face the same environments."""
        return derive_seed("environment", self.suite, self.task, self.seed)

    def actor_seed(self, actor: int) -> int:
        """Seed of an actor's training environment; the first one's is ``environment_seed``."""
        own = self.environment_seed
        return derive_seed("actor", own, actor) if actor else own

    @property
    def agent_seed(self) -> int:
        """Seed by (task, method, seed)."""
        return derive_seed("agent", self.suite, self.task, self.method, self.seed)

    def evaluation_seed(self, episode: int) -> int:
        """Seed by (task, seed, episode), distinct from the training seeds."""
        return derive_seed("evaluation", self.suite, self.task, self.seed, episode)

    @property
    def on_any_device(self) -> tuple[Run, ...]:
        """The run as it is, then on the other kinds of device."""
        return (*dict.fromkeys((self, *map(self.on_device, get_args(DeviceKind)))),)

    def on_device(self, device: DeviceKind) -> Run:
        """This run on another kind of device."""
        if self.identity.get("device") == device:
            return self
        return replace(self, identity={**self.identity, "device": device}, known_digest=None)


def runs_of(
    suite: str,
    budget: str,
    task: str,
    method: str,
    identity: Mapping[str, Any],
    seeds: Iterable[int],
) -> tuple[Run, ...]:
    """The runs of a method on a task, which differ in their seed alone.

    Args:
        suite: its name.
        budget: its name.
        task: its name.
        method: its name.
        identity: of the runs, without the seed.
        seeds: of the runs.
    """
    # keys are sorted: what is before the seed is hashed once, a third of the time for many runs
    before = canonical({key: value for key, value in identity.items() if key < "seed"})[:-1]
    after = canonical({key: value for key, value in identity.items() if key > "seed"})[1:]
    start = sha256((before + ("," if len(before) > 1 else "") + '"seed":').encode())
    end = (("," if len(after) > 1 else "") + after).encode()
    runs = []
    for seed in seeds:
        digest = start.copy()
        digest.update(b"%d" % seed + end)
        runs.append(
            Run(suite, budget, task, method, seed, {**identity, "seed": seed}, digest.hexdigest())
        )
    return tuple(runs)


def digest_of(table: Any) -> str:
    """The sha256 of a JSON value in canonical form: sorted keys, no spaces."""
    return sha256(canonical(table).encode()).hexdigest()


def canonical(table: Any) -> str:
    """A JSON value in canonical form."""
    return _CANONICAL.encode(table)
