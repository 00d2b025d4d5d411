"""``uqbench report``: one HTML file about a folder of results."""

from __future__ import annotations

from pathlib import Path

import click

from uqbench.cli.options import FILE, FOLDER_THERE
from uqbench.cli.terminal import say, warn


@click.command()
@click.argument("folder", type=FOLDER_THERE, default="results")
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
def command(folder: Path, output: Path) -> int:
    """Write a report about FOLDER: results, leaderboards, or the folder of one board.

    One file that requests nothing: claims of the papers, who may be first in each suite, every
    board, method and run. Open it with a browser.

    \b
    Examples:
      uqbench report
      uqbench report leaderboards -o report.html
    """
    from uqbench.api.report import write_report

    say(str(write_report(folder, output, warn)))
    return 0
