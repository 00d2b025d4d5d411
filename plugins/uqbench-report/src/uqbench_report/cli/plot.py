"""``uqbench plot``: figures of a stored leaderboard, as SVG, PDF and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from uqbench.cli.options import Folder, FolderThere, load_host, names, takes
from uqbench.cli.terminal import say

if TYPE_CHECKING:
    from uqbench.contract.figure import Figure


@takes(names={"formats": "--format"})
def command(
    board: FolderThere,
    *,
    what: Annotated[str, "A,B"] = "intervals",
    formats: Annotated[str, "F,G"] = "svg,csv",
    methods: Annotated[str | None, "A,B"] = None,
    tasks: Annotated[str | None, "T,U"] = None,
    width: Literal["column", "text"] | None = None,
    to: Folder | None = None,
) -> int:
    """Draw figures of a leaderboard, or of a run.

    FOLDER is a board's, or that of a run with --keep-agents. Figures: trust, coverage, intervals,
    pairs, curves, reliability, pit, training, claim-NAME of each claim, and those that the
    plugin of the suite adds. Files are named SUITE-BUDGET-FIGURE and have the same bytes every
    time; the CSV has the numbers that are drawn. A method has the same color in all figures of its
    board. Given a run, it maps the agent's beliefs in every state, beside the exact truth where
    that is exact.

    \b
    Examples:
      uqbench plot leaderboards/deepsea/paper --what intervals,pairs --format svg,pdf,csv
      uqbench plot leaderboards/minatar/night --what curves --width column --format pdf,txt
      uqbench plot results/windy-cliff/smoke/cliff/ua-dqn-neutral/0-*

    Args:
        what: Figures by name, or all that the board has.
        formats: svg, pdf, png, csv; txt for the caption.
        methods: Only these methods.
        tasks: Only these tasks.
        width: As wide as a paper's column (234 pt) or text (397 pt), with letters of 7 pt.
        to: Folder for the files; default: here.
    """
    from uqbench.contract.errors import UqbenchError, in_words
    from uqbench_report.plots.render import render
    from uqbench_report.report import write_output

    folder = Path() if to is None else to
    stem = f"{board.resolve().parent.name}-{board.resolve().name}"
    failed = False
    for figure in _figures(board, _listed(what), _listed(methods), _listed(tasks)):
        for form in _listed(formats):
            path = folder / f"{stem}-{figure.name}.{form}"
            try:
                data = render(figure, form, width)
            except UqbenchError:
                raise
            except Exception as error:  # a plugin's chart may be wrong in any way
                failed = True
                say(f"uqbench: left out: {figure.name}: {in_words(error):.300}", err=True)
                break
            write_output(path, data)
            say(str(path))
    return int(failed)


def _listed(text: str | None) -> list[str]:
    return [] if text is None else list(dict.fromkeys(names(text)))


def _figures(folder: Path, what: list[str], methods: list[str], tasks: list[str]) -> list[Figure]:
    from uqbench.boards.stored import StoredBoard
    from uqbench.pages.methods import entitled
    from uqbench.suites.reading import read_suites
    from uqbench_report.plots.catalog import draw, drawable, further, showing

    host = load_host()
    if (folder / "run.json").is_file():
        from uqbench_report.state_map import state_map

        return [state_map(folder)]
    board = showing(StoredBoard.read(folder), methods, tasks)
    suite = read_suites(host, check=()).suites.get(board.suite)
    if what != ["all"]:
        return [draw(board, name, suite, host) for name in what]
    figures, lacking = drawable(entitled(board, host, suite))
    added, problems = further(board, suite, host)
    for why in [*(f"left out: {one}" for one in lacking), *problems]:
        say(f"uqbench: {why}", err=True)
    return figures + added
