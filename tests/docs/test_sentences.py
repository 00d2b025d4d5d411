"""What is printed, and how docstrings begin: rules of English that a program can see."""

import ast
import importlib
import re
from pathlib import Path

import click
import pytest

from uqbench.cli import group

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in (ROOT / "uqbench", *ROOT.glob("plugins/*/src"), ROOT / "tools")
    for path in folder.rglob("*.py")
)
MOST_LETTERS = 45
"""Letters of a command's summary, which 80 columns show whole."""


@pytest.fixture(scope="module")
def tool():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        yield importlib.import_module("sentences")


def texts(path: Path) -> list[str]:
    """All strings of a module, docstrings too."""
    tree = ast.parse(path.read_text("utf-8"))
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [node.value for node in constants if isinstance(node.value, str)]


def begins_with_of(text: str) -> bool:
    """Whether a sentence of a text begins with *Of*."""
    return re.search(r"(?:^|[.:]\s)\s*Of\s", text) is not None


def test_a_sentence_that_begins_with_of_is_found_in_the_midst_of_a_text():
    assert begins_with_of("Of every state.")
    assert begins_with_of("A table.\n\n    Of a lane with fewer samples the last are NaN.")
    assert not begins_with_of("A table of every state. Offers none.")


def test_no_sentence_begins_with_of_and_baselines_are_called_baselines():
    found = [
        f"{path.relative_to(ROOT)}: {text[:80]}"
        for path in SOURCES
        for text in texts(path)
        if begins_with_of(text) or re.search(r"\blearns? nothing\b", text)
    ]
    assert found == []


@pytest.mark.parametrize("name", group.list_commands(click.Context(group)))
def test_a_summary_of_a_command_is_shown_whole_at_80_columns(name):
    command = group.get_command(click.Context(group), name)
    assert command is not None
    said = command.get_short_help_str(1000)
    assert len(said) <= MOST_LETTERS
    assert said.endswith(".")


def test_the_file_of_printed_sentences_is_current(tool):
    assert tool.FILE.read_text("utf-8") == tool.collected(), "python tools/sentences.py writes it"


def test_messages_are_the_texts_that_are_no_docstrings(tool, tmp_path):
    module = tmp_path / "m.py"
    module.write_text(
        '"""A module of four words."""\n\n\ndef f(n):\n    """Not this one, either."""\n'
        '    raise ValueError(f"{n} runs have no score: " "run them again.")\n'
    )
    assert tool.messages(module) == ["{} runs have no score: run them again."]
