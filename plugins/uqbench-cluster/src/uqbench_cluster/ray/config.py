"""What the user may say about the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RayConfig:
    """Where the cluster is.

    Attributes:
        address: as ``ray.init`` takes it: ``auto`` for the cluster that this machine belongs to, or
            ``ray://host:port``. Empty: that of ``RAY_ADDRESS``, or a cluster of this machine alone,
            which ends with the command.
        options: further options of an actor, such as ``{resources={a100=1}}``.
        poll_seconds: between two looks at all tasks.
    """

    address: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    poll_seconds: float = 60.0
