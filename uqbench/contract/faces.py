"""Faces of rooms: names that a room's modules define, each imported when it is first asked for."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def face(room: str, **modules: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a room.

    Args:
        room: its package.
        modules: the names that it gives, between commas, by the module that defines them.
    """
    known = {name: module for module, names in modules.items() for name in names.split(",")}

    def named(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{known[name]}"), name)

    return named
