"""Options of a call: its runs, where they are stored, where and how they are executed."""

import inspect
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from uqbench.api import values
from uqbench.api.values import given, names
from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.suites.selection import Selection

if TYPE_CHECKING:
    from uqbench.runner.drive import Where


@dataclass(frozen=True)
class Options:
    """The runs of a call, where they are stored, and where and how they are executed.

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
        plugins: A Python file with hooks, or a TOML file with a suite or [extend.SUITE], as a
            plugin that is not installed; may be repeated.
        out: Folder of the result store. In Python None is one that is removed in the end.
        device: Where to compute; auto takes a GPU if there is one.
        workers: Processes; one per core by default, one on a GPU.
        executor: Where batches run: local, or that of a plugin (uqbench list plugins).
        executor_config: The executor's config, e.g. --slurm partition=gpu,time=240, with what a
            batch takes: cpus (1), memory (GB), gpus (0.25 for four batches a GPU).
        wait: Follow what was submitted to its end, or return; slurm returns by default.
        checkpoint_seconds: Seconds between checkpoints of unfinished runs; 0 for none.
        run_minutes: Wall-time limit of a run; a batch of N runs gets N times this.
        run_memory: Memory limit of a run; a batch of N runs gets N times this.
        stall_minutes: Longest time without progress; an estimator shows none.
        keep_agents: Keep the training of each run beside it: its agent, for uqbench plot RUN, and
            to judge it again.
        train_only: Train, and leave evaluation and questions to --judge, here or elsewhere.
        judge: Judge what is trained, and again what kept its training and has older scores.
    """

    suite: values.Name | None = None
    budget: values.Name | None = None
    methods: values.Methods | None = None
    tasks: values.Names | None = None
    seeds: values.Count | values.Seeds | None = None
    steps: values.Steps | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    plugins: values.Places = ()
    out: values.Place | None = "results"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    workers: values.Count | None = None
    executor: values.Name = "local"
    executor_config: Mapping[str, Any] = field(default_factory=dict)
    wait: bool | None = None
    checkpoint_seconds: values.AmountOrNone = 60.0
    run_minutes: values.Amount | None = None
    run_memory: values.Amount | None = None
    stall_minutes: values.Amount | None = None
    keep_agents: bool = False
    train_only: bool = False
    judge: bool = False

    @classmethod
    def of(cls, suite: str, budget: str | None, **named: Any) -> "Options":
        """Options by name.

        Raises:
            UqbenchError: there is none of a name; says the nearest. Or a value is wrong.
        """
        for name in named.keys() - cls.__dataclass_fields__:
            near = did_you_mean(name, cls.__dataclass_fields__)
            raise UqbenchError(f"there is no option {name!r}. {near}")
        return cls(suite, budget, **named)

    def __post_init__(self) -> None:
        """See that each value is one that its type allows.

        Raises:
            UqbenchError: one is not; says what was given and expected.
        """
        hints = get_type_hints(Options, include_extras=True)
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not one.default:
                object.__setattr__(self, one.name, given(one.name, value, hints[one.name]))
        if self.train_only and self.judge:
            raise UqbenchError("--train-only leaves to --judge what that does: use one of them.")

    @cached_property
    def selection(self) -> Selection:
        """The runs that are meant."""
        seeds = range(self.seeds) if isinstance(self.seeds, int) else self.seeds
        methods = _methods(self.methods, self.suite, self.folder)
        cells = methods, names(self.tasks), None if seeds is None else tuple(seeds)
        stage: Any = "train" if self.train_only else "judge" if self.judge else None
        how = self.settings, self.keep_agents
        return Selection(self.suite or "", self.budget, *cells, self.steps, *how, stage)

    @cached_property
    def where(self) -> "Where":
        """The place where the runs are executed, and their limits.

        Raises:
            UqbenchError: what is asked of a cluster is asked of this machine.
        """
        from uqbench.contract.executor import Resources
        from uqbench.runner.drive import Where
        from uqbench.runner.executors.limits import Limits

        config, takes = dict(self.executor_config), dict[str, float]()
        for name in config.keys() & values.OF_A_BATCH.keys():
            kind = values.OF_A_BATCH[name]
            takes[name] = given(f"executor_config: {name}", config.pop(name), kind)
        if self.executor == "local" and takes.keys() - {"gpus"}:
            raise UqbenchError(
                "cpus and memory are what a batch asks of a cluster; on this machine --workers "
                "says how many processes, and --run-memory how much a run may take."
            )
        if self.executor == "local" and self.wait is False:
            raise UqbenchError("--no-wait needs an executor whose work outlives this command.")
        resources = Resources(memory_gb=takes.pop("memory", None), **takes)
        seconds = self.checkpoint_seconds if self.out is not None else 0.0
        limits = Limits(self.run_minutes, self.run_memory, self.stall_minutes)
        return Where(self.executor, config, resources, seconds, limits, self.wait)

    @property
    def folder(self) -> Path | None:
        """The folder of the result store."""
        return None if self.out is None else Path(self.out)


def _of_file(of: type, folder: Path | None) -> str:
    """A class as ``FILE:CLASS``; one of a notebook's cell is written beside the results."""
    from uqbench.registry.cells import as_file

    try:
        file = Path(inspect.getsourcefile(of) or "")
    except (TypeError, OSError):
        file = Path()
    if not file.is_file():
        file = as_file(of, (folder or Path(tempfile.mkdtemp())) / "cells")
    return f"{file}:{of.__name__}"


def _methods(
    methods: values.Methods | None, suite: str | None, folder: Path | None
) -> tuple[str, ...] | None:
    """Names of methods; a class joins the suite."""

    def name(method: str | type) -> str:
        if isinstance(method, type):
            method = _of_file(method, folder)
        if ".py" not in method:
            return method
        from uqbench.registry.named import add, is_file

        return add(method, [suite] if suite else [])[0] if is_file(method) else method

    given = [methods] if isinstance(methods, str) else methods
    return None if given is None else tuple(map(name, given))
