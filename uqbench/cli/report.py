"""``uqbench report``: one HTML file about a folder of results."""

from __future__ import annotations

from pathlib import Path

import click

from uqbench.cli.options import FILE, FOLDER_THERE, load_host
from uqbench.cli.plot import require_plots
from uqbench.cli.terminal import say


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
    require_plots("jinja2")
    from uqbench.boards.stored import board_folders
    from uqbench.report.page import page
    from uqbench.results.files import write_output
    from uqbench.suites.reading import read_suites

    host = load_host()
    suites = read_suites(host, check=()).suites
    text, missing = page(board_folders(folder), str(folder), suites, host)
    write_output(output, text.encode())
    for line in missing:
        say(f"uqbench: not shown: {line}", err=True)
    say(str(output))
    return 0
