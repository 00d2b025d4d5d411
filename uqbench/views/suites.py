"""``uqbench list suites`` as a table: names are never cut, the summary wraps or is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from uqbench.views.console import PADDING, Shown, stdout, table

LEAST_SUMMARY = 24
"""Columns that a summary takes at least."""

Entry = Mapping[str, object]


def print_suites(entries: Sequence[Entry]) -> None:
    """Print the entries of ``uqbench list suites`` to stdout."""
    show_suites(entries, stdout())


def show_suites(entries: Sequence[Entry], console: Console) -> None:
    """Print a row a suite to a console, in its width."""
    columns = [
        Shown("suite", [str(entry["name"]) for entry in entries], left=True),
        Shown("tasks", [str(len(_names(entry["tasks"]))) for entry in entries]),
        Shown("methods", [str(len(_names(entry["methods"]))) for entry in entries]),
        Shown("budgets", [", ".join(_names(entry["budgets"])) for entry in entries], left=True),
    ]
    room = console.width
    shown = []
    for column in columns:
        room -= column.width
        if room >= -PADDING or column is columns[0]:
            shown.append(column)
    if len(shown) == len(columns) and room >= LEAST_SUMMARY:
        summaries = [str(entry["summary"]) for entry in entries]
        shown.append(Shown("question", summaries, left=True, wraps=True))
    console.print(table(shown, vertical="top"))


def _names(names: object) -> list[str]:
    assert isinstance(names, list)
    return [str(name) for name in names]
