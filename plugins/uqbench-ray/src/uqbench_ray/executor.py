"""The executor ``ray``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import ray

from uqbench.errors import UqbenchError
from uqbench.executor import ExecutorContext, JobState, JobStatus, Order, Resources
from uqbench.identity import digest_of
from uqbench.results.files import write_data
from uqbench_ray.config import RayConfig
from uqbench_ray.owner import SUBMITTED, Owner, environment

NAMESPACE = "uqbench"
ANSWER_SECONDS = 120.0
"""For the owner of the tasks to answer, which may have to be started again on another node."""


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
                "as the cluster has room for; --cpus, --memory and --gpus-per-batch say how much "
                "one needs."
            )
        self._root, self._config, self.poll_seconds = context.root, config, 1.0

    def submit(self, orders: Sequence[Order]) -> None:
        """Have each executed by a task.

        Raises:
            UqbenchError: no node of the cluster has what a task needs.
        """
        self._connect()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        check_room({order.resources for order in orders}, nodes)
        for order in orders:
            write_data(order.path(self._root).with_suffix(SUBMITTED), b"")
        self._ask(self._owner().submit.remote([order.name for order in orders], environment()))

    def status(self, names: Collection[str]) -> Mapping[str, JobStatus]:
        """The status of each order."""
        self._connect()
        try:
            owner = ray.get_actor(self._name, NAMESPACE)
        except ValueError:
            none = JobStatus(JobState.ENDED, "no task of it is in this cluster")
            return dict.fromkeys(names, none)
        ends = self._ask(owner.ends.remote(list(names)))
        return {
            name: JobStatus(JobState.RUNNING if end is None else JobState.ENDED, end or "")
            for name, end in ends.items()
        }

    def preview(self, orders: Sequence[Order]) -> str:
        """What the tasks ask for."""
        asked = Counter(order.resources for order in orders)
        return "\n".join(
            f"{number} Ray tasks of {r.cpus:g} CPUs, {r.gpus:g} GPUs, "
            f"{'any' if r.memory_gb is None else f'{r.memory_gb:g} GB of'} memory"
            for r, number in asked.items()
        )

    def cancel(self, names: Collection[str]) -> None:
        """Cancel the tasks of orders."""
        self._connect()
        try:
            owner = ray.get_actor(self._name, NAMESPACE)
        except ValueError:
            return
        self._ask(owner.cancel.remote(list(names)))

    def _connect(self) -> None:
        """Connect to the cluster, or start one, unless that is done.

        Raises:
            UqbenchError: there is none at the address.
        """
        if ray.is_initialized():
            return
        address = self._config.address
        try:
            ray.init(
                address=address or None,
                namespace=NAMESPACE,
                log_to_driver=False,
                logging_level="warning",
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UqbenchError(
                f"--executor ray: no cluster at {address or 'this machine'!r}: {error}"
            ) from error

    @property
    def _name(self) -> str:
        return f"owner-{digest_of(str(self._root))[:16]}"

    def _owner(self) -> Any:
        options = {
            "name": self._name,
            "namespace": NAMESPACE,
            "lifetime": "detached",
            "get_if_exists": True,
            "num_cpus": 0,
            "max_restarts": -1,
            "max_task_retries": -1,
            "runtime_env": {"env_vars": environment()},
        }
        return ray.remote(Owner).options(**options).remote(str(self._root), environment())

    def _ask(self, answer: Any) -> Any:
        try:
            return ray.get(answer, timeout=ANSWER_SECONDS)
        except ray.exceptions.RayError as error:
            raise UqbenchError(f"--executor ray: the cluster does not answer: {error}") from error


def check_room(needs: Collection[Resources], nodes: Sequence[Mapping[str, float]]) -> None:
    """Check that some node could execute each task: Ray waits for ever for one that could.

    Args:
        needs: of tasks.
        nodes: the resources of each node, by Ray's names.

    Raises:
        UqbenchError: no node has them; says what they have.
    """
    for need in needs:
        asked = {"CPU": need.cpus, "GPU": need.gpus, "memory": 1e9 * (need.memory_gb or 0)}
        if not any(all(node.get(k, 0) >= v for k, v in asked.items()) for node in nodes):
            have = [max(node.get(name, 0) for node in nodes) for name in asked]
            raise UqbenchError(
                f"--executor ray: no node of the cluster has {need.cpus:g} CPUs, {need.gpus:g} "
                f"GPUs and {need.memory_gb or 0:g} GB of memory; none has more than {have[0]:g} "
                f"CPUs, {have[1]:g} GPUs and {have[2] / 1e9:.1f} GB. Ask for less by --cpus, "
                f"--memory and --gpus-per-batch, or start such a node."
            )
