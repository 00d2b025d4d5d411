"""The executor ``slurm``: ``sbatch``, ``squeue``, ``scancel`` and ``scontrol``."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

from uqbench.contract.errors import UqbenchError
from uqbench.contract.executor import ORDERS, ExecutorContext, JobState, JobStatus, Order, Resources
from uqbench.results.folders import Folder
from uqbench.runner.executors.local import STOPPED
from uqbench_cluster.slurm.config import SlurmConfig

HANDLE = ".slurm"
"""Ending of the file that holds the number of an order's job."""
AGAIN = (STOPPED, 128 + signal.SIGTERM, 128 + signal.SIGUSR2)
"""Exit codes of a worker that was asked to stop; the last two before it could hear that."""
STATES = dict.fromkeys(("PENDING", "CONFIGURING", "REQUEUE_HOLD", "SPECIAL_EXIT"), JobState.WAITING)
RESTARTING = ("NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REQUEUED", "REQUEUE_FED")
ENDED = ("CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "TIMEOUT")
STATES |= dict.fromkeys(RESTARTING, JobState.RESTARTING) | dict.fromkeys(ENDED, JobState.ENDED)
"""By Slurm's names; a job in any other state has its nodes."""


SCRIPT = Template(Path(__file__).with_name("job.sh").read_text("utf-8"))
"""Script of a job array."""


class Slurm:
    """Jobs of a Slurm cluster, each an element of an array.

    Args:
        context: the store, and how many jobs may run at once.
        config: what a job asks for.
    """

    def __init__(self, context: ExecutorContext, config: SlurmConfig) -> None:
        self._root, self._workers, self._config = context.root, context.workers, config
        self._orders = Folder(context.root, (ORDERS,))
        self._logs = Path(config.folder).expanduser().absolute()
        self.poll_seconds = config.poll_seconds

    def submit(self, orders: Sequence[Order]) -> None:
        """Submit arrays of the orders that need the same, and store the numbers of their jobs."""
        self._logs.mkdir(parents=True, exist_ok=True)
        for own in _arrays(orders):
            number, *_ = _call("sbatch", "--parsable", given=self._script(own)).split(";")
            for element, order in enumerate(own):
                job = f"{number.strip()}_{element}"
                self._orders.write(f"{order.name}{HANDLE}", job.encode())

    def preview(self, orders: Sequence[Order]) -> str:
        """The scripts that would be submitted."""
        return "\n".join(map(self._script, _arrays(orders)))

    def status(self, names: Collection[str]) -> Mapping[str, JobStatus]:
        """The status of each order's job, by one ``squeue`` for all of them."""
        jobs = {name: self._job_id(name) for name in names}
        every = "--me --array --noheader --states=all"
        try:
            text = _call("squeue", *every.split(), "-o", "%i|%T|%r")
        except UqbenchError as error:
            return dict.fromkeys(names, JobStatus(JobState.UNKNOWN, str(error)))
        seen = dict(line.split("|", 1) for line in text.splitlines() if "|" in line)
        return {name: self._status(job, seen.get(job or "")) for name, job in jobs.items()}

    def _status(self, job: str | None, shown: str | None) -> JobStatus:
        """The status of a job, by its state and reason as ``squeue`` shows them."""
        if job is None:
            return JobStatus(JobState.ENDED, "it was not submitted to Slurm")
        log, (name, _, reason) = self._logs / f"{job}.log", (shown or "").partition("|")
        state = STATES.get(name, JobState.RUNNING) if shown else JobState.ENDED
        if state is not JobState.ENDED:
            return JobStatus(state, f"{name} ({reason})" if reason != "None" else name)
        seen = f"see {log}" if log.exists() else f"no {log}: do the nodes share that folder?"
        return JobStatus(state, f"job {job}: {name or 'no longer in the queue'}; {seen}")

    def cancel(self, names: Collection[str]) -> None:
        """Cancel the orders' jobs; their workers write a last checkpoint."""
        jobs = [job for name in names if (job := self._job_id(name)) is not None]
        if jobs:
            _call("scancel", *jobs)

    def _script(self, orders: Sequence[Order]) -> str:
        """A job array; what is stopped in time is requeued until it is done."""
        config = self._config
        asked = (f"--{name}={value}" for name, value in _asked(config, orders[0].resources))
        seconds = max(config.signal_seconds / 2, config.signal_seconds - 10)
        return SCRIPT.substitute(
            asked="".join(f"#SBATCH {option}\n" for option in asked),
            last=len(orders) - 1,
            most=f"%{self._workers}" if self._workers else "",
            signal=config.signal_seconds,
            logs=self._logs,
            options="".join(f"#SBATCH {option}\n" for option in shlex.split(config.options)),
            orders="".join(f"  {order.name}  # {_words(order)}\n" for order in orders),
            setup=config.setup,
            python=shlex.quote(sys.executable),
            folder=shlex.quote(str(self._root / ORDERS)),
            seconds=f"{seconds:g}",
            stopped=STOPPED,
            again="|".join(map(str, AGAIN)),
            restarts=config.restarts,
        )

    def _job_id(self, name: str) -> str | None:
        """The number of an order's job; None if it has none."""
        with suppress(OSError, ValueError):
            job = self._orders.read(f"{name}{HANDLE}", 100).decode()
            if re.fullmatch(r"[0-9]+_[0-9]+", job):
                return job
        return None


def _arrays(orders: Sequence[Order]) -> Iterator[list[Order]]:
    """Orders that need the same, at most as many as the cluster lets an array have jobs."""
    config = _call("scontrol", "show", "config") if orders else ""
    most = int((re.search(r"MaxArraySize += (\d+)", config) or ["", "1001"])[1]) - 1
    for resources in dict.fromkeys(order.resources for order in orders):
        alike = [order for order in orders if order.resources == resources]
        for first in range(0, len(alike), most):
            yield alike[first : first + most]


def _asked(config: SlurmConfig, resources: Resources) -> Iterator[tuple[str, object]]:
    """Options of ``sbatch``."""
    if resources.gpus != int(resources.gpus):
        raise UqbenchError(
            f"gpus={resources.gpus:g}: Slurm gives whole GPUs, or shards that a "
            f"cluster names itself; use 1."
        )
    yield "job-name", "uqbench"
    for name in ("partition", "account", "qos", "constraint", "time"):
        if (value := getattr(config, name)) is not None:
            yield name, value
    yield "cpus-per-task", max(1, round(resources.cpus))
    if resources.gpus:
        yield "gpus-per-node", int(resources.gpus)
    if resources.memory_gb is not None:
        yield "mem", f"{round(1024 * resources.memory_gb)}M"


def _words(order: Order) -> str:
    """Which runs an order is about."""
    seeds: dict[str, list[str]] = {}
    for task, method, seed in order.runs.values():
        seeds.setdefault(f"{task}/{method}", []).append(str(seed))
    return " ".join(f"{cell}/{','.join(those)}" for cell, those in seeds.items())


def _call(*command: str, given: str = "") -> str:
    """What one of Slurm's commands prints; raises what it complains about."""
    try:
        done = subprocess.run(
            command, input=given, text=True, capture_output=True, check=True, timeout=120
        )
    except FileNotFoundError as error:
        raise UqbenchError(f"--executor slurm: there is no {command[0]} here.") from error
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", None) or error).strip()
        raise UqbenchError(f"--executor slurm: {command[0]}: {said}") from error
    return done.stdout
