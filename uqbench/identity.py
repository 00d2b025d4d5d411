"""A run and its identity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Literal

from uqbench.seeding import derive_seed

DeviceKind = Literal["cpu", "cuda"]


@dataclass(frozen=True, eq=False)
class Run:
    """One (suite, budget, task, method, seed): the unit of work, of resuming and of storage.

    Two runs are equal when their identities are.

    Attributes:
        identity: everything that defines the run, as JSON values.
    """

    suite: str
    budget: str
    task: str
    method: str
    seed: int
    identity: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """The sha256 of the identity."""
        return digest_of(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def folder(self) -> PurePosixPath:
        """The run's folder, relative to the store's root."""
        leaf = f"{self.seed}-{self.digest[:8]}"
        return PurePosixPath(self.suite, self.budget, self.task, self.method, leaf)

    @property
    def name(self) -> str:
        """Short name for messages, ``task/method/seed``."""
        return f"{self.task}/{self.method}/{self.seed}"

    @property
    def environment_seed(self) -> int:
        """From (task, seed): all methods face the same environments."""
        return derive_seed("environment", self.suite, self.task, self.seed)

    @property
    def agent_seed(self) -> int:
        """From (task, method, seed)."""
        return derive_seed("agent", self.suite, self.task, self.method, self.seed)

    def evaluation_seed(self, episode: int) -> int:
        """From (task, seed, episode), distinct from the training seeds."""
        return derive_seed("evaluation", self.suite, self.task, self.seed, episode)

    def on_device(self, device: DeviceKind) -> Run:
        """The same run as it would be on another kind of device."""
        return replace(self, identity={**self.identity, "device": device})


def digest_of(table: Any) -> str:
    """The sha256 of a JSON value in canonical form: sorted keys, no spaces."""
    text = json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()
