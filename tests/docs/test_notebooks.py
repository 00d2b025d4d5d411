"""The code of the notebooks runs, without Jupyter; ``tox -e notebooks`` executes them with it."""

import ast
import json
import linecache
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def execute(code: str, number: int, names: dict[str, Any]) -> object:
    """Run a cell, whose text is kept as IPython keeps it; return what it ends with, drawn."""
    name = f"<cell {number}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    tree = ast.parse(code)
    shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    value = None
    if isinstance(shown, ast.Expr):
        value = eval(compile(ast.Expression(shown.value), name, "eval"), names)
        for how in ("_repr_mimebundle_", "_repr_html_", "__repr__"):
            getattr(value, how, lambda: None)()
    return value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_notebook_runs(page, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(page.parent)
    module = ModuleType("__notebook__")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for number, cell in enumerate(json.loads(page.read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            value = execute("".join(cell["source"]), number, vars(module))
            recorded = any("data" in output for output in cell["outputs"])
            assert (value is not None) == recorded, cell["source"]
