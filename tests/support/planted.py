"""Faulty subclasses, made in a line."""

from collections.abc import Callable
from typing import Any

Change = Callable[..., Any]


def after(kind: type, **changes: Change) -> Any:
    """A subclass whose methods of these names return a function of what they returned."""

    def changed(name: str, change: Change) -> Change:
        return lambda self, *given, **named: change(getattr(kind, name)(self, *given, **named))

    return _with(kind, {name: changed(name, change) for name, change in changes.items()})


def given(kind: type, **changes: Change) -> Any:
    """A subclass whose methods of these names are given a function of their arguments."""

    def changed(name: str, change: Change) -> Change:
        return lambda self, *told, **named: getattr(kind, name)(self, *change(*told, **named))

    return _with(kind, {name: changed(name, change) for name, change in changes.items()})


def _with(kind: type, methods: dict[str, Any]) -> Any:
    return type(f"{kind.__name__}With{'And'.join(methods)}", (kind,), methods)
