"""Runs of a loop that somebody owns: the environment counts, cuts and records them.

What is stored is what a run of a :class:`uqbench.agent.LoopAgent` stores: episodes, evaluations,
answers at query states. Who acted is not known here, and the record says so: *self-run*.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from inspect import signature
from typing import Any
from weakref import WeakValueDictionary

import gymnasium
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import LoopAgent, Uncertainty
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.contract.identity import runs_of
from uqbench.contract.specs import NoConfig
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.lanes.adapters.vector import VectorLanes
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner.batches import Batch
from uqbench.runner.metric_values import final_metrics
from uqbench.runner.process import Stopwatch
from uqbench.runner.train.agents import random_agent
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, chosen
from uqbench.runner.train.measurements import Measurements
from uqbench.runner.train.proof import LoopProof
from uqbench.runner.worker import BatchWork
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import SELF_RUN, Plan
from uqbench.suites.tables import Method

Asked = Callable[[NDArray[Any]], Uncertainty | Mapping[str, Any] | None]
CPU = torch.device("cpu")


class Own(LoopAgent):
    """Callables of a loop as the agent that is evaluated and asked.

    Args:
        policy: of one observation ``[*obs]``, or of a batch ``[1, *obs]`` where it answers no
            single one; or a model whose ``predict`` is that. A tuple's first entry is the action.
            It is asked with ``deterministic=True`` where it takes that.
        uncertainty: what is believed at ``[M, *obs]``; None for nothing.
    """

    def __init__(self, policy: Any, uncertainty: Asked | None) -> None:
        self._policy = policy if callable(policy) else getattr(policy, "predict", policy)
        if not callable(self._policy) and policy is not None:
            raise UqbenchError(
                f"policy is {type(policy).__name__}: expected a function of obs, or a model that "
                f"has predict."
            )
        self._asked, self._batched = uncertainty, False

    def train(self, env: Any, total_steps: int, seed: int) -> None:
        """Learn nothing: that is the loop's."""

    def policy(self, obs: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> int:
        """The action of ``policy(obs)``, or of ``policy(obs, valid)`` where there are masks.

        Raises:
            UqbenchError: none was given.
        """
        if self._policy is None:
            raise UqbenchError("this budget asks for actions: give policy=, a function of obs.")
        given = (obs,) if valid is None else (obs, valid)
        if self._batched:
            return self._chosen([one[None] for one in given])
        try:
            return self._chosen(given)
        except Exception as single:  # of the policy's own, whose kind nobody knows
            try:
                action = self._chosen([one[None] for one in given])
            except Exception:
                raise single from None  # it is no function of a batch either
            self._batched = True
            return action

    def _chosen(self, given: Sequence[NDArray[Any]]) -> int:
        said = self._policy(*given, **self._options)
        return chosen(said[0] if isinstance(said, tuple) else said, "policy")

    @cached_property
    def _options(self) -> dict[str, bool]:
        try:
            takes = {*signature(self._policy).parameters}
        except (TypeError, ValueError):  # of compiled functions nothing is known
            takes = set()
        return {"deterministic": True} if "deterministic" in takes else {}

    def uncertainty(self, obs: NDArray[Any]) -> Uncertainty | None:
        """The answer for ``[M, *obs]``; arrays ``[M, A, …]`` become tensors ``[1, M, A, …]``."""
        said = None if self._asked is None else self._asked(obs)
        if not isinstance(said, Mapping):
            return said
        names = [field.name for field in fields(Uncertainty)]
        if unknown := [name for name in said if name not in names]:
            raise UqbenchError(
                f"uncertainty states {unknown[0]!r}: expected {', '.join(names)}. "
                f"{did_you_mean(unknown[0], names)}"
            )
        return Uncertainty(
            **{name: torch.as_tensor(x).detach().float()[None] for name, x in said.items()}
        )


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


def evaluated(batch: Batch, host: Host, agent: Own) -> list[tuple[Metric, float]]:
    """The metrics of a trained agent that need no training, of evaluations and of queries.

    What the agent does not state is left out.
    """
    some = tuple(metric for metric in batch.metrics if metric.kind in ("evaluation", "queries"))
    batch, single = replace(batch, metrics=some), SinglePolicy(agent)
    measured = Measurements(batch, host, CPU)
    measured.begin(single)
    measured.end(single)
    (left,) = measured.judged(single)
    values = final_metrics(some, batch.cell.task, batch.budget, left, host)
    return [(of, value) for of in some if (value := values.get(of.name)) is not None]


class _Rewards(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose rewards are added up beneath all other wrappers."""

    sum = 0.0

    def step(self, action: Any) -> Any:
        """Take one action."""
        outcome = self.env.step(action)
        self.sum += float(outcome[1])
        return outcome

    def taken(self) -> float:
        """The rewards since the last call."""
        now, self.sum = self.sum, 0.0
        return now


def _beneath(env: Any) -> list[_Rewards]:
    """Adders of the rewards beneath the wrappers of each environment.

    Those in processes of their own (``AsyncVectorEnv``) are not seen.
    """
    if isinstance(env, VectorEnv):
        envs = getattr(env.unwrapped, "envs", [])
        for k, one in enumerate(envs):
            if not isinstance(one, gymnasium.Wrapper):
                envs[k] = gymnasium.Wrapper(one)
        return [rewards for one in envs for rewards in _beneath(one)]
    if not isinstance(env, gymnasium.Wrapper):
        return []
    while isinstance(env.env, gymnasium.Wrapper):
        env = env.env
    env.env = _Rewards(env.env)
    return [env.env]


_recording: WeakValueDictionary[tuple[str, str], SelfRun] = WeakValueDictionary()
"""The unfinished runs of this process, by store and place."""


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
        self._beneath: list[_Rewards] = []
        self._measured, self._agent = Measurements(batch, host, CPU), SinglePolicy(agent)
        lanes = self._measured.env if env is None else self._lanes_of(env, batch)
        if store.find(self.run).state is RunState.FINISHED:
            raise UqbenchError(f"{self.run.place} is finished; it is never overwritten.")
        place = (str(store.root.absolute()), str(self.run.place))
        if (earlier := _recording.get(place)) is not None:
            earlier.leave()  # a notebook's cell was run again
        if (lock := store.lock(self.run)) is None:
            raise UqbenchError(f"{self.run.place} is recorded by another process.")
        _recording[place] = self
        self._lock, self._watch = lock, Stopwatch()
        self._begun, self._closed, self._left = False, False, False
        self._proof, self._batch = LoopProof(self._measured), batch
        self._work = BatchWork(batch, store, host, lambda _: None, self._watch)
        self._work.begin(None)
        super().__init__(lanes, batch.budget.steps, self._measured.recorder, self._after)
        self._watch.__enter__()

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane; beyond the run's last step nothing is recorded.

        Raises:
            UqbenchError: it is recorded anew, or a wrapper changes the environment's rewards.
        """
        if self._left:
            raise UqbenchError(f"{self.run.place} is recorded anew, by a later call of record.")
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
                if sys.exc_info()[0] is not None:  # of a loop within ``with``: that is the news
                    return
                raise UqbenchError(f"{self.run.place} has {self.taken} of {self.steps} steps.")
            self._measured.measure(self.steps, self._agent)
            self._measured.end(self._agent)
            columns = self._measured.judged(self._agent)
            random = partial(random_agent, self._batch, self._measured)
            self._work.learning = [self._proof.found(random)]
            self._work.finish(columns, self._work.timing(self._watch.spent))
        finally:
            self._proof.stop()
            self._lock.release()

    def leave(self) -> None:
        """Record nothing more, and store nothing."""
        self._left = True
        self._proof.stop()
        if not self._closed:
            self._closed = True
            self._lock.release()

    def _stepped(self, action: Tensor) -> Outcome:
        outcome = super()._stepped(action)
        for lane, beneath in enumerate(self._beneath):
            own, seen = beneath.taken(), float(outcome.reward[lane])
            if not math.isclose(own, seen, rel_tol=1e-5, abs_tol=1e-6):
                raise UqbenchError(
                    f"a wrapper changes rewards: {own:.6g} of the environment came out as "
                    f"{seen:.6g}. Give record the environment without it, and wrap what record "
                    f"returns."
                )
        return outcome

    def _after(self, step: int) -> None:
        if step == self._batch.budget.actors:
            self._proof.begin(self._agent)
        self._measured.see(step, self._agent, self.obs[None])
        self._measured.measure(step, self._agent)

    def _lanes_of(self, env: Any, batch: Batch) -> LaneEnv:
        """The loop's environment, with the seeds and the time limit of the run."""
        task, own = self._measured.tasks[0], self._measured.env
        seeds = [self.run.actor_seed(k) for k in range(batch.budget.actors)]
        if not isinstance(env, gymnasium.Env | VectorEnv):
            raise UqbenchError(
                f"env is {type(env).__name__}: expected None, a gymnasium.Env, or a VectorEnv that "
                f"begins an episode in the step that ends one (SyncVectorEnv, AsyncVectorEnv)."
            )
        self._beneath = _beneath(env)
        if isinstance(env, VectorEnv):
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
