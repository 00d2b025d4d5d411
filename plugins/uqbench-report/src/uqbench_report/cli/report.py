"""``uqbench report``: one HTML file about a folder of results."""

from pathlib import Path

from uqbench.cli.options import File, FolderThere, takes
from uqbench.cli.terminal import say, warn


@takes()
def command(folder: FolderThere = Path("results"), *, to: File = Path("report.html")) -> int:
    """Write a report about FOLDER: results, leaderboards, or the folder of one board.

    One file that requests nothing: what each board comes to, claims of the papers, and every board
    with its figures. Open it with a browser.

    \b
    Examples:
      uqbench report
      uqbench report leaderboards --to report.html

    Args:
        to: The file to write.
    """
    from uqbench_report.report import write_report

    say(str(write_report(folder, to, warn)))
    return 0
