"""``uqbench plot``: figures of a stored leaderboard, as SVG, PDF and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from uqbench.cli.options import Folder, FolderThere, load_host, names, takes
from uqbench.cli.terminal import say
from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.figure import Figure


@takes(names={"formats": "--format"})
def command(
    board: FolderThere,
    *,
    what: Annotated[str, "A,B"] = "intervals",
    formats: Annotated[str, "F,G"] = "svg,csv",
    methods: Annotated[str | None, "A,B"] = None,
    tasks: Annotated[str | None, "T,U"] = None,
    to: Folder | None = None,
) -> int:
    """Draw figures of a leaderboard: BOARD is its folder.

    Figures: trust, intervals, pairs, profiles, claims, curves, reliability, sparsification, pit,
    and those that the plugin of the suite adds. Files are named SUITE-BUDGET-FIGURE and have the
    same bytes every time; the CSV has the numbers that are drawn. A method has the same color in
    all figures of its board.

    \b
    Examples:
      uqbench plot leaderboards/deepsea/paper --what intervals,pairs --format svg,pdf,csv
      uqbench plot results/leaderboards/minatar/quick --what curves

    Args:
        what: Figures by name, or all that the board has.
        formats: svg, pdf, png, csv.
        methods: Only these methods.
        tasks: Only these tasks.
        to: Folder for the files; default: here.
    """
    from uqbench.api.report import require

    require("plots", "altair", "vl_convert")
    from uqbench.plots.render import FORMATS, render
    from uqbench.results.files import write_output

    wanted = _listed(formats)
    for form in wanted:
        if form not in FORMATS:
            raise UqbenchError(f"--format {form}: expected {', '.join(FORMATS)}.")
    folder = Path() if to is None else to
    stem = f"{board.resolve().parent.name}-{board.resolve().name}"
    for figure in _figures(board, _listed(what), _listed(methods), _listed(tasks)):
        for form in wanted:
            path = folder / f"{stem}-{figure.name}.{form}"
            write_output(path, render(figure, form))
            say(str(path))
    return 0


def _listed(text: str | None) -> list[str]:
    return [] if text is None else list(dict.fromkeys(names(text)))


def _figures(folder: Path, what: list[str], methods: list[str], tasks: list[str]) -> list[Figure]:
    from uqbench.boards.stored import StoredBoard
    from uqbench.plots.catalog import FIGURES, draw, drawable, plugin_figures
    from uqbench.plots.selected import SelectedRows
    from uqbench.suites.reading import read_suites

    host = load_host()
    board = cast("StoredBoard", SelectedRows(StoredBoard.read(folder), methods, tasks))
    suite = read_suites(host, check=()).suites.get(board.suite)
    if what != ["all"]:
        return [draw(board, name, suite, host) for name in what]
    figures, lacking = drawable(board, FIGURES, suite, host)
    added, problems = plugin_figures(board, suite, host)
    for why in [*(f"left out: {one}" for one in lacking), *problems]:
        say(f"uqbench: {why}", err=True)
    return figures + added
