"""``uqbench doctor``: what cannot work here is said before runs fail."""

import subprocess
from pathlib import Path

import numba
import numpy as np
from click.testing import CliRunner
from commands import python

from uqbench.cli.doctor import command


def told(tmp_path) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["--out", str(tmp_path / "results")], standalone_mode=False)
    return done.return_value, done.output


def test_numba_compiles_here(host, tmp_path):
    assert f"ok     Numba {numba.__version__} compiles" in told(tmp_path)[1]


def test_a_numba_that_cannot_compile_is_wrong(host, tmp_path, monkeypatch):
    """As with NumPy 2.5, which has no ``row_stack``, beside a Numba that asks for it."""

    def njit(_: object) -> object:
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(numba, "njit", njit)
    code, said = told(tmp_path)
    assert code == 1
    assert f"WRONG  Numba {numba.__version__} cannot compile: module 'numpy' has no" in said


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from uqbench.cli import main
sys.exit(main())
"""


def without_torch(*arguments: str | Path, code: int = 0) -> "subprocess.CompletedProcess[str]":
    """A command in a process that has no torch, and of plugins only those of every installation."""
    return python("-c", WITHOUT, *arguments, code=code, UQBENCH_PLUGINS="builtin,claims,scores")


def test_an_extra_that_is_not_installed_is_no_fault_and_named_by_what_needs_it(tmp_path):
    done = without_torch("doctor", "--out", tmp_path / "results")
    needs = "it needs torch, which is not installed"
    pip = "python -m pip install 'uqbench[rl]'"
    assert f"ok     agent uniform-random: {needs}: {pip}" in done.stdout
    assert "WRONG" not in done.stdout
    path = tmp_path / "mine.py"
    path.write_text("from uqbench.agent import Agent\n", "utf-8")
    said = without_torch("try", path, code=2).stderr
    assert f"mine.py cannot be executed: line 1: {needs}" in said
    assert "uqbench[rl]" in said
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    np.savez(tmp_path / "p.npz", probs=probs, targets=probs.argmax(1))
    assert "accuracy" in without_torch("score", tmp_path / "p.npz").stdout  # everywhere
