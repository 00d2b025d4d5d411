"""What the user may say about the cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RayConfig:
    """Where the cluster is.

    Attributes:
        address: as ``ray.init`` takes it: ``auto`` for the cluster that this machine belongs to, or
            ``ray://host:port``. Empty: that of ``RAY_ADDRESS``, or a cluster of this machine alone,
            which ends with the command.
        poll_seconds: between two looks at all tasks.
    """

    address: str = ""
    poll_seconds: float = 60.0
