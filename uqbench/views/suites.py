"""``uqbench list suites`` as a table: names are never cut, the summary wraps or is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from uqbench.views.console import PADDING, Shown, stdout, table

LEAST_SUMMARY = 24
"""Columns that a summary takes at least."""


def print_suites(entries: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print the entries of ``uqbench list suites``, a row each, in the width of a console."""
    console = console or stdout()
    columns = [
        Shown("suite", [entry["name"] for entry in entries], left=True),
        Shown("tasks", [str(len(entry["tasks"])) for entry in entries]),
        Shown("methods", [str(len(entry["methods"])) for entry in entries]),
        Shown("budgets", [", ".join(entry["budgets"]) for entry in entries], left=True),
    ]
    room, shown = console.width, []
    for column in columns:
        room -= column.width
        if room >= -PADDING or column is columns[0]:
            shown.append(column)
    if len(shown) == len(columns) and room >= LEAST_SUMMARY:
        summaries = [entry["summary"] for entry in entries]
        shown.append(Shown("question", summaries, left=True, wraps=True))
    console.print(table(shown, vertical="top"))
