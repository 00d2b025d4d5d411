"""The source of what a notebook defines: what its digest is of.

A class in a cell uses functions and classes of other cells. Their sources count too, and so do
plain values, so that whatever is edited makes another method.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import linecache
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from uqbench.errors import UqbenchError

_PLAIN = (bool, int, float, str, bytes, tuple, frozenset, type(None))


def source_digest(*things: Any) -> str:
    """The sha256 of the sources of classes and functions, and of all that they use beside them.

    What is imported from other modules counts by its name only.

    Raises:
        UqbenchError: one has no source, as in a Python shell.
    """
    seen: dict[str, str] = {}
    for thing in things:
        _add(thing, seen)
    text = "\0".join(f"{name}\0{seen[name]}" for name in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()


def _add(thing: Any, seen: dict[str, str]) -> None:
    name = f"{thing.__module__}.{thing.__qualname__}"
    if name in seen:
        return
    seen[name] = _source(thing)
    for used, value in _used(thing):
        if inspect.isclass(value) or isinstance(value, FunctionType):
            if value.__module__ == thing.__module__:
                _add(value, seen)
            else:
                seen[f"{name}:{used}"] = f"{value.__module__}.{value.__qualname__}"
        elif isinstance(value, _PLAIN):
            seen[f"{name}:{used}"] = repr(value)


def _source(thing: Any) -> str:
    """The source of a class or function.

    ``inspect`` finds functions of a notebook's cells, and classes only of files.
    """
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError) as error:
        found = _class_in_a_cell(thing.__qualname__) if inspect.isclass(thing) else None
        if found is None:
            raise UqbenchError(
                f"{thing.__qualname__} has no source that can be read ({error}): define it in a "
                f"notebook's cell or in a file."
            ) from None
        return found


def _class_in_a_cell(name: str) -> str | None:
    """The latest definition of a class among the sources that Python keeps for its errors."""
    entries = [entry for entry in linecache.cache.values() if len(entry) == 4]
    for _, changed, lines, _ in reversed(entries):
        if changed is not None:
            continue  # a file
        with suppress(SyntaxError):
            for node in ast.parse("".join(lines)).body:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                    return "".join(lines[first - 1 : node.end_lineno])
    return None


def _used(thing: Any) -> Iterator[tuple[str, Any]]:
    """The module's names that the code of a class or function uses, with their values."""
    for function in _functions(thing):
        variables = function.__globals__
        for name in sorted(_names(function.__code__)):
            if name in variables and not hasattr(builtins, name):
                yield name, variables[name]
    if inspect.isclass(thing):
        for base in thing.__bases__:
            yield base.__name__, base


def _functions(thing: Any) -> Iterable[FunctionType]:
    if isinstance(thing, FunctionType):
        return [thing]
    held = (getattr(v, "fget", getattr(v, "__func__", v)) for v in vars(thing).values())
    return [value for value in held if isinstance(value, FunctionType)]


def _names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, inner))
