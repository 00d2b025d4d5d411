"""Loggers of runs: life-cycle plugins that are off unless they are asked for.

``--log csv`` writes ``OUT/logs/RUN.csv``; ``tensorboard`` and ``wandb`` write below the same
folder, by the libraries of those names. A logger sees what the display sees, and changes nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from uqbench.errors import UqbenchError, did_you_mean
from uqbench.hookspecs import hookimpl
from uqbench.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder

LOGS = "logs"
"""Folder of all logs, below the results folder."""


class RunLog(Protocol):
    """The log of one run."""

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log metrics after ``step`` steps."""

    def close(self, scalars: Mapping[str, float | None]) -> None:
        """End the log with a run's final metrics; none of a run that failed."""


class Logger:
    """Opens a log for each run when it starts, and closes it when it ends.

    Args:
        open_log: makes the log of a run.
    """

    def __init__(self, open_log: Callable[[Run], RunLog]) -> None:
        self._open = open_log
        self._logs: dict[Run, RunLog] = {}

    @hookimpl
    def uqbench_run_started(self, run: Run) -> None:
        """Open the run's log."""
        self._close(run, {})  # it starts again
        self._logs[run] = self._open(run)

    @hookimpl
    def uqbench_run_progress(self, run: Run, step: int, metrics: Mapping[str, Any]) -> None:
        """Log the latest metrics."""
        if run in self._logs and metrics:
            self._logs[run].write(step, metrics)

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
            self._logs.pop(run).close(scalars)


class CsvLog:
    """Columns ``step``, ``metric``, ``value``; a resumed run continues its file."""

    def __init__(self, root: Path, run: Run) -> None:
        folder = Folder(root, (LOGS, "csv")).at(run.place).path
        folder.parent.mkdir(parents=True, exist_ok=True)
        path = folder.with_name(f"{folder.name}.csv")
        self._file = path.open("a", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file, lineterminator="\n")
        if self._file.seek(0, io.SEEK_END) == 0:
            self._writer.writerow(("step", "metric", "value"))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """A row a metric."""
        self._writer.writerows((step, name, repr(value)) for name, value in metrics.items())
        self._file.flush()

    def close(self, scalars: Mapping[str, float | None]) -> None:
        """Final metrics as ``final/NAME``, without a step."""
        finals = ((f"final/{name}", value) for name, value in scalars.items() if value is not None)
        self._writer.writerows(("", name, repr(value)) for name, value in finals)
        self._file.close()


class TensorBoardLog:
    """An event file in a folder of the run's own."""

    def __init__(self, root: Path, run: Run) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(Folder(root, (LOGS, "tensorboard")).at(run.place)))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """A scalar a metric."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self, scalars: Mapping[str, float | None]) -> None:
        """Final metrics as ``final/NAME``."""
        for name, value in scalars.items():
            if value is not None:
                self._writer.add_scalar(f"final/{name}", value)
        self._writer.close()


class WandbLog:
    """A run of Weights & Biases; ``WANDB_MODE=offline`` keeps it on this machine."""

    def __init__(self, root: Path, run: Run) -> None:
        import wandb

        (root / LOGS).mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=f"uqbench-{run.suite}",
            group=f"{run.budget}/{run.task}/{run.method}",
            name=str(run.folder),
            id=run.digest[:32],
            resume="allow",
            config=dict(run.identity),
            dir=str(root / LOGS),
            reinit="create_new",
        )

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One record of all metrics."""
        self._run.log(dict(metrics), step=step)

    def close(self, scalars: Mapping[str, float | None]) -> None:
        """Final metrics in the summary."""
        self._run.summary.update({f"final/{name}": value for name, value in scalars.items()})
        self._run.finish()


LOGGERS: dict[str, Callable[[Path, Run], RunLog]] = {
    "csv": CsvLog,
    "tensorboard": TensorBoardLog,
    "wandb": WandbLog,
}
NEEDS = {"tensorboard": "tensorboard", "wandb": "wandb"}
"""What a logger imports, by its name."""


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
        if name in NEEDS and find_spec(NEEDS[name]) is None:
            raise UqbenchError(
                f"--log {name} needs {NEEDS[name]}, which is not installed: "
                f"pip install 'uqbench[{name}]'."
            )
    loggers = {name: Logger(partial(LOGGERS[name], root)) for name in names}
    try:
        for name, logger in loggers.items():
            host.manager.register(logger, name=f"log {name}")
        yield
    finally:
        for name, logger in loggers.items():
            host.manager.unregister(name=f"log {name}")
            logger.close()
