"""``uqbench suite``: check a suite file without running it."""

import click

from uqbench.cli.options import FileThere, load_host, takes
from uqbench.cli.terminal import say
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import count


@click.group(name="suite")
def command() -> None:
    """Check a suite file.

    \b
    Example:
      uqbench suite check corridors.toml
    """


@takes()
def check(file: FileThere) -> int:
    """Check all names, keys and values of a suite file, or of tables that extend others.

    docs/suite-keys.md lists the keys, docs/suite.schema.json tells them to an editor. The agents
    and environments that it names must be installed.

    \b
    Example:
      uqbench suite check corridors.toml
    """
    from uqbench.registry import local
    from uqbench.suites.reading import read_suites

    local.add_file(file)
    host = load_host()
    catalog = read_suites(host)
    own = [plugin for plugin in host.plugins if plugin.distribution == local.distribution(file)]
    problems = [plugin.failure for plugin in own if plugin.failure]
    problems += [problem.reason for problem in catalog.problems if problem.plugin in own]
    if problems:
        raise UqbenchError("\n".join(problems))
    files = [file.table for file, _ in host.suite_files if isinstance(file, local.SuiteTable)]
    for name in (name for table in files for name in (table.get("name"), *table.get("extend", ()))):
        if name in catalog.suites:
            suite = catalog.suites[name]
            rows = (suite.tasks, "task"), (suite.methods, "method"), (suite.claims, "claim")
            say(f"{name}: {', '.join(count(len(own), kind) for own, kind in rows)}")
    return 0


command.add_command(check)
