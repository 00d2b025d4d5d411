"""The executor ``ray``."""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from uqbench.contract.errors import UqbenchError
from uqbench.contract.executor import ORDERS, ExecutorContext, JobState, JobStatus, Order, Resources
from uqbench.contract.identity import digest_of
from uqbench.registry.local import VARIABLE
from uqbench.results.files import write_data
from uqbench.runner.executors.local import THREADS
from uqbench_cluster.node import LAST_SECONDS
from uqbench_cluster.ray.config import RayConfig
from uqbench_cluster.ray.task import NAMESPACE, Task, is_there

Numbers = Mapping[str, float]
PASSED_ON = ("UQBENCH_PLUGINS", VARIABLE)
"""Variables of the driver that its nodes need."""
DETACHED = {"lifetime": "detached", "get_if_exists": True, "max_restarts": -1}
"""Options of every task: it outlives the driver, and begins again where its node is lost."""
RUNNING = JobStatus(JobState.RUNNING)
WAITING = JobStatus(JobState.WAITING, "waits for a node of the cluster that has room")
BEGUN_SECONDS = 0.5
"""For tasks to answer; those that are not started do not."""
STOP_SECONDS = 15.0
"""The same, for them to hear that they are to stop."""
ANSWER_SECONDS = 120.0
"""For the nodes to say whether they have a file: Ray may have to start a process on each."""


class Ray:
    """A Ray cluster; connects to it, or starts one of this machine alone, when it is needed.

    Args:
        context: the store.
        config: where the cluster is.

    Raises:
        UqbenchError: ``--workers`` was given.
    """

    def __init__(self, context: ExecutorContext, config: RayConfig) -> None:
        if context.workers is not None:
            raise UqbenchError(
                "--workers does not go with --executor ray, which executes as many batches at once "
                "as the cluster has room for; cpus, memory and gpus of --ray say what one needs."
            )
        self._root, self._config = context.root, config
        self.poll_seconds = config.poll_seconds

    def submit(self, orders: Sequence[Order]) -> None:
        """Have each executed by a task.

        Raises:
            UqbenchError: no node of the cluster has what a task needs, or one that has does not
                share the results folder.
        """
        self._connect()
        needs = {order.resources for order in orders}
        nodes = [node for node in ray.nodes() if node["Alive"]]
        custom = self._config.options.get("resources", {})
        _check_room(needs, custom, [node["Resources"] for node in nodes])
        able = [n for n in nodes if any(_has_room(n["Resources"], need, custom) for need in needs)]
        self._check_shared({node["NodeID"]: node["NodeManagerHostname"] for node in able})
        for order in orders:
            name, own = self._name(order.name), order.resources
            options: dict[str, Any] = {**DETACHED, "name": name, "namespace": NAMESPACE}
            options |= {"num_cpus": own.cpus, "num_gpus": own.gpus}
            options["runtime_env"] = {"env_vars": environment()}
            if own.memory_gb is not None:
                options["memory"] = int(1e9 * own.memory_gb)
            options |= self._config.options
            ray.remote(Task).options(**options).remote(str(order.path(self._root)), name)

    def status(self, names: Collection[str]) -> Mapping[str, JobStatus]:
        """The status of each order: a task answers unless it waits to be started, or again."""
        self._connect()
        tasks = {name: task for name in names if (task := self._task(name))}
        asked = {name: task.__ray_ready__.remote() for name, task in tasks.items()}
        begun = _answered(list(asked.values()), BEGUN_SECONDS)[0]
        found = dict.fromkeys(names, JobStatus(JobState.ENDED, "no task of it is in this cluster"))
        return found | {name: RUNNING if asked[name] in begun else WAITING for name in asked}

    def preview(self, orders: Sequence[Order]) -> str:
        """What the tasks ask for."""
        asked = Counter(order.resources for order in orders)
        return "\n".join(
            f"{number} Ray tasks of {r.cpus:g} CPUs, {r.gpus:g} GPUs, "
            f"{'any' if r.memory_gb is None else f'{r.memory_gb:g} GB of'} memory"
            for r, number in asked.items()
        )

    def cancel(self, names: Collection[str]) -> None:
        """End the tasks of orders, with a last checkpoint of those that are executed."""
        self._connect()
        tasks = [task for name in names if (task := self._task(name))]
        asked = {task.stop.remote(): task for task in tasks}
        deadline = time.monotonic() + LAST_SECONDS
        for answer in _answered(list(asked), STOP_SECONDS)[1]:  # it has not begun, or is stuck
            ray.kill(asked[answer], no_restart=True)
        while any(map(self._task, names)) and time.monotonic() < deadline:
            time.sleep(0.5)
        for task in asked.values():
            ray.kill(task, no_restart=True)

    def _connect(self) -> None:
        """Connect to the cluster, or start one, unless that is done."""
        if ray.is_initialized():
            return
        address = self._config.address
        try:
            quiet: Any = {"log_to_driver": False, "logging_level": "warning"}
            ray.init(address or None, namespace=NAMESPACE, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UqbenchError(
                f"--executor ray: no cluster at {address or 'this machine'!r}: {error}"
            ) from error

    def _task(self, order: str) -> Any:
        """An order's task; None if it has none, or it has ended."""
        with suppress(ValueError):
            return ray.get_actor(self._name(order), NAMESPACE)
        return None

    def _name(self, order: str) -> str:
        """The name of an order's task: another results folder may have the same order."""
        return f"{order}-{digest_of(str(self._root))[:16]}"

    def _check_shared(self, nodes: Mapping[str, str]) -> None:
        """Check that a file which is written here is on each node, by its id and host name."""
        token = self._root / ORDERS / f"shared-{secrets.token_hex(8)}"
        write_data(token, b"")
        look = ray.remote(is_there).options
        common = {"num_cpus": 0, "runtime_env": {"env_vars": environment()}}
        on = [NodeAffinitySchedulingStrategy(node, soft=False) for node in nodes]
        try:
            answers = [look(scheduling_strategy=each, **common).remote(str(token)) for each in on]
            seen = ray.get(answers, timeout=ANSWER_SECONDS)
        except ray.exceptions.RayError as error:
            raise UqbenchError(f"--executor ray: the cluster does not answer: {error}") from error
        finally:
            token.unlink(missing_ok=True)
        if blind := [host for host, sees in zip(nodes.values(), seen, strict=True) if not sees]:
            raise UqbenchError(
                f"--executor ray: what is written to {str(self._root)!r} here is not there on "
                f"{', '.join(blind)}. Share the folder with all nodes, at the same path, or choose "
                f"one that is by --out."
            )


def _answered(answers: list[Any], seconds: float) -> tuple[list[Any], list[Any]]:
    """Those of some answers that come within some seconds, and the others."""
    return ray.wait(answers, num_returns=len(answers), timeout=seconds) if answers else ([], [])


def environment() -> dict[str, str]:
    """Variables of a task's process, set before it loads anything."""
    return THREADS | {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _has_room(node: Numbers, need: Resources, custom: Numbers) -> bool:
    """Whether a node with these resources, by Ray's names, could execute such a task."""
    asked = {"CPU": need.cpus, "GPU": need.gpus, "memory": 1e9 * (need.memory_gb or 0), **custom}
    return all(node.get(name, 0) >= value for name, value in asked.items())


def _check_room(needs: Collection[Resources], custom: Numbers, nodes: Sequence[Numbers]) -> None:
    """Refuse tasks that no node could execute: Ray waits for ever for one that could."""
    for need in needs:
        if not any(_has_room(node, need, custom) for node in nodes):
            more = "".join(f", {value:g} {name}" for name, value in custom.items())
            have = [max(node.get(name, 0) for node in nodes) for name in ("CPU", "GPU", "memory")]
            raise UqbenchError(
                f"--executor ray: no node of the cluster has {need.cpus:g} CPUs, {need.gpus:g} "
                f"GPUs and {need.memory_gb or 0:g} GB of memory{more}; none has more than "
                f"{have[0]:g} CPUs, {have[1]:g} GPUs and {have[2] / 1e9:.1f} GB. Ask for less by "
                f"cpus, memory and gpus of --ray, or start such a node."
            )
