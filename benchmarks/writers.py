"""What many nodes ask of one file system: locks, records, progress; and what their driver does.

Each writer is a node that executes one batch of MinAtar's paper budget: it locks its lanes by
leases, writes their records, and then only the progress, as it would for days. Nothing is trained.
The writers are threads of a few processes; the file system is the one that the folder is on.

    python benchmarks/writers.py FOLDER --writers 190 --seconds 30
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from uqbench_cluster.event_log import REMOTE_SECONDS, EventLogWriter, follow
from uqbench_cluster.orders import make_order, plan_again, read_order, write_order

from uqbench.contract.executor import JobState, JobStatus, Order
from uqbench.registry.plugins import Host
from uqbench.results.records import Provenance, RunRecord
from uqbench.results.store import Store, now, this_process
from uqbench.runner import events
from uqbench.runner.batches import BatchGroup, make_batch_groups
from uqbench.runner.drive import Where
from uqbench.runner.step_log import latest_steps
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

METRICS = 10
MADE = Provenance(platform="p", device="d", versions={}, content={}, git_revision=None)


def main() -> None:
    """Start the writers, follow them, and print what was measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--writers", type=int, default=190)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0)
    asked = parser.parse_args()
    host, store = Host.load(), Store(asked.folder)
    store.prepare(shared=True)
    plan = make_plan(
        read_suites(host, check=("minatar",)).suite("minatar"), host, "paper", device="cpu"
    )
    groups = make_batch_groups(plan, set(plan.runs), "cpu", 5)[: asked.writers]
    began = time.perf_counter()
    orders = [make_order(plan, group, host, Where()) for group in groups]
    for order in orders:
        write_order(order, store.root)
    submitted = time.perf_counter() - began
    context = multiprocessing.get_context("spawn")
    queue, ready = context.Queue(), context.Barrier(asked.processes + 1)
    paths = [str(order.path(store.root)) for order in orders]
    shares = [paths[first :: asked.processes] for first in range(asked.processes)]
    nodes = [
        context.Process(target=_nodes, args=(share, asked.seconds, ready, queue))
        for share in shares
    ]
    for node in nodes:
        node.start()
    ready.wait()
    driver = _follow(list(zip(orders, groups, strict=True)), store, asked.seconds)
    began = time.perf_counter()
    running = latest_steps(store.root)
    states = Counter(found.state.value for _, found in store.walk())
    status = time.perf_counter() - began
    found = [queue.get() for _ in nodes]
    for node in nodes:
        node.join()
    total = {key: sum(one[key] for one in found) for key in found[0]}
    print(
        json.dumps(
            {
                "writers": len(orders),
                "lanes": sum(len(order.runs) for order in orders),
                "seconds to write the orders": round(submitted, 2),
                "seconds of a writer to lock and record its lanes": round(
                    total["started"] / len(orders), 3
                ),
                "fsyncs a second": round(total["fsyncs"] / asked.seconds, 1),
                "progress files a second": round(total["replaced"] / asked.seconds, 1),
                "driver": driver,
                "seconds of latest_steps and records": round(status, 2),
                "runs with steps": len(running),
                "states": dict(states),
            },
            indent=1,
        )
    )


class _Alive:
    """An executor whose orders are alive until a moment."""

    def __init__(self, until: float) -> None:
        self._until = until

    poll_seconds = 1.0

    def status(self, names: Any) -> dict[str, JobStatus]:
        running = time.monotonic() < self._until
        state = JobState.RUNNING if running else JobState.ENDED
        return dict.fromkeys(names, JobStatus(state, "the benchmark is over"))


def _follow(orders: list[tuple[Order, BatchGroup]], store: Store, seconds: float) -> dict[str, Any]:
    """Follow for some seconds; what a sweep over all orders took."""
    sweeps: list[float] = []
    heard: Counter[str] = Counter()
    until, last = time.monotonic() + seconds, time.monotonic()

    def sleep(wait: float) -> None:
        nonlocal last
        sweeps.append(time.monotonic() - last)
        time.sleep(wait)
        last = time.monotonic()

    cpu = time.process_time()
    for event in follow(_Alive(until + 60.0), orders, store.root, sleep):  # type: ignore[arg-type]
        heard[type(event).__name__] += 1
        if time.monotonic() > until:
            break
    spent = time.process_time() - cpu
    return {
        "seconds of a sweep": round(sorted(sweeps)[len(sweeps) // 2], 3) if sweeps else None,
        "sweeps": len(sweeps),
        "share of a core": round(spent / seconds, 3),
        "events": dict(heard),
    }


def _nodes(paths: list[str], seconds: float, ready: Any, queue: Any) -> None:
    """Some nodes, each in a thread."""
    counts: Counter[str] = Counter()
    fsync = os.fsync

    def counted(descriptor: int) -> None:
        counts["fsyncs"] += 1
        fsync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        counts["replaced"] += 1
        return replace(path, target)

    replace = Path.replace
    host = Host.load()
    orders = [read_order(Path(path)) for path in paths]
    groups = [plan_again(order, host) for order in orders]
    root = Path(paths[0]).parents[1]
    store = Store(root)
    began = [threading.Event() for _ in orders]
    threads = [
        threading.Thread(target=_node, args=(order, group, store, seconds, counts, event))
        for order, group, event in zip(orders, groups, began, strict=True)
    ]
    for thread in threads:
        thread.start()
    for event in began:
        event.wait()
    os.fsync, Path.replace = counted, replaced  # type: ignore[method-assign, assignment]
    counts["fsyncs"] = 0
    ready.wait()
    for thread in threads:
        thread.join()
    queue.put({"fsyncs": counts["fsyncs"], "replaced": counts["replaced"],
               "started": counts["started"] / 1000})  # fmt: skip


def _node(
    order: Order,
    group: BatchGroup,
    store: Store,
    seconds: float,
    counts: Counter[str],
    begun: threading.Event,
) -> None:
    [batch] = group
    clock = time.perf_counter()
    locks = [store.lock(run) for run in batch.runs]
    for run in batch.runs:
        store.write(run, RunRecord(
            identity=dict(run.identity), status="running", step=0, began=now(), updated=now(),
            process=this_process(), provenance=MADE,
        ))  # fmt: skip
    writer = EventLogWriter(store.root, order, REMOTE_SECONDS)
    writer.add(events.Started(batch, 0, 0.0, len(batch.runs)))
    counts["started"] += int(1000 * (time.perf_counter() - clock))
    begun.set()
    end, step = time.monotonic() + seconds + 5.0, 0
    while time.monotonic() < end:
        time.sleep(0.5)
        step += 100
        metrics = {run.seed: {f"metric {i}": 0.1 * i for i in range(METRICS)} for run in batch.runs}
        writer.add(events.Progress(batch, step, step / 200, metrics))
    for lock in locks:
        if lock is not None:
            lock.release()


if __name__ == "__main__":
    main()
