"""A plugin that hangs, or ends the process, when it is imported is found out in a child process."""

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from uqbench.registry import trials
from uqbench.registry.contents import content_hash

PLUGINS = {
    "zz-exits": "import os; os._exit(7)",
    "zz-good": "from uqbench import hookimpl",
    "zz-hangs": "import os, time; open(os.environ['TRIED'], 'a').write('x'); time.sleep(600)",
    "zz-raises": "raise RuntimeError",
    "zz-segfaults": "import ctypes; ctypes.string_at(0)",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, code in PLUGINS.items():
        package = name.replace("-", "_")
        (tmp_path / f"{package}.py").write_text(code)
        info = tmp_path / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[uqbench]\n{name} = {package}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TRIED", str(tmp_path / "tried"))
    monkeypatch.setattr(trials, "HANG_SECONDS", 1.5)
    return tmp_path


def failures(site: Path) -> dict[str, str]:
    content_hash.cache_clear()  # as in a process of its own
    found = [(d, e) for d in metadata.distributions(path=[str(site)]) for e in d.entry_points]
    reasons = trials.failures(sorted(found, key=lambda pair: pair[1].name))
    return {name: reason.partition(" (")[0] for name, reason in reasons.items()}


def test_what_hangs_or_ends_the_process_is_named_and_tried_again_when_it_changed(site):
    expected = {
        "zz-exits:zz-exits": "it ended the process that imported it, with exit code 7",
        "zz-hangs:zz-hangs": "importing it took more than 2 s",
        "zz-segfaults:zz-segfaults": "it ended the process that imported it, with SIGSEGV",
    }
    assert failures(site) == failures(site) == expected
    assert (site / "tried").read_text() == "xx"  # slow, perhaps: only this is tried again
    remembered = sorted(json.loads(trials.cache_file().read_text()).values())
    # a signal may have been the kernel's, on a machine without memory
    assert remembered == ["", "", expected["zz-exits:zz-exits"]]
    (site / "zz_hangs.py").write_text("healed = True")
    del expected["zz-hangs:zz-hangs"]
    assert failures(site) == expected
    trials.cache_file().write_text("{")
    assert failures(site) == expected


def test_code_of_the_current_folder_is_not_executed(site, monkeypatch):
    here = site / "here"
    here.mkdir()
    for name in ("uqbench", "json", "signal", "select"):
        (here / f"{name}.py").write_text("import os; open(os.environ['TRIED'], 'a').write('ran')")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert "zz-good:zz-good" not in failures(site)
    assert "ran" not in (site / "tried").read_text()
