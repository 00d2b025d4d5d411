"""``uqbench list suites`` at 80, 100 and 140 columns, held against what was printed before."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from uqbench.pages.suites import print_suites

SNAPSHOTS = Path(__file__).parent / "snapshots"
ENTRIES = [
    {
        "name": "minatar",
        "summary": "five small games, each with a screen of ten by ten, scored while agents learn",
        "budgets": ["smoke", "quick", "night", "paper"],
        "tasks": ["asterix", "breakout", "freeway", "seaquest", "space_invaders"],
        "methods": [f"method-{i}" for i in range(12)],
    },
    {"name": "return-distribution", "summary": "distributions", "budgets": ["smoke", "paper"],
     "tasks": ["chain"], "methods": ["a", "b"]},
]  # fmt: skip


def printed(width: int, entries=ENTRIES) -> str:
    text = io.StringIO()
    print_suites(entries, Console(file=text, width=width))
    return text.getvalue()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_suites_are_printed_as_before(width):
    text = printed(width)
    assert max(map(len, text.splitlines())) <= width
    assert text == (SNAPSHOTS / f"suites-{width}.txt").read_text(encoding="utf-8")


def test_names_are_whole_and_what_a_suite_asks_is_the_last_to_go():
    for width in range(20, 160):
        text = " ".join(printed(width).split())
        assert "return-distribution" in text, width
        if width >= 48:
            assert "question" in text.split(), width
            assert "games" in text, width
    assert "budgets" not in printed(50).splitlines()[0]
    assert "suite" in printed(20).splitlines()[0]
    assert "paper-1e6" in printed(80, [ENTRIES[0] | {"budgets": ["smoke", "quick", "paper-1e6"]}])


def test_a_suite_cannot_write_to_the_terminal():
    text = printed(100, [ENTRIES[0] | {"summary": "\x1b[31m[bold]red[/bold]"}])
    assert "\x1b" not in text
    assert "\\x1b[31m[bold]red[/bold]" in text
