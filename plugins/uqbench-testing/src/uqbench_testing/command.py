"""``uqbench plugin``: begin a plugin, and check one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from uqbench.api.options import Options
from uqbench.cli.options import Folder, load_host, takes
from uqbench.cli.terminal import print_json, say
from uqbench.contract.wording import count
from uqbench_testing.templates.render import KINDS, LEARNS_FROM_DATA, render, write

if TYPE_CHECKING:
    from uqbench_testing.conformance.check import Result


@click.group(name="plugin")
def command() -> None:
    """Begin a plugin, and check one.

    \b
    Example:
      uqbench plugin new my-method --kind agent
      pip install -e my-method
      uqbench plugin check my-method
    """


@takes(names={"kinds": "--kind"})
def new(
    name: str, *, kinds: tuple[Annotated[str, click.Choice(KINDS)], ...], to: Folder | None = None
) -> None:
    """Begin a package with one worked method, tests and a suite.

    It installs, passes its checks and has a row on a board as it is. Nothing is overwritten.

    \b
    Example:
      uqbench plugin new my-method --kind agent

    Args:
        kinds: What it adds; repeatable.
        to: Folder to make; NAME by default.
    """
    folder = to or Path(name)
    made = render(name, kinds)
    write(folder, made)
    say(*(str(folder / path) for path in made))
    suite = f"{name}-data" if set(kinds) <= LEARNS_FROM_DATA else name
    then = f"pip install -e . pytest && pytest, then uqbench run --suite {suite}"
    say(f"next: cd {folder} && {then}", err=True)


@takes("plugins", suite=False)
def check(
    options: Options,
    name: str,
    *,
    only: Annotated[str | None, "NAME"] = None,
    as_json: bool = False,
) -> int:
    """Check what is registered, or a class of a file.

    NAME is that of a plugin or its distribution, DISTRIBUTION:NAME of one thing that it registers,
    or FILE[:CLASS]. Exits with 1 if a required rule of
    conformance is broken, or if there was nothing to check.

    For a suite file (.toml), or one of tables that extend others, all names, keys and values are
    checked; what it names must be installed, or in a file of --plugin.

    \b
    Examples:
      uqbench plugin check dqn
      uqbench plugin check mine.py:Mine
      uqbench plugin check corridors.toml --plugin corridors.py

    Args:
        only: Subjects or checks whose name contains this, e.g. agent-seeds.
        as_json: Print JSON.
    """
    from uqbench.registry import local, named

    for path in options.plugins:
        local.add_file(Path(path))
    if name.endswith(".toml"):
        _say_suites(Path(name))
        return 0
    if not named.is_file(name):
        named.plugins_of(load_host(), name)  # what checks takes seconds to import
    from uqbench_testing.results import check_plugin, target

    results = check_plugin(*target(name), only or "", (lambda _: None) if as_json else _show)
    if as_json:
        print_json([result.as_json() for result in results])
    else:
        say(_summary(results))
    return 1 if any(not r.ok and r.check.level == "required" for r in results) else 0


command.add_command(new)
command.add_command(check)


def _say_suites(path: Path) -> None:
    """Check a suite file, and print what its suites have.

    Raises:
        UqbenchError: something is wrong in it.
    """
    from uqbench.registry import local
    from uqbench.suites.reading import read_suites

    local.add_file(path)
    host = load_host()
    suites, added = read_suites(host).suites, local.distribution(path)
    files = [file for file, by in host.suite_files if by.distribution == added]
    for table in (file.table for file in files if isinstance(file, local.SuiteTable)):
        for name in filter(suites.__contains__, (table.get("name"), *table.get("extend", ()))):
            suite = suites[name]
            rows = (suite.tasks, "task"), (suite.methods, "method"), (suite.claims, "claim")
            say(f"{name}: {', '.join(count(len(own), kind) for own, kind in rows)}")


def _summary(results: Sequence[Result]) -> str:
    """Counts of the checks that passed, failed and so on."""
    counts = Counter(r.status + " (why: --json)" * (r.status == "skipped") for r in results)
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


def _show(results: Sequence[Result]) -> None:
    """A subject's counts and levels, what is broken, and what waits for that."""
    from uqbench_testing.conformance.check import LEVELS

    by_level = {level: [r for r in results if r.check.level == level] for level in LEVELS}
    whole = {level: own for level, own in by_level.items() if all(r.ok for r in own)}
    reached = [of for of, own in whole.items() if any(r.status == "passed" for r in own)]
    kind, name = results[0].kind, results[0].name
    say(f"{kind} {name}: {_summary(results)}; levels reached: {', '.join(reached) or 'none'}")
    told = ("failed", "expected", "vacuous")
    for result in results:
        if result.status in told or (result.status == "passed" and result.message):
            say(*(f"  {line}" for line in str(result).splitlines()))
    waiting = Counter(r.message for r in results if r.status == "blocked")
    if waiting:
        counts = (f"{count(n, 'check')} until {id} passes" for id, n in waiting.items())
        say(f"  blocked: {', '.join(counts)}")
