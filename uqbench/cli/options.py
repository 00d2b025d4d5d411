"""Options that several commands share, and what they select."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from uqbench.cli.terminal import warn
from uqbench.errors import UqbenchError
from uqbench.registry import load_host as plugins
from uqbench.suites import selection
from uqbench.suites.selection import Say
from uqbench.suites.variants import setting, split_outside

if TYPE_CHECKING:
    from uqbench.identity import DeviceKind
    from uqbench.registry.plugins import Host
    from uqbench.suites.plan import Plan

MOST_SEEDS = 10_000

F = TypeVar("F", bound=Callable[..., Any])

out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder of the result store.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
budget_option = click.option(
    "--budget", metavar="NAME", help="The budget; the suite names the default."
)
tasks_option = click.option("--tasks", metavar="T,U", help="Only these tasks.")
seeds_option = click.option(
    "--seeds", type=click.IntRange(1, MOST_SEEDS), metavar="N", help="Seeds 0 to N-1."
)
steps_option = click.option(
    "--steps", type=click.IntRange(min=1), metavar="N", help="Steps per run, for a trial."
)
device_option = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where to compute; auto takes a GPU if there is one.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes; one per core by default, one on a GPU.",
)


def suite_option(*, required: bool = True) -> Callable[[F], F]:
    """``--suite``."""
    return click.option("--suite", required=required, metavar="NAME", help="The suite.")


class Selection(selection.Selection):
    """Which runs of a suite a command is about."""

    def plan(self, host: Host, device: DeviceKind, say: Say = warn) -> Plan:
        """Plan the selected runs; what cannot be used of the installed suites goes to stderr."""
        return super().plan(host, device, say)


def selection_options(function: F, *, suite_required: bool = True) -> F:
    """Add the options that select runs; the command receives them as ``selection``.

    Where no suite is required, ``selection.suite`` is empty if the user named none.
    """

    def gathered(**options: Any) -> Any:
        chosen = Selection(
            suite=options.pop("suite") or "",
            budget=options.pop("budget"),
            methods=names(options.pop("methods")),
            tasks=names(options.pop("tasks")),
            seeds=_seeds(options.pop("seeds"), options.pop("seed")),
            steps=options.pop("steps"),
            settings=_settings(options.pop("settings")),
        )
        add_local(options.pop("plugins"), options.pop("suite_files"))
        return function(selection=chosen, **options)

    gathered.__doc__ = function.__doc__
    gathered.__click_params__ = list(getattr(function, "__click_params__", []))  # type: ignore[attr-defined]
    options = [
        suite_option(required=suite_required),
        budget_option,
        click.option(
            "--methods", "--agents", metavar="A,B", help="Only these methods, e.g. dqn,qr-dqn."
        ),
        tasks_option,
        seeds_option,
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            multiple=True,
            metavar="S",
            help="Exactly this seed; may be repeated.",
        ),
        steps_option,
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="METHOD.KEY=VALUE",
            help="A config value, e.g. dqn.learning_rate=1e-4; several (1e-4,3e-4) make variants.",
        ),
        click.option(
            "--plugin",
            "plugins",
            multiple=True,
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="A Python file with hooks, as a plugin that is not installed; may be repeated.",
        ),
        click.option(
            "--suite-file",
            "suite_files",
            multiple=True,
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="A TOML file with a suite, or [extend.SUITE]; may be repeated.",
        ),
    ]
    for option in reversed(options):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def add_local(plugins: Sequence[Path], suite_files: Sequence[Path]) -> None:
    """Add files as plugins of this process and of those that it starts."""
    if plugins or suite_files:
        from uqbench.registry import local

        for path in (*plugins, *suite_files):
            local.add_file(path)


def limit_options(function: F) -> F:
    """Add the limits of a run; the command receives them as ``limits``."""
    from uqbench.runner.executors.limits import Limits

    def gathered(**options: Any) -> Any:
        names = ("run_minutes", "run_memory", "stall_minutes")
        limits = Limits(*(options.pop(name) for name in names))
        limits.check()
        return function(limits=limits, **options)

    gathered.__doc__ = function.__doc__
    gathered.__click_params__ = list(getattr(function, "__click_params__", []))  # type: ignore[attr-defined]
    positive = click.FloatRange(min=0, min_open=True)
    for name, unit, text in (
        ("--stall-minutes", "M", "Longest time without progress; an estimator shows none."),
        ("--run-memory", "GB", "Most memory of a run; its batch may take that times its runs."),
        ("--run-minutes", "M", "Most wall time of a run; its batch may take that times its runs."),
    ):
        gathered = click.option(name, type=positive, metavar=unit, help=text)(gathered)
    return gathered  # type: ignore[return-value]


def load_host() -> Host:
    """Load the plugins; those that fail are named on stderr and left out."""
    return plugins.load_host(warn)


def names(text: str | None) -> tuple[str, ...] | None:
    """The names in an option such as ``--methods A,B``; None where it was not used."""
    if text is None:
        return None
    found = tuple(name.strip() for name in split_outside(text) if name.strip())
    if not found:
        raise UqbenchError("expected names separated by commas, got none.")
    return found


def _seeds(count: int | None, exact: tuple[int, ...]) -> tuple[int, ...] | None:
    if count is not None and exact:
        raise UqbenchError("--seeds N means seeds 0 to N-1, --seed S exactly S: use one of them.")
    for seed in exact:
        if exact.count(seed) > 1:
            raise UqbenchError(f"--seed {seed} appears more than once.")
    if exact:
        return exact
    return None if count is None else tuple(range(count))


def _settings(assignments: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    settings: dict[str, dict[str, Any]] = {}
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        method, dot, key = path.partition(".")
        if not (equals and dot and method and key):
            raise UqbenchError(
                f"--set {assignment}: expected METHOD.KEY=VALUE, e.g. dqn.learning_rate=0.001."
            )
        settings.setdefault(method, {})[key] = setting(value)
    return settings
