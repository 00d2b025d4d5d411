"""Scripts of this repository, whose folders are on no path."""

import importlib.util
from pathlib import Path
from types import ModuleType


def script(place: str) -> ModuleType:
    """The module of a file, by its place in the repository."""
    path = Path(__file__).parents[2] / place
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
