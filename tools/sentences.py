"""The sentences that uqbench prints, in one file: a reader goes through all of them.

    python tools/sentences.py

writes ``tests/docs/sentences.txt``: summaries of commands and what their options are for, headlines
and notes of the boards, and the texts of messages in the harness, ``{}`` standing for values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.cli import group

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "docs" / "sentences.txt"
LEAST_WORDS = 4
"""Words of a text that is a sentence, and no name or key."""


def commands() -> Iterator[str]:
    """The summary of each command, and the help of its options."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{name}: {command.get_short_help_str(200)}"
        for param in command.params:
            if isinstance(param, click.Option) and param.help:
                yield f"{name} {param.opts[0]}: {param.help}"


def boards() -> Iterator[str]:
    """The headline of each committed board, by the names on the board."""
    for folder in board_folders(ROOT / "leaderboards"):
        board = StoredBoard.read(folder)
        yield f"{board.title}: {board.finding}"


def messages(path: Path) -> list[str]:
    """The texts of a module that are no docstrings, in their order."""
    tree = ast.parse(path.read_text("utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for value in ast.walk(node) if value is not node}  # fmt: skip
    found = []
    for node in ast.walk(tree):
        if id(node) not in said | parts and (text := _text(node)):
            found.append((node.lineno, " ".join(text.split())))  # type: ignore[attr-defined]
    return [text for _, text in sorted(found) if len(re.findall(r"[a-z]+", text)) >= LEAST_WORDS]


def _text(node: ast.AST) -> str:
    """The text of a string or f-string, ``{}`` where it has values; empty of anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and " " in node.value else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    return ""


def collected() -> str:
    """The text of the file."""
    lines = ["# Commands", *dict.fromkeys(commands()), "", "# Boards", *boards(), "", "# Messages"]
    for path in sorted((ROOT / "uqbench").rglob("*.py")):
        if own := list(dict.fromkeys(messages(path))):
            lines += ["", path.relative_to(ROOT).as_posix(), *own]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(collected(), encoding="utf-8")
    print(FILE.relative_to(ROOT))
