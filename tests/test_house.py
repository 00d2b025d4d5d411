"""The rooms of the harness: their order, import names, price in lines, and words."""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

import uqbench

ROOT = Path(__file__).parents[1]
HARNESS = ROOT / "uqbench"
LAYERS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
][0]["layers"]
MOST_LINES = 16_500
"""Lines of code that the harness may have: a comment or a docstring is none."""
PACKAGES = {"testing": 2_564, "report": 1_475, "cluster": 761, "keeper": 440}
"""The same of the packages that were once rooms of it."""
WORDS = 20_000
"""Of every Markdown file below ``docs/``."""
RIDDLE = re.compile(r"(What|Where|Who|How|Of|The same)\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER, tokenize.ENCODING}  # fmt: skip


def test_the_rooms_are_those_of_the_import_contract() -> None:
    assert {path.parent.name for path in HARNESS.glob("*/__init__.py")} == set(LAYERS)
    assert {path.stem for path in HARNESS.glob("*.py")} == {"__init__", "__main__"}


def test_the_docs_tell_the_order_that_lint_holds() -> None:
    text = (ROOT / "docs" / "layout.md").read_text("utf-8")
    table = text.partition("| `uqbench/` | |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)/` \|", table, re.M) == LAYERS
    assert " → ".join(LAYERS) in " ".join(text.split())


def test_no_room_imports_another_by_a_string() -> None:
    """The import contract cannot see ``import_module("uqbench.…")``; a room's own is no arrow."""
    hidden = []
    for path in HARNESS.glob("*/**/*.py"):
        room = path.relative_to(HARNESS).parts[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func).rpartition(".")[2]
            named = re.match(r"f?['\"]uqbench\.(\w+)", ast.unparse(node.args[0]))
            if called in ("import_module", "__import__") and named and named[1] != room:
                hidden.append(f"{path}:{node.lineno}")
    assert hidden == []


def test_no_script_has_the_name_of_a_module_that_others_import() -> None:
    """A script's folder is first on its path: a `coverage.py` there breaks Numba."""
    scripts = [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("tools/*.py")]
    assert scripts
    elsewhere = [place for place in sys.path if not Path(place).is_relative_to(ROOT)]
    taken = [path.name for path in scripts if PathFinder.find_spec(path.stem, elsewhere)]
    assert taken == ["site.py"]  # Python has imported its own before any script runs


def lines_of_code(text: str) -> int:
    """Lines with a token that is neither comment, docstring nor layout; each of a long string."""
    docstrings = {
        node.body[0].lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        docstring = token.type == tokenize.STRING and token.start[0] in docstrings
        if token.type not in LAYOUT and not docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def test_a_line_of_code_is_one_that_does_something() -> None:
    long = 'x = """\n\n"""\n'
    said = f'"""Said."""\n\n# why\n{long}\ndef f(\n    a,\n):\n    """Said."""\n    return a\n'
    assert lines_of_code(said) == 3 + 3 + 1


def test_the_harness_keeps_to_its_budget_of_lines() -> None:
    lines = {path: lines_of_code(path.read_text("utf-8")) for path in HARNESS.rglob("*.py")}
    rooms: dict[str, int] = {}
    for path, count in lines.items():
        room = path.relative_to(HARNESS).parts[0]
        rooms[room] = rooms.get(room, 0) + count
    assert sum(lines.values()) <= MOST_LINES, rooms


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_that_was_a_room_keeps_to_its_budget_of_lines(name: str) -> None:
    source = (ROOT / "plugins" / f"uqbench-{name}" / "src").rglob("*.py")
    assert sum(lines_of_code(path.read_text("utf-8")) for path in source) <= PACKAGES[name]


def test_the_docs_keep_to_their_budget_of_words() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= WORDS


def test_tests_import_through_the_faces_of_rooms() -> None:
    """Then a module that moves within its room breaks no test; asked are three of five."""
    tests = [*(ROOT / "tests").rglob("*.py"), *ROOT.glob("plugins/*/tests/**/*.py")]
    every = (node for path in tests for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    modules = [node.module or "" for node in every if isinstance(node, ast.ImportFrom)]
    depth = [name.count(".") for name in modules if re.match(r"uqbench(\.|$)", name)]
    assert sum(of <= 1 for of in depth) >= 0.6 * len(depth) > 600


def is_true_or_false(node: ast.AST) -> bool:
    """Whether a function returns booleans, in tensors too."""
    returned = getattr(node, "returns", None)
    return returned is not None and bool(re.search("bool|Tensor|TypeGuard", ast.unparse(returned)))


def riddles(text: str) -> Iterator[tuple[int, str]]:
    """Lines and first sentences of docstrings that open without a noun or a verb."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and (said := ast.get_docstring(node)):
            first = re.split(r"(?<=\.)\s|\n\n", said, maxsplit=1)[0]
            of_no_boolean = said.startswith("Whether ") and not is_true_or_false(node)
            if RIDDLE.match(said) or of_no_boolean or "that of which" in first:
                yield node.body[0].lineno, first


def test_a_riddle_is_found_in_each_kind_of_docstring() -> None:
    text = """'''What it is.'''
class A:
    '''The same of B.'''
    def f(self) -> bool:
        '''Whether it holds.'''
    def f(self) -> str:
        '''Whether it holds, in words.'''
    def g(self):
        '''A name, and that of which it is one. More.'''
    def h(self):
        '''Whatever is left.'''
"""
    assert {first for _, first in riddles(text)} == {
        "What it is.",
        "The same of B.",
        "Whether it holds, in words.",
        "A name, and that of which it is one.",
    }


def test_a_docstring_opens_with_the_thing_that_is_returned_or_done() -> None:
    """Not with *What*, *Where*, *Who*, *How*, *Of*, *The same*; *Whether* is for booleans."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {first}"
        for path in sorted(HARNESS.rglob("*.py"))
        for line, first in riddles(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("name", sorted(uqbench.IMPORT_NAMES))
def test_an_import_name_is_the_module_in_its_room(name: str) -> None:
    module = import_module(f"uqbench.{name}")
    assert module is import_module(f"uqbench.{uqbench.IMPORT_NAMES[name]}.{name}")
    assert module.__spec__ is not None
    assert module.__spec__.name == module.__name__


def test_what_is_in_a_package_with_an_import_name_has_one_too() -> None:
    from uqbench.risk.distortion import CVaR

    assert import_module("uqbench.risk.distortion").CVaR is CVaR
    with pytest.raises(ModuleNotFoundError, match=r"uqbench\.contract\.risk\.nothing"):
        import_module("uqbench.risk.nothing")
