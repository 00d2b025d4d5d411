"""What the user may say about the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class SlurmConfig:
    """What a job asks of Slurm.

    Attributes:
        partition: as ``sbatch`` takes it; None for the cluster's default, as for those below.
        account: to be charged.
        qos: quality of service.
        constraint: features that the nodes have to have.
        time: minutes after which a job is stopped and requeued.
        signal_seconds: before that, for a last checkpoint.
        limits: how many time limits a job may reach before it ends unfinished.
        folder: of submitit's files and logs; the nodes have to share it.
        cluster: ``slurm``, or ``local`` for submitit's own executor for one machine.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    time: float = 240.0
    signal_seconds: int = 90
    limits: int = 10
    folder: str = "~/.uqbench/slurm"
    cluster: Literal["slurm", "local"] = "slurm"
