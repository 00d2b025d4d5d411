"""Starting processes that compute: they import uqbench, never the user's script."""

from __future__ import annotations

import sys
from multiprocessing.process import BaseProcess
from types import ModuleType


def start(process: BaseProcess) -> None:
    """Start a spawned process that does not import the main module.

    A spawned process otherwise executes the script again that it was started from, and a script
    without ``if __name__ == "__main__":`` would start processes without end.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # it has no file that could be imported
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
