"""A plugin that ends the process that imports it, or hangs, is named by ``uqbench doctor``."""

from pathlib import Path

import commands
import pytest

from uqbench.cli import doctor


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("UQBENCH_PLUGINS", "odd")
    return tmp_path


def install(site: Path, code: str) -> None:
    (site / "zz_plugin.py").write_text(code)
    commands.install(site, "zz-plugin", "1", "[uqbench]\nodd = zz_plugin\n")


ENDING = [
    ("import os; os._exit(7)", "ends with status 7"),
    ("import ctypes; ctypes.string_at(0)", "-11"),
    ("import time; time.sleep(60)", "does not end within 5 s"),
]


@pytest.mark.parametrize(("code", "how"), ENDING)
def test_a_plugin_that_ends_the_process_or_hangs_is_named_by_doctor(site, code, how, monkeypatch):
    install(site, code)
    monkeypatch.setattr(doctor, "LOAD_SECONDS", 5.0 if "sleep" in code else doctor.LOAD_SECONDS)
    said = doctor._ending()
    assert how in said
    assert "while importing the plugin 'odd' of zz-plugin 1; uninstall it, or name the" in said


TOLD = "fine = True", "raise RuntimeError('odd')", "raise SystemExit(3)"


@pytest.mark.parametrize("code", TOLD)
def test_what_python_can_tell_itself_the_doctor_does_not_tell_otherwise(site, code):
    install(site, code)
    assert doctor._ending() == ""
