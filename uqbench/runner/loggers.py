"""Loggers of runs: life-cycle plugins that are off unless they are asked for.

``--log tensorboard`` and ``--log wandb`` write below ``OUT/logs``, by the libraries of those names.
A logger sees what the display sees, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from uqbench.errors import UqbenchError, did_you_mean
from uqbench.hookspecs import hookimpl
from uqbench.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.runner import events
from uqbench.runner.events import Event

LOGS = "logs"
"""Folder of all logs, below the results folder."""


Write = Callable[[int | None, Mapping[str, float]], None]
"""Logs metrics after so many steps; final ones, as ``final/NAME``, without a step."""

OpenLog = Callable[[Path, Run], AbstractContextManager[Write]]
"""Opens the log of a run below a results folder."""


class Logger:
    """Opens a log for each run when it starts, and closes it when it ends.

    Args:
        open_log: opens the log of a run.
    """

    def __init__(self, open_log: Callable[[Run], AbstractContextManager[Write]]) -> None:
        self._open = open_log
        self._logs: dict[Run, tuple[ExitStack, Write]] = {}

    @hookimpl
    def uqbench_run_started(self, run: Run) -> None:
        """Open the run's log."""
        self._close(run, {})  # it starts again
        stack = ExitStack()
        self._logs[run] = stack, stack.enter_context(self._open(run))

    @hookimpl
    def uqbench_run_progress(self, run: Run, step: int, metrics: Mapping[str, Any]) -> None:
        """Log the latest metrics."""
        if run in self._logs and metrics:
            _, write = self._logs[run]
            write(step, metrics)

    @hookimpl
    def uqbench_run_finished(self, run: Run, scalars: Mapping[str, float | None]) -> None:
        """Close the run's log with its final metrics."""
        self._close(run, scalars)

    @hookimpl
    def uqbench_run_failed(self, run: Run, reason: str) -> None:
        """Close the run's log."""
        self._close(run, {})

    def close(self) -> None:
        """Close what is still open, as after an interrupt."""
        for run in list(self._logs):
            self._close(run, {})

    def _close(self, run: Run, scalars: Mapping[str, float | None]) -> None:
        if run in self._logs:
            stack, write = self._logs.pop(run)
            with stack:
                write(None, {f"final/{k}": v for k, v in scalars.items() if v is not None})


@contextmanager
def tensorboard_log(root: Path, run: Run) -> Iterator[Write]:
    """An event file in a folder of the run's own."""
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(Folder(root, (LOGS, "tensorboard")).at(run.place))) as writer:

        def write(step: int | None, metrics: Mapping[str, float]) -> None:
            for name, value in metrics.items():
                writer.add_scalar(name, value, step)

        yield write


@contextmanager
def wandb_log(root: Path, run: Run) -> Iterator[Write]:
    """A run of Weights & Biases; ``WANDB_MODE=offline`` keeps it on this machine."""
    import wandb

    (root / LOGS).mkdir(parents=True, exist_ok=True)
    with wandb.init(
        project=f"uqbench-{run.suite}",
        group=f"{run.budget}/{run.task}/{run.method}",
        name=str(run.folder),
        id=run.digest[:32],
        resume="allow",
        config=dict(run.identity),
        dir=str(root / LOGS),
        reinit="create_new",
    ) as logged:

        def write(step: int | None, metrics: Mapping[str, float]) -> None:
            if step is None:
                logged.summary.update(dict(metrics))
            else:
                logged.log(dict(metrics), step=step)

        yield write


LOGGERS: dict[str, OpenLog] = {"tensorboard": tensorboard_log, "wandb": wandb_log}


@contextmanager
def logging(host: Host, names: tuple[str, ...], root: Path) -> Iterator[None]:
    """Have loggers called for runs.

    Args:
        host: whose plugins they join for that time.
        names: of the loggers.
        root: the results folder.

    Raises:
        UqbenchError: there is no such logger, or what it needs is not installed.
    """
    for name in names:
        if name not in LOGGERS:
            raise UqbenchError(f"--log: there is no logger {name!r}. {did_you_mean(name, LOGGERS)}")
        if find_spec(name) is None:  # they are named like their library
            raise UqbenchError(
                f"--log {name} needs {name}, which is not installed: pip install 'uqbench[{name}]'."
            )
    with ExitStack() as stack:
        for name in names:
            logger = Logger(partial(LOGGERS[name], root))
            host.manager.register(logger, name=f"log {name}")
            stack.callback(logger.close)
            stack.callback(host.manager.unregister, logger)
        yield


def call_hooks(host: Host, event: Event) -> Iterator[str]:
    """Call the hooks that an event has; yields a message for each plugin that failed in one."""
    for run in event.batch.runs:
        match event:
            case events.Started():
                yield from host.call_hook("uqbench_run_started", run=run)
            case events.Progress():
                metrics = event.metrics.get(run.seed, {})
                yield from host.call_hook(
                    "uqbench_run_progress", run=run, step=event.step, metrics=metrics
                )
            case events.Finished():
                scalars = event.scalars.get(run.seed, {})
                yield from host.call_hook("uqbench_run_finished", run=run, scalars=scalars)
            case events.Failed():
                yield from host.call_hook("uqbench_run_failed", run=run, reason=event.reason)
