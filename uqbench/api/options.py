"""Which runs are meant, where they are stored, and where and how they are executed."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uqbench.contract.errors import UqbenchError
from uqbench.suites.selection import Selection

if TYPE_CHECKING:
    from uqbench.runner.dispatch.orders import Where

Place = str | PathLike[str]
"""A file or a folder."""


@dataclass(frozen=True)
class Options:
    """Which runs are meant, where they are stored, and where and how they are executed.

    The arguments of :func:`uqbench.run` and of the other calls; each is an option of the commands,
    whose help is made of the lines below.

    Attributes:
        suite: The suite.
        budget: The budget; the suite names the default.
        methods: Only these methods, e.g. dqn,qr-dqn, or of a file, mine.py:Mine.
        tasks: Only these tasks.
        seeds: Seeds 0 to N-1. In Python a sequence is exactly these seeds.
        steps: Steps per run, for a trial.
        settings: A config value, e.g. dqn.learning_rate=1e-4; several (1e-4,3e-4) make variants.
            In Python: values by method, {"dqn": {"learning_rate": 1e-4}}.
        plugins: A Python file with hooks, as a plugin that is not installed; may be repeated.
        suite_files: A TOML file with a suite, or [extend.SUITE]; may be repeated.
        out: Folder of the result store. In Python None is one that is removed in the end.
        device: Where to compute; auto takes a GPU if there is one.
        workers: Processes; one per core by default, one on a GPU.
        executor: Where batches run: local, or that of a plugin (uqbench list plugins).
        executor_config: The executor's config, e.g. --slurm partition=gpu,time=240.
        cpus: Cores a batch asks of a cluster; 1.
        memory: Memory a batch asks of a cluster.
        gpus_per_batch: GPUs a batch takes; 0.25 for four batches a GPU.
        wait: Follow what was submitted to its end, or return; slurm returns by default.
        checkpoint_seconds: Seconds between checkpoints of unfinished runs; 0 for none.
        run_minutes: Wall-time limit of a run; a batch of N runs gets N times this.
        run_memory: Memory limit of a run; a batch of N runs gets N times this.
        stall_minutes: Longest time without progress; an estimator shows none.
        keep_agents: Store the final state of each agent beside its run, for uqbench play.
    """

    suite: str = ""
    budget: str | None = None
    methods: Sequence[str | type] | str | None = None
    tasks: Sequence[str] | str | None = None
    seeds: int | Sequence[int] | None = None
    steps: int | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    plugins: Sequence[Place] = ()
    suite_files: Sequence[Place] = ()
    out: Place | None = "results"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    workers: int | None = None
    executor: str = "local"
    executor_config: Mapping[str, Any] = field(default_factory=dict)
    cpus: float | None = None
    memory: float | None = None
    gpus_per_batch: float = 0.0
    wait: bool | None = None
    checkpoint_seconds: float = 60.0
    run_minutes: float | None = None
    run_memory: float | None = None
    stall_minutes: float | None = None
    keep_agents: bool = False

    @cached_property
    def selection(self) -> Selection:
        """The runs that are meant.

        Raises:
            UqbenchError: a number is not positive, or a seed is twice there.
        """
        steps, seeds = self.steps, self.seeds
        if steps is not None and steps < 1:
            raise UqbenchError(f"steps={steps}: expected at least one.")
        if isinstance(seeds, int):
            if seeds < 1:
                raise UqbenchError(f"seeds={seeds}: expected at least one; seeds=[0] means seed 0.")
            seeds = range(seeds)
        if seeds is not None and (len(set(seeds)) != len(seeds) or any(seed < 0 for seed in seeds)):
            raise UqbenchError(f"seeds={list(seeds)}: expected different numbers from 0 on.")
        return Selection(
            self.suite,
            self.budget,
            _methods(self.methods, self.suite),
            names(self.tasks),
            None if seeds is None else tuple(seeds),
            steps,
            self.settings or {},
            self.keep_agents,
        )

    @cached_property
    def where(self) -> "Where":
        """Where the runs are executed, and what they may take.

        Raises:
            UqbenchError: what is asked of a cluster is asked of this machine.
        """
        from uqbench.contract.executor import Resources
        from uqbench.runner.dispatch.orders import Where
        from uqbench.runner.executors.limits import Limits

        if self.executor == "local" and (self.cpus is not None or self.memory is not None):
            raise UqbenchError(
                "--cpus and --memory are what a batch asks of a cluster; on this machine --workers "
                "says how many processes, and --run-memory how much a run may take."
            )
        if self.executor == "local" and self.wait is False:
            raise UqbenchError("--no-wait needs an executor whose work outlives this command.")
        return Where(
            self.executor,
            self.executor_config or {},
            Resources(cpus=self.cpus or 1.0, memory_gb=self.memory, gpus=self.gpus_per_batch),
            self.checkpoint_seconds if self.out is not None else 0.0,
            Limits(self.run_minutes, self.run_memory, self.stall_minutes),
            self.wait,
        )

    @property
    def folder(self) -> Path | None:
        """The folder of the result store."""
        return None if self.out is None else Path(self.out)


def _of_file(of: type) -> str:
    """A class as ``FILE:CLASS``."""
    try:
        file = Path(inspect.getsourcefile(of) or "")
    except (TypeError, OSError):  # a class of a notebook's cell is of no file
        file = Path()
    if not file.is_file():
        raise UqbenchError(
            f"methods: {of.__name__} is of no file; expected a class of one, as of a notebook's "
            f"cell that begins with '%%writefile mine.py': methods=['mine.py:{of.__name__}']."
        )
    return f"{file}:{of.__name__}"


def _methods(methods: Sequence[str | type] | str | None, suite: str) -> tuple[str, ...] | None:
    """Names of methods; a class of a file joins the suite."""

    def name(method: str | type) -> str:
        if isinstance(method, type):
            method = _of_file(method)
        if ".py" not in method:
            return method
        from uqbench.registry.named import add, is_file

        return add(method, [suite] if suite else [])[0] if is_file(method) else method

    given = [methods] if isinstance(methods, str) else methods
    return None if given is None else tuple(map(name, given))


def names(given: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """One name or several, as several."""
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)
