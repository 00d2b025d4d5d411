"""A script that does what is submitted, without submitit: to read, and to send with ``sbatch``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from uqbench.executor import Order
from uqbench.runner.executors.local import STOPPED

_OPTIONS = {
    "job_name": "job-name", "partition": "partition", "account": "account", "qos": "qos",
    "constraint": "constraint", "time": "time", "cpus_per_task": "cpus-per-task",
    "gpus_per_node": "gpus-per-node", "mem": "mem",
}  # fmt: skip
"""Options of ``sbatch`` by submitit's names for them."""


def script(orders: Sequence[Order], parameters: Mapping[str, Any], root: Path, logs: Path) -> str:
    """A job array that executes orders, each requeued until it is done.

    Args:
        orders: that need the same.
        parameters: what submitit would be told.
        root: of the store.
        logs: folder of the jobs' output.
    """
    return "\n".join(_lines(orders, parameters, root, logs)) + "\n"


def _lines(
    orders: Sequence[Order], parameters: Mapping[str, Any], root: Path, logs: Path
) -> Iterator[str]:
    most = f"%{parameters['array_parallelism']}" if "array_parallelism" in parameters else ""
    yield "#!/bin/bash"
    for name, option in _OPTIONS.items():
        if name in parameters:
            yield f"#SBATCH --{option}={parameters[name]}"
    yield f"#SBATCH --array=0-{len(orders) - 1}{most}"
    yield f"#SBATCH --signal=USR2@{parameters['signal_delay_s']}"
    yield "#SBATCH --requeue"
    yield "#SBATCH --open-mode=append"
    yield f"#SBATCH --output={logs}/%A_%a.log"
    yield ""
    yield "case $SLURM_ARRAY_TASK_ID in"
    for number, order in enumerate(orders):
        yield f"{number}) order={shlex.quote(order.model_dump_json())} ;;  # {_words(order)}"
    yield "esac"
    yield (
        f"srun {shlex.quote(sys.executable)} -P -m uqbench.runner.dispatch.node "
        f'{shlex.quote(str(root))} <<< "$order"'
    )
    yield "code=$?"
    yield f"# {STOPPED}: it was asked to stop, and has written a last checkpoint"
    yield f'if [ $code = {STOPPED} ]; then scontrol requeue "$SLURM_JOB_ID"; fi'
    yield "exit $code"


def _words(order: Order) -> str:
    """Which runs an order is about."""
    seeds: dict[str, list[str]] = {}
    for task, method, seed in order.runs.values():
        seeds.setdefault(f"{task}/{method}", []).append(str(seed))
    return " ".join(f"{cell}/{','.join(those)}" for cell, those in seeds.items())
