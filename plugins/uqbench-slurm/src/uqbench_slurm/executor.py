"""The executor ``slurm``."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import submitit
from submitit.local.local import LocalJob
from submitit.slurm.slurm import SlurmExecutor, SlurmJob

from uqbench.errors import UqbenchError
from uqbench.executor import ExecutorContext, JobStatus, Order, Resources, order_path
from uqbench.identity import digest_of
from uqbench.results.files import read_bytes, write_data
from uqbench_slurm.config import SlurmConfig
from uqbench_slurm.job import Job, seconds_for_a_checkpoint
from uqbench_slurm.processes import interrupt, is_alive
from uqbench_slurm.script import script

HANDLE = ".slurm"
"""Ending of the file that holds the number of an order's job."""
ENDED = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "TIMEOUT",
}  # fmt: skip
"""States of a job that Slurm will not start again."""


class Slurm:
    """Jobs of a Slurm cluster.

    Args:
        context: the store, and how many jobs may run at once.
        config: what a job asks for.
    """

    def __init__(self, context: ExecutorContext, config: SlurmConfig) -> None:
        self._root, self._workers, self._config = context.root, context.workers, config
        own = digest_of(str(context.root))[:16]
        self.folder = Path(config.folder).expanduser().absolute() / own

    def submit(self, orders: Sequence[Order]) -> None:
        """Submit an array for the orders that need the same, and keep the numbers of its jobs."""
        for resources in dict.fromkeys(order.resources for order in orders):
            alike = [order for order in orders if order.resources == resources]
            stop = seconds_for_a_checkpoint(self._config.signal_seconds)
            calls = [Job(str(order.path(self._root)), stop) for order in alike]
            executor = self._executor(resources)
            try:
                with executor.batch():
                    jobs = [executor.submit(call) for call in calls]
            except (OSError, RuntimeError, ValueError) as error:
                raise UqbenchError(f"--executor slurm: {error}") from error
            for order, job in zip(alike, jobs, strict=True):
                self._keep(order.name, job.job_id)

    def alive(self, names: Collection[str]) -> Mapping[str, JobStatus]:
        """The status of each order's job, by ``sacct``."""
        return {name: self._status(self._job_id(name)) for name in names}

    def cancel(self, names: Collection[str]) -> None:
        """Cancel the orders' jobs; their workers write a last checkpoint."""
        for name in names:
            number = self._job_id(name)
            if number is None:
                continue
            if self._config.cluster == "local":
                interrupt(int(number))
            else:
                SlurmJob(self.folder, number).cancel()

    def preview(self, orders: Sequence[Order]) -> str:
        """The scripts that would be submitted."""
        texts = []
        for resources in dict.fromkeys(order.resources for order in orders):
            alike = [order for order in orders if order.resources == resources]
            asked = parameters(self._config, resources, self._workers)
            texts.append(script(alike, asked, self._root, self.folder))
        return "\n".join(texts)

    def _status(self, number: str | None) -> JobStatus:
        if number is None:
            return JobStatus(False, "it was not submitted to Slurm")
        if self._config.cluster == "local":
            done = LocalJob[Any](self.folder, number).paths.result_pickle.exists()
            return JobStatus(not done and is_alive(int(number)), f"job {number} ended")
        job: SlurmJob[Any] = SlurmJob(self.folder, number)
        state = job.state.partition(" ")[0].rstrip("+")  # "CANCELLED by 1000"
        return JobStatus(state not in ENDED, f"job {number}: {state}")

    def _executor(self, resources: Resources) -> Any:
        config = self._config
        if config.cluster == "local":
            executor = submitit.LocalExecutor(self.folder, max_num_timeout=config.limits)
            executor.update_parameters(
                timeout_min=config.time, signal_delay_s=config.signal_seconds
            )
            return executor
        try:
            executor = SlurmExecutor(self.folder, max_num_timeout=config.limits)
        except RuntimeError as error:
            raise UqbenchError(f"--executor slurm: {error}") from error
        executor.update_parameters(**parameters(config, resources, self._workers))
        return executor

    def _keep(self, name: str, number: str) -> None:
        path = order_path(self._root, name).with_suffix(HANDLE)
        write_data(path, json.dumps(number).encode())

    def _job_id(self, name: str) -> str | None:
        """The number of an order's job; None if it has none."""
        with suppress(OSError, ValueError):
            number = json.loads(read_bytes(order_path(self._root, name).with_suffix(HANDLE), 100))
            if isinstance(number, str) and re.fullmatch(r"[0-9]+(_[0-9]+)?", number):
                return number
        return None


def parameters(config: SlurmConfig, resources: Resources, workers: int | None) -> dict[str, Any]:
    """What submitit tells Slurm."""
    asked: dict[str, Any] = {
        "job_name": "uqbench",
        "partition": config.partition,
        "account": config.account,
        "qos": config.qos,
        "constraint": config.constraint,
        "time": max(1, round(config.time)),
        "signal_delay_s": config.signal_seconds,
        "cpus_per_task": max(1, round(resources.cpus)),
        "gpus_per_node": whole_gpus(resources.gpus),
        "mem": None if resources.memory_gb is None else f"{round(1024 * resources.memory_gb)}M",
        "array_parallelism": workers,
    }
    return {key: value for key, value in asked.items() if value is not None}


def whole_gpus(gpus: float) -> int | None:
    """GPUs of a job: Slurm gives whole ones.

    Raises:
        UqbenchError: it is a fraction.
    """
    if gpus != int(gpus):
        raise UqbenchError(
            f"--gpus-per-batch {gpus:g}: Slurm gives whole GPUs, or shards that a cluster names "
            f"itself; use 1."
        )
    return int(gpus) or None
