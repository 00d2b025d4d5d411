"""Exported agents: a final state that was stored, restored from their run.

Everything that the agent is made of is in the run's identity: task, config, steps. Its state is
read with ``weights_only``, once it matches the digest in the run's record: no pickled code is
executed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import torch

from uqbench.contract.agent import Agent
from uqbench.contract.config import resolve
from uqbench.contract.environment import LaneEnv
from uqbench.contract.errors import UqbenchError
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.records import RunRecord
from uqbench.results.store import RunState, Store
from uqbench.results.tables import AGENT
from uqbench.runner.batches import Batch
from uqbench.runner.train.agents import untrained
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.exported_agents import load
from uqbench.runner.train.loop_agent import SinglePolicy
from uqbench.suites.plan import Cell
from uqbench.suites.tables import Budget, Method, Task


@dataclass(frozen=True)
class ExportedAgent:
    """A trained agent, with one lane, and what it was trained on.

    Attributes:
        run: that trained it.
        agent: as it was after its last step; it has no replay buffer.
        task: its environment.
        batch: the run alone.
    """

    run: Run
    agent: Agent | SinglePolicy
    task: TaskEnvironment
    batch: Batch

    def env(self, seeds: Sequence[int] = (0,)) -> LaneEnv:
        """Fresh copies of the environment, one lane a seed."""
        return self.task.lanes(seeds)


def restore(store: Store, folder: str | PurePosixPath, host: Host) -> ExportedAgent:
    """The agent of a finished run.

    Args:
        store: of the run.
        folder: of the run, below the store's root.
        host: the plugins.

    Raises:
        UqbenchError: the run is not finished or exported no agent, its file is damaged, or the
            agent or its environment has another version here.
    """
    folder = PurePosixPath(folder)
    stored = store.read(folder)
    if stored.state is not RunState.FINISHED or stored.record is None:
        raise UqbenchError(f"{folder} is {stored.state.value}: expected a finished run.")
    batch = _batch(stored.record, host)
    if AGENT not in stored.record.digests:
        raise UqbenchError(
            f"{folder} kept no agent: run it in another --out with --keep-agents; the runs come "
            f"out the same."
        )
    task = TaskEnvironment(batch, host, torch.device("cpu"))
    env = task.lanes([batch.runs[0].environment_seed])
    agent = untrained(batch, host, env)
    load(agent.load_state_dict, store.at(folder), AGENT, stored.record, batch.device)
    return ExportedAgent(batch.runs[0], agent, task, batch)


def _batch(record: RunRecord, host: Host) -> Batch:
    """The run as a batch of its own, from its identity."""
    identity = record.identity
    method, task = dict(identity["method"]), dict(identity["task"])
    if method["agent"] is None:
        raise UqbenchError("estimators are not kept; expected the run of an agent.")
    spec, environment = host.agents[method["agent"]], host.environments[task["environment"]]
    for what, own, here in (
        (f"agent {method['agent']!r}", method["version"], spec.version),
        (f"environment {task['environment']!r}", task.pop("version"), environment.version),
    ):
        if own != here:
            raise UqbenchError(
                f"the run is of version {own} of the {what}, and version {here} is installed: "
                f"install the one, or run it again."
            )
    config = resolve(
        spec.load_config(), method["config"], where="run.json: config", risk_names=host.risk_names
    )
    # names of variants are no names of a suite's methods
    made = Method(name="agent", agent=method["agent"]).model_copy(update={"name": method["name"]})
    run = Run(
        identity["suite"]["name"], identity["budget"]["name"], task["name"], method["name"],
        identity["seed"], identity,
    )  # fmt: skip
    budget = Budget(
        summary="", steps=identity["budget"]["steps"], seeds=1, ranks=False, step_ms=1.0
    )
    cell = Cell(Task.model_validate(task), made, config, spec.loop, (run,))
    return Batch(cell, budget, (), "cpu")
