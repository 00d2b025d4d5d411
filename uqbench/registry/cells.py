"""A class of a notebook's cell as a file, which the processes that compute can import.

The file holds the class as its cell has it, and what it names of the notebook: imports as imports,
functions and classes with what they name in turn, numbers, text and tables of them by value.
"""

import ast
import hashlib
import inspect
import linecache
import sys
import textwrap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from uqbench.contract.errors import UqbenchError


def as_file(of: type, folder: Path) -> Path:
    """Write a class of a notebook to a file of a folder, under a name with the text's digest.

    Raises:
        UqbenchError: its cell is not known, or it names a value that no text can say.
    """
    parts = dict[str, str]()
    _collect(of.__name__, of, vars(sys.modules[of.__module__]), parts)
    text = "\n\n".join(["from __future__ import annotations", *parts.values(), ""])
    path = folder / f"{of.__name__}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.py"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _collect(name: str, value: Any, there: dict[str, Any], parts: dict[str, str]) -> None:
    """Add the statement that defines a name, after those of what it names itself."""
    if isinstance(value, ModuleType):
        parts[name] = f"import {value.__name__} as {name}"
        return
    module = getattr(value, "__module__", None)
    own = there.get("__name__")
    if isinstance(value, type | FunctionType) and module == own:
        parts[name] = ""  # names itself
        text = _source(value)
        used = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        for other in sorted(used & there.keys() - parts.keys()):
            _collect(other, there[other], there, parts)
        parts[name] = parts.pop(name) or text
        return
    called = getattr(value, "__qualname__", "")
    if module != own and getattr(sys.modules.get(str(module)), called, None) is value:
        parts[name] = f"from {module} import {called} as {name}"
        return
    try:
        assert ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError, AssertionError):
        raise UqbenchError(
            f"the class names {name!r} of the notebook, a {type(value).__name__}: expected "
            f"modules, classes, functions, numbers or text. Make it in the class, or begin the "
            f"cell with '%%writefile mine.py' and say 'mine.py:CLASS'."
        ) from None
    parts[name] = f"{name} = {value!r}"


def _source(of: type | FunctionType) -> str:
    """The text of a class or function, decorators included, from the cell that defines it."""
    functions = [of, *(f for f in vars(of).values() if isinstance(f, FunctionType))]
    codes = [getattr(inspect.unwrap(f), "__code__", None) for f in functions]
    cells = [code.co_filename for code in codes if code]
    cells += [name for name in reversed(linecache.cache) if not Path(name).is_file()]
    for lines in map(linecache.getlines, cells):
        for node in _nodes("".join(lines)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == of.__name__:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))
    raise UqbenchError(
        f"the source of {of.__name__} was not found: define it in a cell or a file, such as a cell "
        f"that begins with '%%writefile mine.py', and say 'mine.py:CLASS'."
    )


def _nodes(text: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(text)))
    except SyntaxError:  # a line of the shell, or another language
        return []
