"""``uqbench report``: one HTML file about a folder of results."""

from __future__ import annotations

from pathlib import Path

import click

from uqbench.cli.options import load_host
from uqbench.cli.plot import require_plots
from uqbench.cli.terminal import say
from uqbench.errors import UqbenchError


@click.command()
@click.argument(
    "folder", type=click.Path(file_okay=False, exists=True, path_type=Path), default="results"
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
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
    from uqbench.results.files import write_data
    from uqbench.suites.reading import read_suites

    host = load_host()
    suites = read_suites(host, check=()).suites
    folders = board_folders(folder)
    if not folders:
        raise UqbenchError(
            f"{folder} has no leaderboards: expected SUITE/BUDGET/manifest.json below it. "
            f"uqbench run writes a results folder with them."
        )
    text, missing = page(folders, str(folder), suites, host)
    write_data(output, text.encode())
    for line in missing:
        say(f"uqbench: not shown: {line}", err=True)
    say(str(output))
    return 0
