"""``uqbench submit``: finished runs in one file, for a board of others."""

from __future__ import annotations

from pathlib import Path

import click

from uqbench.cli.options import FILE, budget_option, names, out_option, suite_option
from uqbench.cli.terminal import say, warn
from uqbench.suites.selection import Selection


@click.command()
@suite_option()
@budget_option
@click.option("--methods", metavar="A,B", required=True, help="The methods whose rows are sent.")
@out_option
@click.option("--to", type=FILE, help="The file; SUITE-BUDGET-METHODS.zip by default.")
def command(suite: str, budget: str | None, methods: str, out: Path, to: Path | None) -> int:
    """Put scores, curves, manifest, versions and conformance of methods into one file.

    Their runs must be done, with the code that is installed, and their plugins pass the required
    checks, which are made now. CONTRIBUTING.md says how the file becomes a row.

    \b
    Example:
      uqbench submit --suite minatar --budget paper --methods mine
    """
    from uqbench.api.experiment import Experiment
    from uqbench.runner.display import Terminal

    selection = Selection(suite, budget, names(methods))
    made = Experiment(selection, out, watcher=Terminal(), say=warn).submit(to)
    say(f"{made.path}: {made.path.stat().st_size / 1e6:.1f} MB, sha256 {made.digest}")
    say(f"next: uqbench verify {made.path} --sample 1 makes one of its runs again", err=True)
    return 0
