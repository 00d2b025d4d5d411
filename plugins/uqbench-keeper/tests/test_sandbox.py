"""Where a stranger's package runs: what it can reach from there."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from uqbench_keeper.api import verify
from uqbench_keeper.sandbox import check_names, has_sandbox, isolated

from uqbench.errors import UqbenchError

PROBE = """
import json, os, socket, sys
def tries(f):
    try:
        return bool(f())
    except OSError:
        return False
[out] = sys.argv[1:]
print(json.dumps({
    "other processes": len([p for p in os.listdir("/proc") if p.isdecimal()]) > 3,
    "network": tries(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2)),
    "writes elsewhere": tries(lambda: open(os.environ["ELSEWHERE"] + "/mark", "w")),
    "writes its packages": tries(lambda: open(os.path.dirname(out) + "/env/mark", "w")),
    "writes its results": tries(lambda: open(out + "/mark", "w")),
}))
"""


@pytest.mark.skipif(not has_sandbox(), reason="no bubblewrap that works")
def test_a_package_reaches_no_network_and_no_process_and_writes_its_runs_alone(tmp_path):
    for name in ("env", "runs"):
        (tmp_path / name).mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = {"PORT": str(server.getsockname()[1]), "ELSEWHERE": str(Path.home())}
        probe = [*isolated(tmp_path), sys.executable, "-I", "-c", PROBE, str(tmp_path / "runs")]
        done = subprocess.run(
            probe, capture_output=True, text=True, check=True, env=os.environ | own
        )
    (Path.home() / "mark").unlink(missing_ok=True)
    assert json.loads(done.stdout) == {
        "other processes": False, "network": False, "writes elsewhere": False,
        "writes its packages": False, "writes its results": True,
    }  # fmt: skip
    assert (tmp_path / "runs" / "mark").exists()


@pytest.mark.parametrize(
    "name",
    ["uqbench/__init__.py", "torch.py", "json/__init__.py", "sitecustomize.py", "usercustomize.py",
     "mine.pth", "mine-1.0.data/scripts/python", "sys.py", "uqbench.cpython-311-linux.so"],
)  # fmt: skip
def test_a_wheel_brings_nothing_that_is_anothers_or_runs_at_every_start(name, tmp_path):
    wheel = tmp_path / "mine-1.0-py3-none-any.whl"
    for brought in ("mine_of_nobody/__init__.py", name):
        with ZipFile(wheel, "w") as archive:
            for of in ("mine-1.0.dist-info/METADATA", brought):
                archive.writestr(of, "")
        if brought != name:
            check_names(wheel)  # its own name may come
    with pytest.raises(UqbenchError, match=rf"brings {name.split('/')[0]}, which would be"):
        check_names(wheel)
    with pytest.raises(UqbenchError, match="is no wheel"):
        check_names(tmp_path / "none-1.0-py3-none-any.whl")


@pytest.mark.skipif(has_sandbox(), reason="there is bubblewrap")
def test_where_a_sandbox_is_required_and_there_is_none_nothing_runs(tmp_path):
    with pytest.raises(UqbenchError, match=r"no bubblewrap .*leave --require-sandbox out"):
        verify(tmp_path / "none.json", tmp_path / "none.whl", require_sandbox=True)


@pytest.mark.parametrize(
    ("command", "works"), [("", False), ("echo no namespaces >&2; exit 1", False), ("exit 0", True)]
)
def test_a_sandbox_is_a_bubblewrap_that_works(command, works, tmp_path, monkeypatch):
    if command:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    has_sandbox.cache_clear()
    try:
        assert has_sandbox() == works
    finally:
        has_sandbox.cache_clear()
