"""Where a stranger's package runs: what it can reach from there."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from uqbench_keeper.sandbox import has_sandbox, isolated

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


@pytest.mark.skipif(not has_sandbox(), reason="no bubblewrap")
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
