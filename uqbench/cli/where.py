"""Options that say where runs are executed, and what they may take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from uqbench.cli.options import limit_options
from uqbench.errors import UqbenchError
from uqbench.suites.variants import toml_value

F = TypeVar("F", bound=Callable[..., Any])


def where_options(function: F) -> F:
    """Add the options that say where; the command receives them as ``where``."""

    def gathered(**options: Any) -> Any:
        from uqbench.executor import Resources
        from uqbench.runner.dispatch.drive import Where

        cpus, memory, gpus = (options.pop(k) for k in ("cpus", "memory", "gpus_per_batch"))
        where = Where(
            executor=options.pop("executor"),
            config=_config(options.pop("executor_config")),
            resources=Resources(cpus=cpus or 1.0, memory_gb=memory, gpus=gpus or 0.0),
            checkpoint_seconds=options.pop("checkpoint_seconds"),
            limits=options.pop("limits"),
            wait=options.pop("wait"),
        )
        if where.executor == "local" and (cpus is not None or memory is not None):
            raise UqbenchError(
                "--cpus and --memory are what a batch asks of a cluster; on this machine --workers "
                "says how many processes, and --run-memory how much a run may take."
            )
        if where.executor == "local" and where.wait is False:
            raise UqbenchError("--no-wait needs an executor whose work outlives this command.")
        return function(where=where, **options)

    gathered.__doc__ = function.__doc__
    gathered.__click_params__ = list(getattr(function, "__click_params__", []))  # type: ignore[attr-defined]
    positive = click.FloatRange(min=0, min_open=True)
    options = [
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
        click.option("--cpus", type=positive, metavar="N", help="Cores a batch asks for; 1."),
        click.option("--memory", type=positive, metavar="GB", help="Memory a batch asks for."),
        click.option(
            "--gpus-per-batch",
            type=positive,
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
    ]
    gathered = limit_options(gathered)
    for option in reversed(options):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def _config(texts: tuple[str, ...]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for assignment in ",".join(texts).split(",") if texts else ():
        key, equals, value = assignment.partition("=")
        if not (equals and key):
            raise UqbenchError(
                f"--executor-config {assignment}: expected KEY=VALUE, e.g. partition=gpu."
            )
        config[key.strip()] = toml_value(value)
    return config
