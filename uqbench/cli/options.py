"""Options that several commands share, and what they select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from uqbench.cli.terminal import warn
from uqbench.errors import UqbenchError
from uqbench.registry import load_host as plugins
from uqbench.suites.selection import Selection
from uqbench.suites.variants import setting, split_outside

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host

MOST_SEEDS = 10_000

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = click.Path(file_okay=False, path_type=Path)
FOLDER_THERE = click.Path(file_okay=False, exists=True, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FILE_THERE = click.Path(dir_okay=False, exists=True, path_type=Path)

out_option = click.option(
    "--out",
    type=FOLDER,
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


def options_as(
    gather: Callable[[dict[str, Any]], None], *options: Callable[[F], F]
) -> Callable[[F], F]:
    """A decorator that adds options to a command.

    Args:
        gather: replaces their values by what the command receives.
        options: of click.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def gathered(**values: Any) -> Any:
            gather(values)
            return function(**values)

        made = cast("F", gathered)
        for option in reversed(options):
            made = option(made)
        return made

    return decorate


def selection_options(function: F, *, suite_required: bool = True) -> F:
    """Add the options that select runs; the command receives them as ``selection``.

    Where no suite is required, ``selection.suite`` is empty if the user named none.
    """
    decorate: Callable[[F], F] = options_as(
        _select,
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
            type=FILE,
            metavar="FILE",
            help="A Python file with hooks, as a plugin that is not installed; may be repeated.",
        ),
        click.option(
            "--suite-file",
            "suite_files",
            multiple=True,
            type=FILE,
            metavar="FILE",
            help="A TOML file with a suite, or [extend.SUITE]; may be repeated.",
        ),
    )
    return decorate(function)


def _select(values: dict[str, Any]) -> None:
    plugins, suite_files = values.pop("plugins"), values.pop("suite_files")
    methods = names(values.pop("methods"))
    if methods and any(".py" in method for method in methods):
        from uqbench.registry.named import add, is_file

        joins = [values["suite"]] if values["suite"] else []
        methods = tuple(add(method, joins)[0] if is_file(method) else method for method in methods)
    values["selection"] = Selection(
        suite=values.pop("suite") or "",
        budget=values.pop("budget"),
        methods=methods,
        tasks=names(values.pop("tasks")),
        seeds=_seeds(values.pop("seeds"), values.pop("seed")),
        steps=values.pop("steps"),
        settings=_settings(values.pop("settings")),
    )
    add_local(plugins, suite_files)


def add_local(plugins: Sequence[Path], suite_files: Sequence[Path]) -> None:
    """Add files as plugins of this process and of those that it starts."""
    if plugins or suite_files:
        from uqbench.registry import local

        for path in (*plugins, *suite_files):
            local.add_file(path)


def load_host() -> Host:
    """Load the plugins; those that fail are named on stderr and left out."""
    return plugins.load_host(warn)


def names(text: str | None) -> tuple[str, ...] | None:
    """The names in an option such as ``--methods A,B``; None where it was not used."""
    if text is None:
        return None
    given = tuple(name.strip() for name in split_outside(text) if name.strip())
    if not given:
        raise UqbenchError("expected names separated by commas, got none.")
    return given


def _seeds(count: int | None, exact: tuple[int, ...]) -> tuple[int, ...] | None:
    if count is not None and exact:
        raise UqbenchError("--seeds N means seeds 0 to N-1, --seed S exactly S: use one of them.")
    for seed in exact:
        if exact.count(seed) > 1:
            raise UqbenchError(f"--seed {seed} appears more than once.")
    if exact:
        return exact
    return None if count is None else tuple(range(count))


def assigned(option: str, texts: Iterable[str], example: str) -> Iterator[tuple[str, str]]:
    """The keys and values of an option such as ``--set KEY=VALUE``.

    Raises:
        UqbenchError: one is no assignment; ``example`` says what was expected.
    """
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key):
            raise UqbenchError(f"{option} {text}: expected {example}")
        yield key, value


def _settings(assignments: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    settings: dict[str, dict[str, Any]] = {}
    example = "METHOD.KEY=VALUE, e.g. dqn.learning_rate=0.001."
    for path, value in assigned("--set", assignments, example):
        method, dot, key = path.partition(".")
        if not (dot and method and key):
            raise UqbenchError(f"--set {path}={value}: expected {example}")
        settings.setdefault(method, {})[key] = setting(value)
    return settings
