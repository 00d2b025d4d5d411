"""``uqbench plugin``: begin a plugin, and check one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import FILE, json_option, load_host
from uqbench.cli.terminal import print_json, say
from uqbench.errors import UqbenchError
from uqbench.templates.render import KINDS, LEARNS_FROM_DATA, render, write

if TYPE_CHECKING:
    from uqbench.testing.conformance import Result, Subject


@click.group(name="plugin")
def command() -> None:
    """Begin a plugin, and check one.

    \b
    Example:
      uqbench plugin new my-method --kind agent
      uqbench plugin check my-method
    """


@command.command()
@click.argument("name")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    required=True,
    help="What it adds; repeatable.",
)
@click.option("--to", type=click.Path(path_type=Path), help="Folder to make; NAME by default.")
def new(name: str, kinds: tuple[str, ...], to: Path | None) -> None:
    """Begin a plugin: a package with one worked method, tests and a suite.

    It installs, passes its checks and has a row on a board as it is. Nothing is overwritten.

    \b
    Example:
      uqbench plugin new my-method --kind agent
    """
    folder = to or Path(name)
    made = render(name, kinds)
    write(folder, made)
    say(*(str(folder / path) for path in made))
    suites = [f"{name}-data"] if set(kinds) <= LEARNS_FROM_DATA else [name]
    say(
        f"next: cd {folder} && pip install -e . pytest && pytest, "
        f"then uqbench run --suite {suites[0]}",
        err=True,
    )


@command.command()
@click.argument("name")
@click.option("--junit", type=FILE, help="JUnit XML.")
@click.option("--only", help="Subjects or checks whose name contains this.")
@json_option
def check(name: str, junit: Path | None, only: str | None, as_json: bool) -> int:
    """Check what an installed plugin registers against the rules of docs/conformance.md.

    Exits with 1 if a required rule is broken, or if there was nothing to check.

    \b
    Example:
      uqbench plugin check dqn
    """
    from uqbench.results.files import write_output
    from uqbench.testing.conformance import report
    from uqbench.testing.conformance.whole_plugins import check_plugin

    results: list[Result] = []
    for subject, made in check_plugin(load_host(), name, only):
        results += made
        if made and not as_json:
            _show(subject, made)
    if junit is not None:
        write_output(junit, report.as_junit(results))
    if as_json:
        print_json(report.as_json(results))
    elif results:
        say(report.summary(results))
    if not results:
        raise UqbenchError(f"no check was made of the plugin {name!r}: that is a failure")
    return 1 if report.failures(results) else 0


def _show(subject: Subject, results: list[Result]) -> None:
    from uqbench.testing.conformance import report

    reached = report.levels(results)
    say(f"{subject.kind} {subject.name}: {report.summary(results)} ({', '.join(reached) or '-'})")
    for result in results:
        if not result.ok or result.status == "expected":
            say(*(f"  {line}" for line in str(result).splitlines()))
