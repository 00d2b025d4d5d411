"""``uqbench list suites`` as a table: names are never cut, the summary wraps or is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from uqbench.visible import visible

PIPE_WIDTH = 160
"""Of a file or a pipe, which has no width to keep to."""
LEAST_SUMMARY = 24
"""Columns that a summary takes at least."""
_PADDING = 2

Entry = Mapping[str, object]


def print_suites(entries: Sequence[Entry]) -> None:
    """Print the entries of ``uqbench list suites`` to stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_WIDTH)
    show_suites(entries, console)


def show_suites(entries: Sequence[Entry], console: Console) -> None:
    """Print a row a suite to a console, in its width."""
    columns = {
        "suite": [str(entry["name"]) for entry in entries],
        "tasks": [_count(entry["tasks"]) for entry in entries],
        "methods": [_count(entry["methods"]) for entry in entries],
        "budgets": [", ".join(_listed(entry["budgets"])) for entry in entries],
    }
    room = console.width
    shown = []
    for name, cells in columns.items():
        room -= max(map(len, (name, *cells))) + _PADDING
        if room >= -_PADDING or name == "suite":
            shown.append(name)
    table = Table(box=None, padding=(0, _PADDING, 0, 0), pad_edge=False, header_style="bold")
    for name in shown:
        table.add_column(
            name, justify="right" if name in ("tasks", "methods") else "left", no_wrap=True
        )
    with_summary = len(shown) == len(columns) and room >= LEAST_SUMMARY
    if with_summary:
        table.add_column("question")
    for i, entry in enumerate(entries):
        cells = [columns[name][i] for name in shown]
        if with_summary:
            cells.append(str(entry["summary"]))
        table.add_row(*(Text(visible(cell)) for cell in cells))
    console.print(table)


def _count(names: object) -> str:
    return str(len(_listed(names)))


def _listed(names: object) -> list[str]:
    assert isinstance(names, list)
    return [str(name) for name in names]
