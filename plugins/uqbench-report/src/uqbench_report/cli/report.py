"""``uqbench report``: one HTML file about a folder of results."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from uqbench.cli.options import File, FolderThere, takes
from uqbench.cli.terminal import say, warn
from uqbench.results.folders import Folder


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
    from uqbench_report.report import write_report

    say(str(write_report(folder, to, warn, followed)))
    return 0


def followed(folders: Sequence[Folder]) -> Iterator[Folder]:
    """Folders one by one: one live line on a terminal's stderr, a line a minute elsewhere."""
    from rich.console import Console
    from rich.progress import track

    from uqbench.runner.display import LINE_SECONDS

    console, told = Console(stderr=True), -LINE_SECONDS
    live = track(folders, "boards", console=console, disable=not console.is_terminal)
    for k, folder in enumerate(live, start=1):
        if not console.is_terminal and time.monotonic() >= told + LINE_SECONDS:
            told = time.monotonic()
            say(f"report: board {k} of {len(folders)}", err=True)
        yield folder
