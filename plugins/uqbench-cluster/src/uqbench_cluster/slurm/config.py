"""What the user may say about the jobs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SlurmConfig:
    """What a job asks of Slurm.

    Attributes:
        partition: as ``sbatch`` takes it; None for the cluster's default, as for those below.
        account: to be charged.
        qos: quality of service.
        constraint: features that the nodes have to have.
        time: minutes, or days-hours:minutes:seconds, after which a job is stopped and requeued.
        signal_seconds: before that, for a last checkpoint.
        restarts: how often a job that was stopped for its time limit is requeued at most.
        options: further options of ``sbatch``, as on its command line: ``--gres=gpu:a100:1
            --exclude=n7``.
        setup: a line of bash before the job's own, such as ``module load cuda``.
        folder: of the jobs' logs; the nodes have to share it.
        poll_seconds: between two polls of the queue, each one ``squeue`` for all jobs.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    time: int | str = 240
    signal_seconds: int = 90
    restarts: int = 1000
    options: str = ""
    setup: str = ""
    folder: str = "~/.uqbench/slurm"
    poll_seconds: float = 60.0
