"""Options that say where runs are executed, and what they may take."""

from __future__ import annotations

from typing import Any

import click

from uqbench.cli.options import assigned, options_as
from uqbench.errors import UqbenchError
from uqbench.suites.variants import toml_value

_POSITIVE = click.FloatRange(min=0, min_open=True)


def _where(values: dict[str, Any]) -> None:
    from uqbench.executor import Resources
    from uqbench.runner.dispatch.drive import Where
    from uqbench.runner.executors.limits import Limits

    cpus, memory, gpus = (values.pop(name) for name in ("cpus", "memory", "gpus_per_batch"))
    limits = (values.pop(name) for name in ("run_minutes", "run_memory", "stall_minutes"))
    texts = ",".join(values.pop("executor_config"))
    example = "KEY=VALUE, e.g. partition=gpu."
    config = assigned("--executor-config", texts.split(",") if texts else (), example)
    values["where"] = where = Where(
        executor=values.pop("executor"),
        config={key.strip(): toml_value(value) for key, value in config},
        resources=Resources(cpus=cpus or 1.0, memory_gb=memory, gpus=gpus or 0.0),
        checkpoint_seconds=values.pop("checkpoint_seconds"),
        limits=Limits(*limits),
        wait=values.pop("wait"),
    )
    if where.executor == "local" and (cpus is not None or memory is not None):
        raise UqbenchError(
            "--cpus and --memory are what a batch asks of a cluster; on this machine --workers "
            "says how many processes, and --run-memory how much a run may take."
        )
    if where.executor == "local" and where.wait is False:
        raise UqbenchError("--no-wait needs an executor whose work outlives this command.")


where_options = options_as(
    _where,
    click.option(
        "--executor",
        default="local",
        show_default=True,
        metavar="NAME",
        help="Where batches run: local, or that of a plugin (uqbench list plugins).",
    ),
    click.option(
        "--executor-config",
        "--slurm",
        "--ray",
        "executor_config",
        multiple=True,
        metavar="KEY=VALUE,…",
        help="The executor's config, e.g. --slurm partition=gpu,time=240.",
    ),
    click.option("--cpus", type=_POSITIVE, metavar="N", help="Cores a batch asks for; 1."),
    click.option("--memory", type=_POSITIVE, metavar="GB", help="Memory a batch asks for."),
    click.option(
        "--gpus-per-batch",
        type=_POSITIVE,
        metavar="X",
        help="GPUs a batch takes; 0.25 for four batches a GPU.",
    ),
    click.option(
        "--wait/--no-wait",
        default=None,
        help="Follow what was submitted to its end, or return; slurm returns by default.",
    ),
    click.option(
        "--checkpoint-seconds",
        type=click.FloatRange(min=0),
        default=60.0,
        show_default=True,
        metavar="S",
        help="Seconds between checkpoints of unfinished runs; 0 for none.",
    ),
    click.option(
        "--run-minutes",
        type=_POSITIVE,
        metavar="M",
        help="Most wall time of a run; its batch may take that times its runs.",
    ),
    click.option(
        "--run-memory",
        type=_POSITIVE,
        metavar="GB",
        help="Most memory of a run; its batch may take that times its runs.",
    ),
    click.option(
        "--stall-minutes",
        type=_POSITIVE,
        metavar="M",
        help="Longest time without progress; an estimator shows none.",
    ),
)
"""Adds the options that say where; the command receives them as ``where``."""
