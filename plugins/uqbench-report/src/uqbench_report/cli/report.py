"""``uqbench report``: one HTML file about a folder of results."""

from functools import partial
from pathlib import Path

from uqbench.cli.options import File, FolderThere, takes
from uqbench.cli.terminal import say, warn


@takes()
def command(folder: FolderThere = Path("results"), *, to: File = Path("report.html")) -> int:
    """Write boards as one page for a browser.

    FOLDER has results, leaderboards, or one board. One file that requests nothing: what each board
    comes to, claims of the papers, and every board with its figures. Open it with a browser.

    \b
    Examples:
      uqbench report
      uqbench report leaderboards --to report.html

    Args:
        to: The file to write.
    """
    from rich.console import Console
    from rich.progress import track

    from uqbench_report.report import write_report

    console = Console(stderr=True)
    follow = partial(track, description="boards", console=console, disable=not console.is_terminal)
    say(str(write_report(folder, to, warn, follow)))
    return 0
