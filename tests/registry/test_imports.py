"""A plugin that ends the process that imports it, or hangs, is named; others are as they were."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from uqbench.registry import imports

LOAD = """
import sys
from importlib import metadata
from uqbench.registry import imports, side_effects
side_effects.HANG_SECONDS = 0.3
for distribution in metadata.distributions(path=[sys.argv[1]]):
    for entry_point in distribution.entry_points:
        imports.load(distribution, entry_point)
print("all are imported")
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def install(site: Path, code: str) -> None:
    (site / "zz_plugin.py").write_text(code)
    info = site / "zz_plugin-1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zz-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[uqbench]\nodd = zz_plugin\n")


def load(site: Path) -> tuple[int, str]:
    """The exit status of a command that imports the plugin, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOAD, str(site)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def files(site: Path) -> list[Path]:
    return list((site / "cache").rglob("zz-plugin"))


def test_a_plugin_that_ends_the_process_is_named_by_the_next_command(site):
    install(site, "import os; os._exit(7)")
    assert load(site) == (7, "")
    for _ in range(2):
        code, said = load(site)
        assert code == 7
        assert "the last process that imported the plugin 'odd' of zz-plugin 1 ended" in said
        assert "uninstall it, or name the plugins to load without it in UQBENCH_PLUGINS" in said
    install(site, "healed = True")
    assert "ended meanwhile" in load(site)[1]
    assert load(site) == (0, "all are imported\n")


def test_a_plugin_during_whose_import_the_machine_had_no_memory_is_loaded_the_next_time(site):
    kill = "seen.touch(); os.kill(os.getpid(), 9)"
    code = f"import os, pathlib\nseen = pathlib.Path({str(site)!r}, 'seen')\n"
    install(site, f"{code}if not seen.exists(): {kill}")
    assert load(site)[0] == -9
    code, said = load(site)
    assert code == 0
    assert "ended meanwhile" in said
    assert load(site) == (0, "all are imported\n")
    assert not files(site)


@pytest.mark.parametrize("what", ["RuntimeError('odd')", "SystemExit(3)", "KeyboardInterrupt"])
def test_an_exception_leaves_nothing_behind(what, site):
    install(site, f"raise {what}")
    assert load(site)[0] != 0
    assert not files(site)


def test_a_plugin_that_takes_long_is_named_while_it_does(site):
    install(site, "import time; time.sleep(1)")
    code, said = load(site)
    assert code == 0
    assert "'odd' of zz-plugin 1 has been importing for 0 s; if it hangs, press Ctrl-C" in said


def test_a_file_that_a_living_process_has_locked_says_nothing(site):
    install(site, "import sys; sys.stdin.read()")
    command = [sys.executable, "-P", "-c", LOAD, str(site)]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while not files(site) or not files(site)[0].stat().st_size:
        assert first.poll() is None
    second = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert (second.returncode, second.stderr) == (0, b"")
    assert first.communicate(b"")[0] is None
    assert first.returncode == 0
    assert not files(site)


def test_a_home_that_cannot_be_written_costs_nothing_else(site, monkeypatch):
    install(site, "fine = True")
    (site / "cache").write_text("no folder")
    (found,) = metadata.distributions(path=[str(site)])
    (entry_point,) = found.entry_points
    assert imports.load(found, entry_point).fine


def test_no_command_executes_what_lies_in_the_current_folder(site):
    install(site, "import json, signal, select, multiprocessing")
    here = site / "here"
    here.mkdir()
    for name in ("uqbench", "json", "signal", "select", "multiprocessing", "zz_plugin"):
        (here / f"{name}.py").write_text("import os; open(os.environ['RAN'], 'a').write('ran')")
    done = subprocess.run(
        [Path(sys.executable).with_name("uqbench"), "list", "suites"],
        cwd=here, env=os.environ | {"RAN": str(site / "ran")}, check=False, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert not (site / "ran").exists()
