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


def misstated(text):
    """Uses of *stated* before another noun than interval and width."""
    level = r"(?:[\d.]+ % |\{\} % |% )?"
    uses = re.finditer(rf"\b[Ss]tated\b(?!\s+{level}\s*(?:intervals?|widths?|$))", text)
    return [text[of.start() : of.end() + 30] for of in uses]


def test_a_use_of_stated_before_another_noun_is_found():
    assert misstated("the stated mean")
    assert misstated("fewer than stated")
    assert not misstated("whose stated 90 % intervals are wide; Stated widths add nothing")


def test_stated_stands_before_interval_and_width_alone():
    found = [f"{path.relative_to(ROOT)}: {use}" for path, of in printed_texts()
             for use in misstated(of)]  # fmt: skip
    assert found == []


def test_intervals_cover_and_claims_hold():
    wrong = re.compile(r"\bintervals? (?:that )?holds?\b|\bholds? (?:\S+ ){0,4}of (?:the )?true")
    found = [f"{path.relative_to(ROOT)}: {of[:80]}" for path, of in printed_texts()
             if wrong.search(of)]  # fmt: skip
    assert found == []


def test_what_runs_cannot_tell_apart_is_not_called_open():
    wrong = re.compile(r"\b(?:runs|data|draws) leave (?:\S+ )?open\b|\branks? (?:is|are) open\b")
    found = [f"{path.relative_to(ROOT)}: {wrong.search(of)[0]}" for path, of in printed_texts()
             if wrong.search(of)]  # fmt: skip
    assert found == []


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
