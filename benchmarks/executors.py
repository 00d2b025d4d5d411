"""What an executor costs: processor seconds of the same runs, of all processes that it starts.

Runs the toy suite of the tests, whose steps cost next to nothing. Wall time says little on a busy
machine; the seconds are those of every process that inherited this one's mark.

    python benchmarks/executors.py --seeds 10 local ray
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

TOY = Path(__file__).parents[1] / "tests" / "toy"
MARK = "UQBENCH_BENCHMARK"
OPTIONS = {
    "local": ["--workers", "2"],
    "ray": ["--executor", "ray", "--ray", "cpus=1"],
    "slurm": [
        "--executor",
        "slurm",
        "--wait",
        "--slurm",
        "cluster=local,time=60,folder=/tmp/uqbench-jobs",
    ],
}


def main() -> None:
    """Run the suite by each executor and print what it took as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("executors", nargs="+", choices=sorted(OPTIONS))
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    print(json.dumps({name: measure(name, asked.seeds) for name in asked.executors}, indent=1))


def measure(executor: str, seeds: int) -> dict[str, float]:
    """Seconds that the runs take by an executor, and how many batches they were."""
    mark = secrets.token_hex(8)
    variables = os.environ | {
        "PYTHONPATH": str(TOY), MARK: mark, "RAY_AUTH_MODE": "disabled",
        "UQBENCH_PLUGINS": ",".join({"toy", "builtin", executor} - {"local"}),
    }  # fmt: skip
    spent: dict[tuple[int, str], float] = {}
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(mark, spent, done), daemon=True)
    watch.start()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--budget", "smoke"]
        command += ["--seeds", str(seeds), "--out", out, *OPTIONS[executor]]
        said = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    wall = time.monotonic() - began
    done.set()
    watch.join()
    return {
        "runs": 4 * seeds,
        "batches": said.stderr.count(": done in"),
        "processor seconds": round(sum(spent.values()), 1),
        "wall seconds": round(wall, 1),
        "processes": len(spent),
    }


def _watch(mark: str, spent: dict[tuple[int, str], float], done: threading.Event) -> None:
    """Note the processor seconds of all marked processes, now and then, until it is done."""
    wanted = f"{MARK}={mark}".encode()
    while not done.wait(0.2):
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is somebody else's
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    fields = (
                        (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                    )
                    ticks = int(fields[11]) + int(fields[12])
                    key = int(folder.name), fields[19]  # a process, by when it started
                    spent[key] = ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
