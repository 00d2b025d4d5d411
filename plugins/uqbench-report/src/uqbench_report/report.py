"""``uqbench.write_report``: one HTML file about results, leaderboards, or a single board."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from uqbench.api.values import Place, given
from uqbench.boards.stored import board_folders
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.registry.load_host import load_host
from uqbench.results.files import write_data
from uqbench.results.folders import Folder
from uqbench.suites.reading import read_suites


def write_report(
    folder: Place,
    output: Place = "report.html",
    say: Say = warn,
    follow: Callable[[Sequence[Folder]], Iterable[Folder]] = iter,
) -> Path:
    """Write a report: one file that requests nothing, to be opened with a browser.

    Args:
        folder: of results, of leaderboards, or of one board.
        output: the file to write; ``.html`` is added to a new name without an ending.
        say: called with the boards that are damaged and the plugins that failed.
        follow: gives the boards' folders one by one, and may show how far they are.

    Returns:
        The file that was written.

    Raises:
        UqbenchError: a board is damaged, or the output is another's file or no regular one.

    Example:
        >>> import uqbench
        >>> uqbench.write_report("results", "report.html")  # doctest: +SKIP
    """
    folder, output = given("folder", folder, Place), given("output", output, Place)
    from uqbench_report.explorer.page import Explorer

    folders = board_folders(Path(folder))
    if not folders:
        raise UqbenchError(
            f"{folder} has no leaderboards: expected a folder of results, of leaderboards "
            f"(SUITE/BUDGET/manifest.json), or of one board. uqbench run makes one."
        )
    host = load_host()
    explorer = Explorer(folders, read_suites(host, check=()).suites, host, follow=follow)
    path = Path(output)
    path = path if path.suffix or path.exists() else path.with_suffix(".html")
    write_output(path, explorer.file().encode())
    for problem in explorer.problems:
        say(f"uqbench: {problem}")
    return path


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user names: a new one, or a regular one of their own.

    Raises:
        UqbenchError: it is a link, a folder, a pipe, a device, or somebody else's.
        StorageError: it cannot be written.
    """
    if os.path.lexists(path):
        there = path.lstat()
        regular = stat.S_ISREG(there.st_mode)
        if not regular or there.st_uid != os.geteuid():
            what = "is somebody else's" if regular else "is no regular file"
            instead = "name a new file, or a regular one of your own."
            raise UqbenchError(f"{path} {what}, and would be replaced: {instead}")
    write_data(path, data)
