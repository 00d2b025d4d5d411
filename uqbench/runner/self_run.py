"""Runs of a loop that somebody owns: the environment counts, cuts and records them.

What is stored is what a run of a :class:`uqbench.agent.LoopAgent` stores: episodes, evaluations,
answers at query states. Who acted is not known here, and the record says so: *self-run*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import LoopAgent, Uncertainty
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import UqbenchError
from uqbench.contract.identity import runs_of
from uqbench.contract.specs import NoConfig
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.lanes.adapters.vector import VectorLanes, steps_together
from uqbench.registry.plugins import Host
from uqbench.results.records import Timing
from uqbench.results.store import RunState, Store
from uqbench.runner.batches import Batch
from uqbench.runner.metric_values import final_metrics
from uqbench.runner.process import Stopwatch
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy
from uqbench.runner.train.measurements import Measurements
from uqbench.runner.worker import BatchWork
from uqbench.suites.plan import SELF_RUN, Plan
from uqbench.suites.tables import Method

Asked = Callable[[NDArray[Any]], Uncertainty | Mapping[str, Any] | None]
CPU = torch.device("cpu")


class Own(LoopAgent):
    """Callables of a loop as the agent that is evaluated and asked."""

    def __init__(self, policy: Callable[..., Any] | None, uncertainty: Asked | None) -> None:
        self._policy, self._asked = policy, uncertainty

    def train(self, env: Any, total_steps: int, seed: int) -> None:
        """Learn nothing: that is the loop's."""

    def policy(self, obs: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> int:
        """The action of ``policy(obs)``, or of ``policy(obs, valid)`` where there are masks.

        Raises:
            UqbenchError: none was given.
        """
        if self._policy is None:
            raise UqbenchError("this budget asks for actions: give policy=, a function of obs.")
        return int(self._policy(obs) if valid is None else self._policy(obs, valid))

    def uncertainty(self, obs: NDArray[Any]) -> Uncertainty | None:
        """The answer for ``[M, *obs]``; arrays ``[M, A, …]`` become tensors ``[1, M, A, …]``."""
        said = None if self._asked is None else self._asked(obs)
        if not isinstance(said, Mapping):
            return said
        return Uncertainty(**{n: torch.as_tensor(x).float()[None] for n, x in said.items()})


def batch_of(plan: Plan, method: str) -> Batch:
    """The run of a loop on a plan's task, like that of the plan's first method in all else."""
    cell = plan.cells[0]
    identity = {key: value for key, value in cell.runs[0].identity.items() if key != "seed"}
    made: dict[str, Any] = {"agent": SELF_RUN, "estimator": None, "version": SELF_RUN, "config": {}}
    identity |= {"method": {"name": method, **made}}
    names = plan.suite.name, plan.budget_name, cell.task.name, method
    runs = runs_of(*names, identity, [cell.runs[0].seed])
    own = Method.model_construct(name=method, agent=None)  # no plugin has it
    cell = replace(cell, method=own, config=NoConfig(), owns_loop=True, runs=runs)
    return Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, "cpu")


def evaluated(batch: Batch, host: Host, agent: Own) -> dict[str, float | None]:
    """The metrics of a trained agent that need no training: of evaluations and of queries."""
    some = tuple(metric for metric in batch.metrics if metric.kind in ("evaluation", "queries"))
    batch, single = replace(batch, metrics=some), SinglePolicy(agent)
    measured = Measurements(batch, host, CPU)
    measured.begin(single)
    measured.end(single)
    (left,) = measured.judged(single)
    return final_metrics(batch, host, left, Timing(seconds=0.0, lanes=1, steps_per_s=1.0))


class SelfRun(RecordedLanes):
    """The lanes of a run, which a loop steps: recorded to its last step, stored by ``close``.

    Args:
        batch: the run.
        store: where it is kept.
        host: the plugins.
        agent: is evaluated and asked.
        env: the loop's, a Gymnasium or vector environment; None for the suite's own.

    Raises:
        UqbenchError: the run is finished or being recorded, or the environment is another one.
    """

    def __init__(self, batch: Batch, store: Store, host: Host, agent: Own, env: Any = None) -> None:
        (self.run,) = batch.runs
        self._measured, self._agent = Measurements(batch, host, CPU), SinglePolicy(agent)
        lanes = self._measured.env if env is None else self._lanes_of(env, batch)
        if store.find(self.run).state is RunState.FINISHED:
            raise UqbenchError(f"{self.run.place} is finished; it is never overwritten.")
        if (lock := store.lock(self.run)) is None:
            raise UqbenchError(f"{self.run.place} is recorded by another process.")
        self._lock, self._watch = lock, Stopwatch()
        self._begun, self._closed = False, False
        self._work = BatchWork(
            batch, store, host, lambda _: None, self._watch, lambda write: write()
        )
        self._work.begin(None)
        super().__init__(lanes, batch.budget.steps, self._measured.recorder, self._after)
        self._watch.__enter__()

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane; beyond the run's last step nothing is recorded."""
        if not self._begun:
            self._measured.begin(self._agent)
            self._begun = True
        if self.taken == self.steps:
            return self._stepped(action)
        return super().step(action)

    def close(self) -> None:
        """Evaluate the policy and store the run, once.

        Raises:
            UqbenchError: its loop took too few steps.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if self.taken < self.steps:
                raise UqbenchError(f"{self.run.place} has {self.taken} of {self.steps} steps.")
            self._measured.measure(self.steps, self._agent)
            self._measured.end(self._agent)
            columns = self._measured.judged(self._agent)
            self._work.finish(columns, self._work.timing(self._watch.spent))
        finally:
            self._lock.release()

    def _after(self, step: int) -> None:
        self._measured.see(step, self._agent, self.obs[None])
        self._measured.measure(step, self._agent)

    def _lanes_of(self, env: Any, batch: Batch) -> LaneEnv:
        """The loop's environment, with the seeds and the time limit of the run."""
        task, own = self._measured.task, self._measured.env
        seeds = [self.run.actor_seed(k) for k in range(batch.budget.actors)]
        vector = isinstance(env, VectorEnv)
        if not (steps_together(env) if vector else isinstance(env, gymnasium.Env)):
            raise UqbenchError(
                f"env is {type(env).__name__}: expected None, a gymnasium.Env, or a VectorEnv that "
                f"begins an episode in the step that ends one (SyncVectorEnv, AsyncVectorEnv)."
            )
        if vector:
            lanes: LaneEnv = VectorLanes(env, seeds, task.limit, task.spec.events)
        else:
            lanes = GymnasiumLanes(lambda: env, seeds, task.limit, task.spec.events)
        forms = [(of.observation_space.shape, of.n_actions) for of in (lanes, own)]
        if forms[0] != forms[1]:
            raise UqbenchError(
                f"the environment has observations {forms[0][0]} and {forms[0][1]} actions; "
                f"expected those of {batch.cell.task.name}: {forms[1][0]}, {forms[1][1]}."
            )
        return lanes
