"""Messages for a name that does not exist: one form, in every room and package."""

import ast
import re
from pathlib import Path

import pytest

from uqbench.contract.errors import unknown

ROOT = Path(__file__).parents[2]
SOURCES = [*ROOT.glob("uqbench/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]


MESSAGES = [
    (["quick"], "Suite x has", "Suite x has no budget 'quik'. Did you mean 'quick'?"),
    (["paper"], "There is", "There is no budget 'quik'. Known: paper."),
    ([], "mine.py has", "mine.py has no budget 'quik'. There are none."),
]


@pytest.mark.parametrize(("known", "where", "said"), MESSAGES)
def test_a_message_says_what_has_no_such_thing_and_then_the_name(known, where, said):
    assert str(unknown("budget", "quik", known, where)) == said


def test_a_name_follows_the_noun_of_its_kind_wherever_it_is_unknown():
    """Not "There is no budget of suite minatar 'quik'": whatever lacks it comes first."""
    apart, found = [], 0
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "unknown":
                found += 1
                kind = ast.unparse(node.args[0])
                if re.search(r"\b(of|in|with|to|on|for|from)\b", kind):
                    apart.append(f"{path.relative_to(ROOT)}:{node.lineno}: {kind}")
    assert found > 20
    assert apart == []


COUNTED = re.compile(r"(?<!of )(?<!its )\{len\([^{}]*\)(?::,)?\} (?!characters)[a-z]+s\b")
ALWAYS_MORE = {
    "len(self.ranked)", "len(names)", "len(findings)", "len(own)", "len(data)", "len(rows)",
    "len(others)", "len(data.groups)", "len(frame)", "len(numbered)", "len(groups)", "len(kept)",
    "len(targets)", "len(target)"}  # fmt: skip
"""Numbers of methods, rows and the like that are hardly ever one where they are said."""


def test_a_number_that_may_be_one_is_said_by_count():
    """Not "1 runs": the plural of a number's noun is made in one place."""
    plural = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in SOURCES
        for found in COUNTED.finditer(path.read_text("utf-8"))
        if found[0].split("{")[1].split("}")[0].removesuffix(":,") not in ALWAYS_MORE
    ]
    assert plural == []
