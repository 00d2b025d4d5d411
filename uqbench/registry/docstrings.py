"""Summary and source of what a plugin registers, from its class's docstring.

The docstring is read from the file without importing the module, so that listing agents does not
wait for torch.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from functools import cache
from pathlib import Path

from uqbench.specs import Spec

SOURCE = "Source: "
"""Prefix of the docstring line that cites the paper, with equation or figure."""


def summary(spec: Spec) -> str:
    """One line: the spec's own, or the first of its factory's docstring."""
    return spec.summary or _first_line(_docstring(spec))


def source(spec: Spec) -> str:
    """The paper, figure or page: the spec's own, or the docstring's line ``Source: …``."""
    if spec.source:
        return spec.source
    lines = _docstring(spec).splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(SOURCE)), None)
    if start is None:
        return ""
    paragraph = []
    for line in lines[start:]:
        if not line.strip():
            break
        paragraph.append(line.strip())
    return " ".join(paragraph).removeprefix(SOURCE).rstrip(".")


def _first_line(docstring: str) -> str:
    paragraph = docstring.strip().split("\n\n")[0]
    return " ".join(paragraph.split()).rstrip(".")


def _docstring(spec: Spec) -> str:
    if not isinstance(spec.factory, str):
        return inspect.getdoc(spec.factory) or ""
    module, _, name = spec.factory.partition(":")
    return inspect.cleandoc(_docstrings(module).get(name, ""))


@cache
def _docstrings(module: str) -> dict[str, str]:
    """Docstrings of a module's classes and functions by name; empty where it has no source."""
    path = _path(module)
    if path is None:
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name: ast.get_docstring(node) or ""
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }


def _path(module: str) -> Path | None:
    """A module's file, found without importing its parent packages."""
    package, *below = module.split(".")
    spec_of_package = importlib.util.find_spec(package)
    for folder in (spec_of_package.submodule_search_locations or ()) if spec_of_package else ():
        place = Path(folder).joinpath(*below)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None
