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
from uqbench.lanes.adapters.vector import LaneVectorEnv, VectorLanes
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.runner.batches import Batch
from uqbench.runner.stopwatch import Stopwatch
from uqbench.runner.train.loop_agent import RecordedLanes, SingleEnv, SinglePolicy
from uqbench.runner.train.measurements import Measurements
from uqbench.runner.worker import BatchWork
from uqbench.suites.plan import Plan
from uqbench.suites.tables import Method

SELF_RUN = "self-run"
"""In a run's identity, the agent of a loop that was recorded, and its version."""
Policy = Callable[..., int]
Asked = Callable[[NDArray[Any]], Uncertainty | Mapping[str, Any] | None]


class Own(LoopAgent):
    """Callables of a loop as the agent that is evaluated and asked."""

    def __init__(self, policy: Policy | None, uncertainty: Asked | None) -> None:
        self._policy, self._asked = policy, uncertainty

    def train(self, env: Any, total_steps: int, seed: int) -> None:
        """Nothing: its loop trains."""

    def policy(self, obs: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> int:
        """The action of ``policy(obs)``, or of ``policy(obs, valid)`` where there are masks.

        Raises:
            UqbenchError: none was given.
        """
        if self._policy is None:
            raise UqbenchError("this budget evaluates: give record(…, policy=function of obs).")
        return self._policy(obs) if valid is None else self._policy(obs, valid)

    def uncertainty(self, obs: NDArray[Any]) -> Uncertainty | None:
        """The answer for ``[M, *obs]``, whose arrays ``[M, A, …]`` become tensors ``[1, M, A, …]``."""
        said = None if self._asked is None else self._asked(obs)
        if not isinstance(said, Mapping):
            return said
        return Uncertainty(**{n: torch.as_tensor(x).float()[None] for n, x in said.items()})


class SelfRun(LaneEnv):
    """A run's lanes, which the loop steps: recorded to their last step, stored by ``close``.

    Args:
        plan: a run of any method on the task, which says everything but the method.
        env: of the loop; None for the suite's own.
        method: the name of the row.
        agent: is evaluated and asked.
        store: where the run is kept.
        host: the plugins.
    """

    def __init__(
        self, plan: Plan, env: Any, method: str, agent: Own, store: Store, host: Host
    ) -> None:
        planned = plan.cells[0]
        own = {"name": method, "agent": SELF_RUN, "estimator": None, "version": SELF_RUN, "config": {}}
        identity = {k: v for k, v in planned.runs[0].identity.items() if k != "seed"} | {"method": own}
        at = plan.suite.name, plan.budget_name, planned.task.name, method
        runs = runs_of(*at, identity, [planned.runs[0].seed])
        cell = replace(
            planned, method=Method.model_construct(name=method), config=NoConfig(), owns_loop=True, runs=runs
        )
        batch = Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, "cpu")
        if store.find(runs[0]).state.value == "finished":
            raise UqbenchError(f"{runs[0].place} is finished; a finished run is never overwritten.")
        self._watch, self._agent, self._steps = Stopwatch(), SinglePolicy(agent), batch.budget.steps
        self._work = BatchWork(batch, store, host, lambda _: None, self._watch, lambda write: write())
        self._lock = store.lock(runs[0])
        if self._lock is None:
            raise UqbenchError(f"{runs[0].place} is recorded by another process.")
        self._work.begin(None)
        self._measured = measured = Measurements(batch, host, torch.device("cpu"))
        lanes = measured.env
        if env is not None:
            seeds, limit = [runs[0].actor_seed(k) for k in range(batch.budget.actors)], measured.limit
            vector = isinstance(env, VectorEnv)
            if (env.num_envs if vector else 1) != len(seeds):
                raise UqbenchError(f"the budget has {len(seeds)} actors: expected as many environments.")
            lanes = VectorLanes(env, seeds, limit) if vector else GymnasiumLanes(lambda: env, seeds, limit)
            if (lanes.observation_space, lanes.n_actions) != (measured.env.observation_space, measured.env.n_actions):
                raise UqbenchError(
                    f"the environment has {lanes.observation_space} and {lanes.n_actions} actions; "
                    f"{cell.task.name} has {measured.env.observation_space} and {measured.env.n_actions}."
                )
        self.run, self.recorded = runs[0], RecordedLanes(lanes, self._steps, measured.recorder, self._after)
        self.observation_space, self.n_actions = lanes.observation_space, lanes.n_actions
        self._begun = False
        self._watch.__enter__()

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """The first observations of the next episodes."""
        return self.recorded.reset()

    def step(self, action: Tensor) -> Outcome:
        """Take one action; a step beyond the last one of the run is not recorded."""
        if not self._begun:
            self._measured.begin(self._agent)
            self._begun = True
        return self.recorded.step(action)

    def _after(self, step: int) -> None:
        self._measured.see(step, self._agent, self.recorded.obs[None])
        self._measured.measure(step, self._agent)

    def close(self) -> None:
        """Evaluate the policy, and store the run.

        Raises:
            UqbenchError: its loop took too few steps; nothing is stored as finished.
        """
        if self._lock is None:
            return
        try:
            if self.recorded.taken < self._steps:
                raise UqbenchError(f"{self.run.place}: closed after {self.recorded.taken} of {self._steps} steps.")
            self._measured.measure(self._steps, self._agent)
            self._work.finish(self._measured.columns([None]), self._watch.spent)
        finally:
            self._lock.release()
            self._lock = None


class SelfRunEnv(SingleEnv):
    """A recorded environment; ``close`` stores the run."""

    def __init__(self, lanes: SelfRun) -> None:
        super().__init__(lanes)
        self.run, self.steps = lanes.run, lanes._steps
        self.close = lanes.close  # type: ignore[method-assign]


class SelfRunVectorEnv(LaneVectorEnv):
    """Recorded environments; ``close`` stores the run."""

    def __init__(self, lanes: SelfRun, count: int) -> None:
        super().__init__(lambda _: lanes, count)
        self.run, self.steps = lanes.run, lanes._steps
        self.close_extras = lambda **_: lanes.close()  # type: ignore[method-assign]
