"""What is recorded while a batch's agents learn: metrics, evaluations, scores of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.agent import Agent
from uqbench.environment import LaneEnv
from uqbench.results.columns import Columns, RunColumns
from uqbench.runner.batches import Batch
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.evaluation import evaluate
from uqbench.runner.train.guards import check_metrics, check_uncertainty
from uqbench.runner.train.loop_agent import SinglePolicy
from uqbench.runner.train.recorder import Recorder, passed
from uqbench.uncertainty.interval_scores import score_return_distribution, score_uncertainty

Latest = Mapping[str, NDArray[np.float64]]
"""The metrics ``[L]`` that were recorded last, by name."""


class Measurements:
    """Measures the agents of a batch after each step.

    Args:
        batch: the runs, one a lane.
        task: their environment.
        env: the lanes that they are trained in.
        device: of the tensors.

    Attributes:
        recorder: takes in every outcome.
        queries: asks the agents; None where the budget does not say so.
        latest: what was recorded last.
    """

    def __init__(
        self, batch: Batch, task: TaskEnvironment, env: LaneEnv, device: torch.device
    ) -> None:
        self._batch, self._task, self._env, budget = batch, task, env, batch.budget
        self._lanes = len(batch.runs)
        self.recorder = Recorder(
            self._lanes,
            budget.steps,
            task.spec.events,
            device,
            task.discount,
            task.spec.name,
            budget.actors,
        )
        self.queries = task.query_scorer()
        self.latest: Latest = {}
        self._optimal_q = task.optimal_q()

    def begin(self, agent: Agent | SinglePolicy) -> None:
        """Before an agent's first step."""
        if self.queries is not None:
            self.queries.start(agent)

    def see(self, step: int, agent: Agent | SinglePolicy, obs: Tensor) -> None:
        """Where an agent stands after ``step`` steps, ``[L, M, *obs]``."""
        if self.recorder.due(step):
            check_uncertainty(agent, obs, self._env.n_actions, step)
        if self.queries is not None:
            self.queries.see(step, self._env, obs)

    def measure(self, step: int, agent: Agent | SinglePolicy) -> None:
        """Record what is due after ``step`` steps."""
        budget, recorder = self._batch.budget, self.recorder
        if self.queries is not None:
            for point in passed(self.queries.points, step, budget.actors):
                recorder.add(self.queries.score(agent, point), point)
        if records := recorder.due(step):
            self.latest = recorder.record(self._metrics(agent), records)
        if (plan := budget.evaluation) is None:
            return
        every = plan.every or budget.steps
        if step == budget.steps or passed(range(every, step + 1, every), step, budget.actors):
            episodes = range(plan.episodes)
            new = self._task.lanes(
                [run.evaluation_seed(m) for run in self._batch.runs for m in episodes]
            )
            discount, events = self._task.discount, self._task.spec.events
            shape = self._lanes, plan.episodes
            recorder.evaluation(evaluate(agent, new, *shape, plan.max_steps, discount, events))

    def columns(self, exported: Sequence[bytes | None]) -> list[RunColumns]:
        """What each run leaves behind, with its agent's final state."""
        asked: list[tuple[Columns | None, Columns | None]] = [(None, None)] * self._lanes
        if (queries := self.queries) is not None:
            asked = list(zip(queries.curves.finish(), queries.predictions.finish(), strict=True))
        return [
            RunColumns(metrics, episodes, drawn, state, predictions)
            for (metrics, episodes), (drawn, predictions), state in zip(
                self.recorder.finish(), asked, exported, strict=True
            )
        ]

    def _metrics(self, agent: Agent | SinglePolicy) -> dict[str, Tensor]:
        """An agent's own metrics, and the scores of its predictions of Q where Q* is known."""
        metrics, known = dict(agent.metrics()), self._optimal_q
        check_metrics(agent, metrics, self._lanes)
        if known is not None:
            predicted = agent.uncertainty(known.obs.expand(self._lanes, *known.obs.shape))
            if predicted is not None:
                metrics |= score_uncertainty(predicted, known.values)
                if known.return_atoms is not None and known.return_probs is not None:
                    metrics |= score_return_distribution(
                        predicted, known.return_atoms, known.return_probs
                    )
        return metrics
