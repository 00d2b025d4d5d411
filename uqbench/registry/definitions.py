"""Summary and source of a spec: its own, or those of its factory's docstring.

A factory that is named by text is read in its module's file, which imports nothing: a list of all
methods needs no torch.
"""

import ast
import inspect
from functools import cache
from importlib.abc import InspectLoader
from importlib.util import find_spec

from uqbench.contract.errors import UqbenchError
from uqbench.contract.specs import Spec

SOURCE = "Source: "
"""Prefix of the docstring line that cites the paper, with equation or figure."""


def summary(spec: Spec) -> str:
    """One line: the spec's own, or the first of its factory's docstring.

    Raises:
        UqbenchError: the factory cannot be imported.
    """
    return spec.summary or _paragraph(_docstring(spec))


def source(spec: Spec) -> str:
    """The paper, figure or page: the spec's own, or the docstring's line ``Source: …``.

    Raises:
        UqbenchError: the factory cannot be imported.
    """
    if spec.source:
        return spec.source
    _, _, cited = f"\n{_docstring(spec)}".partition(f"\n{SOURCE}")
    return _paragraph(cited)


def _docstring(spec: Spec) -> str:
    try:
        module, _, name = str(spec.factory).partition(":")
        written = _docstrings(module).get(name) if isinstance(spec.factory, str) else None
        if written is None or not (written or spec.summary):
            written = inspect.getdoc(spec.load_factory())
        return written or ""
    except Exception as error:  # its module may raise anything
        raise UqbenchError(
            f"{spec.name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error


@cache
def _docstrings(module: str) -> dict[str, str]:
    """Docstrings of what a module's file defines by name; empty of a value, which has none."""
    loader = getattr(find_spec(module), "loader", None)
    source = loader.get_source(module) if isinstance(loader, InspectLoader) else None
    found: dict[str, str] = {}
    for node in ast.parse(source or "").body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign):
            names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            found = dict.fromkeys(names, "") | found
    return found


def _paragraph(text: str) -> str:
    """The first paragraph as one line, without its full stop."""
    return " ".join(text.strip().split("\n\n")[0].split()).rstrip(".")
