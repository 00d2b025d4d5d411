"""``uqbench doctor``: what cannot work here is said before runs fail."""

import numba
import pytest
from click.testing import CliRunner

from uqbench.cli.doctor import command


def told(tmp_path) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["--out", str(tmp_path / "results")], standalone_mode=False)
    return done.return_value, done.output


def test_numba_compiles_here(host, tmp_path):
    assert f"ok     Numba {numba.__version__} compiles" in told(tmp_path)[1]


def test_a_numba_that_cannot_compile_is_wrong(host, tmp_path, monkeypatch: pytest.MonkeyPatch):
    """As with NumPy 2.5, which has no ``row_stack``, beside a Numba that asks for it."""

    def njit(_: object) -> object:
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(numba, "njit", njit)
    code, said = told(tmp_path)
    assert code == 1
    assert f"WRONG  Numba {numba.__version__} cannot compile: module 'numpy' has no" in said
