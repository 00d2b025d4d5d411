"""Measurements while a batch's agents learn: metrics, evaluations, scores of predictions."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import Agent
from uqbench.registry.plugins import Host
from uqbench.results.tables import Columns, RunColumns
from uqbench.runner.batches import Batch
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.evaluation import evaluate
from uqbench.runner.train.guards import Checked, check_metrics
from uqbench.runner.train.loop_agent import SinglePolicy
from uqbench.runner.train.recorder import Recorder, passed
from uqbench.uncertainty.interval_scores import score_return_distribution, score_uncertainty

Latest = Mapping[str, NDArray[np.float64]]
"""The metrics ``[L]`` that were recorded last, by name."""


class Measurements:
    """Measures the agents of a batch after each step.

    Args:
        batch: the runs, one a lane.
        host: the plugins.
        device: where they compute.

    Attributes:
        device: the same.
        task: its environment.
        env: the lanes that the agents are trained in.
        recorder: takes in every outcome.
        queries: asks the agents; None where the budget does not say so.
        latest: what was recorded last.
    """

    def __init__(self, batch: Batch, host: Host, device: torch.device) -> None:
        self._batch, self.device = batch, device
        self.task = task = TaskEnvironment(batch, host, device)
        self.env = task.training_lanes()
        lanes, budget, spec = len(batch.runs), batch.budget, task.spec
        self.recorder = Recorder(
            lanes, budget.steps, spec.events, device, task.discount, spec.name, budget.actors
        )
        self.queries = task.query_scorer()
        self.latest: Latest = {}
        self._optimal_q = task.optimal_q()

    def begin(self, agent: Agent | SinglePolicy) -> None:
        """Before an agent's first step."""
        if self.queries is not None:
            self.queries.start(self._checked(agent, 0))

    def see(self, step: int, agent: Agent | SinglePolicy, obs: Tensor) -> None:
        """Note the observations of an agent after ``step`` steps, ``[L, M, *obs]``."""
        if self.recorder.due(step):
            self._checked(agent, step).uncertainty(obs)
        if self.queries is not None:
            self.queries.see(step, self.env, obs)

    def measure(self, step: int, agent: Agent | SinglePolicy) -> None:
        """Record what is due after ``step`` steps."""
        budget, recorder = self._batch.budget, self.recorder
        if self.queries is not None:
            for point in passed(self.queries.points, step, budget.actors):
                recorder.add(self.queries.score(self._checked(agent, step), point), point)
        if records := recorder.due(step):
            self.latest = recorder.record(self._metrics(agent, step), records)
        if (plan := budget.evaluation) is None:
            return
        every = plan.every or budget.steps
        if step == budget.steps or passed(range(every, step + 1, every), step, budget.actors):
            episodes = range(plan.episodes)
            new = self.task.lanes(
                [run.evaluation_seed(m) for run in self._batch.runs for m in episodes]
            )
            discount, events = self.task.discount, self.task.spec.events
            shape = len(self._batch.runs), plan.episodes
            recorder.evaluation(evaluate(agent, new, *shape, plan.max_steps, discount, events))

    def columns(self, exported: Sequence[bytes | None]) -> list[RunColumns]:
        """The columns of each run, with its agent's final state."""
        asked: list[tuple[Columns | None, Columns | None]] = [(None, None)] * len(exported)
        if (queries := self.queries) is not None:
            asked = list(zip(queries.curves.finish(), queries.predictions.finish(), strict=True))
        return [
            RunColumns(metrics, episodes, drawn, state, predictions)
            for (metrics, episodes), (drawn, predictions), state in zip(
                self.recorder.finish(), asked, exported, strict=True
            )
        ]

    def _checked(self, agent: Agent | SinglePolicy, step: int) -> Checked:
        return Checked(agent, self.env.n_actions, step)

    def _metrics(self, agent: Agent | SinglePolicy, step: int) -> dict[str, Tensor]:
        """An agent's own metrics, and the scores of its predictions of Q where Q* is known."""
        metrics, known, lanes = dict(agent.metrics()), self._optimal_q, len(self._batch.runs)
        check_metrics(agent, metrics, lanes)
        metrics = {name: value.clone() for name, value in metrics.items()}
        if known is not None:
            obs = known.obs.expand(lanes, *known.obs.shape)
            predicted = self._checked(agent, step).uncertainty(obs)
            if predicted is not None:
                metrics |= score_uncertainty(predicted, known.values)
                if known.return_atoms is not None and known.return_probs is not None:
                    metrics |= score_return_distribution(
                        predicted, known.return_atoms, known.return_probs
                    )
        return metrics
