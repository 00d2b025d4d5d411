"""The code of the notebooks runs, without Jupyter; ``tox -e notebooks`` executes them with it."""

import ast
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
WRITE = "%%writefile "


def execute(code: str, names: dict[str, Any]) -> object:
    """Run a cell; draw what it ends with, as Jupyter does, and return it."""
    first, _, rest = code.partition("\n")
    if first.startswith(WRITE):
        Path(first.removeprefix(WRITE).format(**names)).write_text(rest)
        return None
    tree = ast.parse(code)
    shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    value = None
    if isinstance(shown, ast.Expr):
        value = eval(compile(ast.Expression(shown.value), "cell", "eval"), names)
        for how in ("_repr_mimebundle_", "_repr_html_", "__repr__"):
            getattr(value, how, lambda: None)()
    return value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_notebook_runs(page, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(page.parent)
    names: dict[str, Any] = {}
    for cell in json.loads(page.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            value = execute("".join(cell["source"]), names)
            recorded = any("data" in output for output in cell["outputs"])
            assert (value is not None) == recorded, cell["source"]
