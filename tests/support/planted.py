"""Faulty subclasses, made in a line."""

from collections.abc import Callable
from typing import Any


def after(kind: type, **changes: Callable[[Any], Any]) -> Any:
    """A subclass whose methods of these names return a function of what they returned."""

    def changed(name: str, change: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda self, *given, **named: change(getattr(kind, name)(self, *given, **named))

    methods = {name: changed(name, change) for name, change in changes.items()}
    return type(f"{kind.__name__}With{'And'.join(changes)}", (kind,), methods)
