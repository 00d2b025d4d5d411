"""``uqbench.write_report``: one HTML file about results, leaderboards, or a single board."""

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from uqbench.api.values import Place, given
from uqbench.boards.stored import board_folders
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.registry.load_host import load_host
from uqbench.results.folders import Folder
from uqbench.suites.reading import read_suites
from uqbench_report.output import write_output

LIBRARIES = ("altair", "vl_convert")


def can_report() -> bool:
    """Whether the libraries that draw and lay out a report are installed."""
    return all(map(find_spec, LIBRARIES))


def require(extra: str, *libraries: str) -> None:
    """See that libraries are installed.

    Raises:
        UqbenchError: one is not; says which extra of uqbench has it.
    """
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise UqbenchError(
            f"this needs {', '.join(missing)}: python -m pip install 'uqbench[{extra}]'"
        )


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
        UqbenchError: the extra ``uqbench[report]`` is not installed, or a board is damaged.

    Example:
        >>> import uqbench
        >>> uqbench.write_report("results", "report.html")  # doctest: +SKIP
    """
    folder, output = given("folder", folder, Place), given("output", output, Place)
    require("report", *LIBRARIES)
    from uqbench_report.explorer.page import Explorer

    folders = board_folders(Path(folder))
    if not folders:
        raise UqbenchError(
            f"{folder} has no leaderboards: expected a folder of results, of leaderboards "
            f"(SUITE/BUDGET/manifest.json), or of one board. uqbench run makes one."
        )
    host = load_host()
    suites = read_suites(host, check=()).suites
    explorer = Explorer(folders, suites, host, follow=follow)
    path = Path(output)
    path = path if path.suffix or path.exists() else path.with_suffix(".html")
    write_output(path, explorer.file().encode())
    for problem in explorer.problems:
        say(f"uqbench: {problem}")
    return path
