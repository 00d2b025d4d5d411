"""``uqbench list suites`` as a table: names are never cut, what a suite asks is the last to go."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from uqbench.pages.console import Shown, stdout, table

BUDGETS, QUESTION = 24, 34
"""Columns that these have before others are shown."""


def print_suites(entries: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print the entries of ``uqbench list suites``, a row each, in the width of a console.

    Its question is the last to go after its name; budgets and questions wrap.
    """
    console = console or stdout()
    budgets = [", ".join(entry["budgets"]) for entry in entries]
    further = [
        Shown("budgets", budgets, left=True, wraps=True),
        Shown("tasks", [str(len(entry["tasks"])) for entry in entries]),
        Shown("methods", [str(len(entry["methods"])) for entry in entries]),
    ]
    shown = [Shown("suite", [entry["name"] for entry in entries], left=True)]
    room = console.width - shown[0].width - QUESTION
    for column in further:
        room -= min(column.width, BUDGETS)
        if room >= 0:
            shown.append(column)
    if console.width - shown[0].width >= BUDGETS:
        questions = [entry["summary"] for entry in entries]
        shown.append(Shown("question", questions, left=True, wraps=True))
    console.print(table(shown, vertical="top"))
