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


def printed_texts():
    """Where texts stand that people read, and each of them."""
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and " " in text.strip() and id(node) not in said:
                yield path, text
    for path in ROOT.glob("plugins/*/src/*/suites/*.toml"):
        yield from ((path, of) for of in re.findall(r'= "([^"]* [^"]*)"', path.read_text("utf-8")))
    for path in ROOT.glob("plugins/*/src/*/explorer/files/explorer.js"):
        yield from ((path, of) for of in re.findall(r'"([^"]* [^"]*)"', path.read_text("utf-8")))
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    yield from ((path, without_code(path.read_text("utf-8"))) for path in pages)


def without_code(text):
    """A page of Markdown without blocks of code, and what stands between backticks."""
    return re.sub(r"```.*?```|`[^`]*`", "`…`", text, flags=re.S)


STATED = r"\b[Ss]tated\b(?!\s+(?:[\d.]+ % |\{\} % |% )?\s*(?:intervals?|widths?|$))"
WRONG = {
    "stated before another noun than interval and width": (STATED, "the stated mean"),
    "intervals that hold": (r"\bintervals? (?:that )?holds?\b", "an interval holds"),
    "truths that are held": (r"\bholds? (?:\S+ ){0,4}of (?:the )?true", "it holds 9 % of true"),
    "runs that leave it open": (
        r"\b(?:runs|data|draws) leave (?:\S+ )?open\b",
        "runs leave it open",
    ),
    "open ranks": (r"\branks? (?:is|are) open\b", "ranks are open"),
}
OF = r"(?:^|[.:]\s)\s*Of\s"


@pytest.mark.parametrize("what", WRONG)
def test_no_sentence_that_is_printed_has_a_word_for_another_thing(what):
    pattern, example = WRONG[what]
    assert re.search(pattern, example)
    assert not re.search(pattern, "whose stated 90 % intervals are wide; Stated widths add nothing")
    found = [f"{path.relative_to(ROOT)}: {of[:80]}" for path, of in printed_texts()
             if re.search(pattern, of)]  # fmt: skip
    assert found == []


@pytest.mark.parametrize("pattern", [OF, r"\blearns? nothing\b"])
def test_no_sentence_begins_with_of_and_baselines_are_called_baselines(pattern):
    assert re.search(pattern, "A table.\n\n    Of a lane that learns nothing.")
    assert not re.search(pattern, "A table of every state. Offers none.")
    found = [f"{path.relative_to(ROOT)}: {text[:80]}" for path in SOURCES for text in texts(path)
             if re.search(pattern, text)]  # fmt: skip
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
