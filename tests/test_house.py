"""The rooms of the harness: their order, and their import names."""

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import uqbench

ROOT = Path(__file__).parents[1]
HARNESS = ROOT / "uqbench"
LAYERS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
][0]["layers"]


def test_the_rooms_are_those_of_the_import_contract() -> None:
    rooms = {path.parent.name for path in HARNESS.glob("*/__init__.py")}
    assert rooms == set(LAYERS)
    assert {path.stem for path in HARNESS.glob("*.py")} == {"__init__", "__main__"}


def test_contributing_tells_the_order_that_lint_holds() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text.partition("| `uqbench/` | |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)/` \|", table, re.M) == LAYERS
    assert " → ".join(LAYERS) in " ".join(text.split())


def test_no_room_imports_another_by_a_string() -> None:
    """The import contract cannot see ``import_module("uqbench.…")``; a room's own is no arrow."""
    hidden = []
    for path in HARNESS.glob("*/**/*.py"):
        room = path.relative_to(HARNESS).parts[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func).rpartition(".")[2]
            named = re.match(r"f?['\"]uqbench\.(\w+)", ast.unparse(node.args[0]))
            if called in ("import_module", "__import__") and named and named[1] != room:
                hidden.append(f"{path}:{node.lineno}")
    assert hidden == []


@pytest.mark.parametrize("name", sorted(uqbench.IMPORT_NAMES))
def test_an_import_name_is_the_module_in_its_room(name: str) -> None:
    module = import_module(f"uqbench.{name}")
    assert module is import_module(f"uqbench.{uqbench.IMPORT_NAMES[name]}.{name}")
    assert module.__spec__ is not None
    assert module.__spec__.name == module.__name__


def test_what_is_in_a_package_with_an_import_name_has_one_too() -> None:
    from uqbench.contract.risk.distortion import CVaR

    assert import_module("uqbench.risk.distortion").CVaR is CVaR
    with pytest.raises(ModuleNotFoundError, match=r"uqbench\.contract\.risk\.nothing"):
        import_module("uqbench.risk.nothing")
