"""Which figures there are, by name, and those that plugins add to boards of their suites."""

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError, contained, unknown
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench.pages.methods import entitled
from uqbench.registry.plugins import Host
from uqbench.suites.suite import Suite
from uqbench_report.plots import claims, coverage, curves, intervals, pairs, trust, uncertainty

FIGURES: Mapping[str, Callable[[StoredBoard], Figure]] = {
    "trust": trust.figure,
    "coverage": coverage.figure,
    "intervals": intervals.figure,
    "pairs": pairs.figure,
    "curves": curves.figure,
    **{kind: partial(uncertainty.figure, kind=kind) for kind in uncertainty.KINDS},
}
"""Those of every board that has their data."""
Drawn = tuple[list[Figure], list[str]]
"""Figures, and messages on those that are not there."""


def draw(board: StoredBoard, what: str, suite: Suite | None, host: Host) -> Figure:
    """One figure of a board.

    Args:
        board: to draw.
        what: one of :data:`FIGURES`, ``claim-`` and a claim's name, or that of a plugin's figure.
        suite: as it is installed; None where it is not.
        host: the plugins.

    Raises:
        UqbenchError: there is no such figure, or the board lacks what it shows.
    """
    if what in FIGURES:
        return FIGURES[what](entitled(board, host, suite))
    added, problems = further(board, suite, host)
    named = {figure.name: figure for figure in added}
    if what in named:
        return named[what]
    error = unknown("figure", what, [*FIGURES, *named])
    raise UqbenchError("\n".join(map(str, [error, *problems])))


def drawable(board: StoredBoard, left_out: Container[str] = ()) -> Drawn:
    """Those of :data:`FIGURES` that a board has, and why it has not the others."""
    figures, lacking = [], []
    for name in (one for one in FIGURES if one not in left_out):
        try:
            figures.append(FIGURES[name](board))
        except NotDrawableError as error:
            lacking.append(f"{name}: {error}")
    return figures, lacking


def further(board: StoredBoard, suite: Suite | None, host: Host) -> Drawn:
    """The figures of claims and of plugins, and a message for each plugin that failed."""
    added, problems = plugin_figures(board, suite, host)
    return [*claims.figures(board, claims.published_numbers(suite)).values(), *added], problems


def plugin_figures(board: StoredBoard, suite: Suite | None, host: Host) -> Drawn:
    """The figures that plugins add to a board, and a message for each plugin that failed.

    A figure for which the board lacks something is left out.
    """
    figures: dict[str, Figure] = {}
    problems: list[str] = []
    given: dict[str, Any] = {"board": board, "suite": suite}
    for hook in host.manager.hook.uqbench_figures.get_hookimpls():
        failed = f"the plugin {hook.plugin_name} failed in uqbench_figures for {board.title}: "
        with contained(problems.append, failed):
            try:
                added: Any = hook.function(*map(given.get, hook.argnames))
                for figure in added:
                    if not isinstance(figure, Figure):
                        got = type(figure).__name__
                        raise TypeError(f"expected a uqbench.figure.Figure, got {got}")
                    if figure.name in {*FIGURES, *figures}:
                        taken = f"there is another figure {figure.name!r}; rename this one"
                        raise ValueError(taken)
                    figures[figure.name] = figure
            except NotDrawableError as error:
                problems.append(str(error))
    return [*figures.values()], problems


def showing(board: StoredBoard, methods: Collection[str], tasks: Collection[str]) -> StoredBoard:
    """A board with frames of some methods and tasks; all of a kind where none is named.

    Raises:
        UqbenchError: it has no such method or task.
    """
    every = sorted({str(task) for task in board.scores["task"]})
    for kind, names, known in (("method", methods, board.methods), ("task", tasks, every)):
        for name in names:
            if name not in known:
                raise unknown(kind, name, known, f"{board.title} has")
    return replace(board, shown=(tuple(methods), tuple(tasks)))
