"""Names of the toolkit in ``uqbench.lanes``, and their types."""

from importlib import import_module
from pathlib import Path

import pytest
import uqbench_lanes
from uqbench_lanes import toolkit

import uqbench
from uqbench import lanes

OURS, THEIRS = Path(str(uqbench_lanes.__file__)).parent, Path(str(lanes.__file__)).parent
PATHS = sorted({*OURS.rglob("*.py")} - {OURS / "__init__.py"})
MODULES = [path.relative_to(OURS) for path in PATHS]


def test_each_module_has_a_file_of_types_under_its_other_name():
    stubs = {path.relative_to(THEIRS).with_suffix(".py") for path in THEIRS.rglob("*.pyi")}
    assert stubs == {*MODULES}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_file_of_types_says_the_module_that_the_name_is(path):
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    stub = THEIRS / path.with_suffix(".pyi")
    assert f"from uqbench_lanes.{name} import *\n" in stub.read_text()
    assert import_module(f"uqbench.lanes.{name}") is import_module(f"uqbench_lanes.{name}")


@pytest.mark.parametrize("name", toolkit.__all__)
def test_a_name_of_the_toolkit_is_one_of_uqbench_lanes(name):
    assert getattr(lanes, name) is getattr(toolkit, name)


def test_a_module_of_uqbenchs_own_is_no_other_package_s():
    own = {path.stem for path in THEIRS.glob("*.py")} | {"adapters"}
    assert own - {"__init__"} == {*uqbench.OWN_LANES} - {""}


def test_a_name_that_neither_has_is_refused_as_python_does():
    with pytest.raises(ImportError, match=r"cannot import name 'Nothing' from 'uqbench\.lanes'"):
        from uqbench.lanes import Nothing  # noqa: F401
