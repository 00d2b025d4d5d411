"""``uqbench submit``: finished runs in one file, for a board of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import Selection, load_host, names, out_option
from uqbench.cli.terminal import say

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host


@click.command()
@click.option("--suite", required=True, metavar="NAME", help="The suite.")
@click.option("--budget", metavar="NAME", help="The budget; the suite names the default.")
@click.option("--methods", metavar="A,B", required=True, help="The methods whose rows are sent.")
@out_option
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file; SUITE-BUDGET-METHODS.zip by default.",
)
def command(suite: str, budget: str | None, methods: str, out: Path, to: Path | None) -> int:
    """Put scores, curves, manifest, versions and conformance of methods into one file.

    Their runs must be done, with the code that is installed, and their plugins pass the required
    checks, which are made now. CONTRIBUTING.md says how the file becomes a row.

    \b
    Example:
      uqbench submit --suite minatar --budget paper --methods mine
    """
    from uqbench.boards.submission.make import involved, submit
    from uqbench.errors import UqbenchError
    from uqbench.results.store import Store
    from uqbench.testing.results import check_plugin

    host = load_host()
    chosen = names(methods) or ()
    plan = Selection(suite, budget, chosen).plan(host, "cpu")
    path = to or Path(f"{suite}-{plan.budget_name}-{'-'.join(sorted(plan.roles))[:100]}.zip")
    if path.exists():
        raise UqbenchError(f"{path} exists; nothing is overwritten: name another file with --to.")
    packages = ", ".join(plugin.distribution for plugin in involved(plan, host))
    say(f"Making the checks of {packages}: a minute or so.", err=True)

    def checks(host: Host, name: str) -> list[dict[str, str]]:
        return [result.as_json() for result in check_plugin(host, name)]

    digest = submit(plan, host, Store(out), path, checks)
    say(f"{path}: {path.stat().st_size / 1e6:.1f} MB, sha256 {digest}")
    say(f"next: uqbench verify {path} --sample 1 makes one of its runs again", err=True)
    return 0
