"""Time and memory of commands on a folder of many finished runs.

::

    python benchmarks/load.py make /tmp/load --seeds 1052
    python benchmarks/load.py measure /tmp/load --seeds 100 235 999 1052

The runs are those of a suite that is installed, with so many seeds; their files are written at
once, without training. ``measure`` runs each command on the first seeds of each method and task,
twice: without the index, and with it. Files must be a minute old to be in the index, which
``status`` does not need. ``status`` is always of all runs that were made.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from uqbench.contract.identity import digest_of
from uqbench.registry.plugins import Host
from uqbench.results.records import Provenance, RunRecord, Timing
from uqbench.results.store import EPISODES, METRICS, now, this_process
from uqbench.results.tables import columns_digest
from uqbench.results.verified import FILE
from uqbench.runner.metric_values import record_step
from uqbench.suites.metrics import RECORDS
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites


def plan_of(suite: str, budget: str, seeds: int) -> Plan:
    host = Host.load()
    found = read_suites(host, check=()).suite(suite)
    return make_plan(found, host, budget, device="cpu", seeds=range(seeds))


def make(root: Path, plan: Plan) -> None:
    """Write all runs of a plan as finished, with scores that differ by method and seed."""
    definitions = {metric.name: metric.definition() for metric in plan.suite.metrics}
    provenance = Provenance(
        platform="p", device="d", versions={"python": "3"}, content={"uqbench": "0" * 64},
        git_revision=None,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for number, cell in enumerate(plan.cells):
        steps = plan.budget.on(cell.task).steps
        names = [metric.name for metric in plan.suite.metrics if metric.suits(cell.task)]
        files, digests = data_files(steps)
        table = RunRecord(
            identity=dict(cell.runs[0].identity), status="finished", step=steps, began=now(),
            updated=now(), process=this_process(), provenance=provenance,
            timing=Timing(seconds=1.0, lanes=1, steps_per_s=float(steps)),
            scalars=dict.fromkeys(names, 0.0), digests=digests,
            metrics={name: definitions[name] for name in names},
        ).model_dump(mode="json", exclude={"digest"})  # fmt: skip
        for run in cell.runs:
            values = [
                value_of(metric.range_on(cell.task.name) or metric.ends, number, rng)
                for metric in plan.suite.metrics
                if metric.name in names
            ]
            table["identity"] = dict(run.identity)
            table["scalars"] = dict(zip(names, map(float, values), strict=True))
            sealed = table | {"digest": digest_of(table)}
            folder = root / run.folder
            folder.mkdir(parents=True)
            for name, data in files.items():
                (folder / name).write_bytes(data)
            text = json.dumps(sealed, indent=1, sort_keys=True) + "\n"
            (folder / "run.json").write_text(text)


def value_of(ends: tuple[float, float], number: int, rng: np.random.Generator) -> float:
    """A value within its range; of a method and task by their number where that has no end."""
    low, high = ends
    if np.isfinite(ends).all():
        return float(rng.uniform(low, high))
    return float(np.clip(rng.normal(number, 1.0), low, high))


def data_files(steps: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """The data files of a run of one episode, by name, and their digests."""
    ends = np.array([record_step(k, steps) for k in range(1, RECORDS + 1)])
    metrics = {
        "step": ends,
        "metric": np.array(["reward"] * RECORDS, object),
        "value": np.linspace(0.01, 1.0, RECORDS),
    }
    episodes = {
        "step": np.array([steps]),
        "phase": np.array(["training"], object),
        "end": np.array(["terminated"], object),
        "length": np.array([steps]),
        "return": np.array([1.0]),
        "discounted_return": np.array([0.5]),
    }
    files, digests = {}, {"results": columns_digest(metrics, episodes)}
    for name, columns in ((METRICS, metrics), (EPISODES, episodes)):
        file = io.BytesIO()
        pq.write_table(pa.table(columns), file)
        files[name] = file.getvalue()
        digests[name] = sha256(files[name]).hexdigest()
    return files, digests


def measure(
    root: Path, suite: str, budget: str, seeds: int, only: list[str], indexes: list[str]
) -> None:
    """Print wall time, CPU time and peak memory of each command, or of some."""
    select = ["--suite", suite, "--budget", budget, "--seeds", str(seeds), "--out", str(root)]
    commands = {
        "status": ["status", "--out", str(root)],
        "run --dry-run": ["run", *select, "--dry-run"],
        "leaderboard": ["leaderboard", *select],
        "claims": ["claims", *select],
    }
    for name, arguments in commands.items():
        if only and name not in only:
            continue
        for index in indexes:
            if index == "none":
                (root / FILE).unlink(missing_ok=True)
            began = time.monotonic()
            child = subprocess.Popen(
                [sys.executable, "-m", "uqbench", *arguments], stdout=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(child.pid, 0)
            wall, cpu = time.monotonic() - began, usage.ru_utime + usage.ru_stime
            memory = usage.ru_maxrss / 1024
            row = f"{name:16} {seeds:6} {index:8} {wall:8.1f} {cpu:8.1f} {memory:8.0f}"
            print(row, flush=True)
            if status:
                raise SystemExit(f"{name} ended with {os.waitstatus_to_exitcode(status)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=["make", "measure"])
    parser.add_argument("root", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1052], help="of each cell")
    parser.add_argument("--suite", default="minatar")
    parser.add_argument("--budget", default="paper")
    parser.add_argument("--only", action="append", help="a command, such as 'run --dry-run'")
    parser.add_argument("--index", nargs="+", choices=["none", "there"], default=["none", "there"])
    args = parser.parse_args()
    if args.do == "make":
        make(args.root, plan_of(args.suite, args.budget, max(args.seeds)))
        return
    print(f"{'command':16} {'seeds':>6} {'index':8} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}")
    for seeds in args.seeds:
        measure(args.root, args.suite, args.budget, seeds, args.only or [], args.index)


if __name__ == "__main__":
    main()
