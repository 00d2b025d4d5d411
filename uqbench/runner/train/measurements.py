"""Measurements of a batch's agents: while they learn, and, the last ones, once they are trained.

The two are apart: what is measured in training is stored with the agents, and they are judged in
the same process, or later, elsewhere, and again by other scores.
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import Agent
from uqbench.contract.environment import LaneEnv
from uqbench.contract.side_by_side import SideBySide
from uqbench.registry.plugins import Host
from uqbench.results.tables import Columns, RunColumns
from uqbench.runner.batches import Batch
from uqbench.runner.train.compiling import capture_of
from uqbench.runner.train.environments import TaskEnvironment, environment
from uqbench.runner.train.evaluation import Evaluated, evaluate
from uqbench.runner.train.guards import Checked, check_metrics
from uqbench.runner.train.loop_agent import SinglePolicy
from uqbench.runner.train.recorder import Recorder, passed
from uqbench.uncertainty.interval_scores import score_return_distribution, score_uncertainty
from uqbench.uncertainty.queries import QueryScorer

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
        tasks: the environment of each of its tasks.
        env: the lanes that the agents are trained in.
        alone: an environment of each task by itself, for what it says of itself, by its name.
        recorder: takes in every outcome.
        queries: ask the agents of each task; none where the budget does not say so.
        latest: what was recorded last.
        returned: mean returns ``[L]`` of the last evaluation.
        compares: whether a policy may be evaluated before it learns, in the middle of its run.
    """

    def __init__(self, batch: Batch, host: Host, device: torch.device) -> None:
        self._batch, self.device = batch, device
        self.tasks = [TaskEnvironment(part, host, device) for part in batch.parts]
        counts = [len(part.runs) for part in batch.parts]
        ends = accumulate(counts)
        self._lanes = [slice(end - n, end) for n, end in zip(counts, ends, strict=True)]
        self.env = environment(self.tasks, [task.training_seeds for task in self.tasks])
        self.alone: dict[str, LaneEnv] = {
            part.cell.task.name: task.lanes(task.training_seeds[:1]) if batch.beside else self.env
            for part, task in zip(batch.parts, self.tasks, strict=True)
        }
        lanes, budget, task = len(batch.runs), batch.budget, self.tasks[0]
        how = task.spec.events, device, task.discount, task.spec.name, budget.actors
        self.recorder = Recorder(lanes, budget.steps, *how)
        scorers = [one.query_scorer() for one in self.tasks]
        self.queries = [scorer for scorer in scorers if scorer is not None]
        self._points = frozenset().union(*(one.points for one in self.queries)) - {budget.steps}
        self.latest: Latest = {}
        self.returned: NDArray[np.float64] | None = None
        self.compares = budget.evaluation is not None and not budget.ranks
        self._last: Mapping[str, Tensor] = {}
        self._optimal_q = task.optimal_q()

    def begin(self, agent: Agent | SinglePolicy) -> None:
        """Before an agent's first step."""
        for scorer, asked in self._asked(agent, 0):
            scorer.start(asked)

    def see(self, step: int, agent: Agent | SinglePolicy, obs: Tensor) -> None:
        """Note the observations of an agent after ``step`` steps, ``[L, M, *obs]``."""
        if self.recorder.due(step):
            self._checked(agent, step).uncertainty(obs)
        for scorer in self.queries:
            scorer.see(step, self.env, obs)

    def measure(self, step: int, agent: Agent | SinglePolicy) -> None:
        """Record what is due after ``step`` steps, but for what :meth:`judged` measures."""
        budget, recorder, last = self._batch.budget, self.recorder, step == self._batch.budget.steps
        for point in passed(self._points, step, budget.actors):
            recorder.add(self._scores(agent, step, point), point)
        if not last and (records := recorder.due(step)):
            self.latest = recorder.record(self._metrics(agent, step), records)
        every = budget.evaluation and budget.evaluation.every
        if every and not last and passed(range(every, step + 1, every), step, budget.actors):
            self._evaluate(agent)

    def end(self, agent: Agent | SinglePolicy) -> None:
        """Note an agent's metrics after its last step."""
        self._last = self._metrics(agent, self._batch.budget.steps)

    def judged(self, agent: Agent | SinglePolicy) -> list[RunColumns]:
        """The columns of each run, once its trained agent is asked and evaluated."""
        steps, recorder = self._batch.budget.steps, self.recorder
        recorder.add(self._scores(agent, steps, steps), steps)
        self.latest = recorder.record(self._last, recorder.due(steps))
        if self._batch.budget.evaluation is not None:
            self._evaluate(agent)
        return self._columns()

    def _evaluate(self, agent: Agent | SinglePolicy) -> None:
        evaluated = self.episodes(agent)
        self.returned = evaluated.returns.mean(1)
        self.recorder.evaluation(evaluated)

    def episodes(self, agent: Agent | SinglePolicy) -> Evaluated:
        """The episodes of an evaluation, which nothing records."""
        plan, runs = self._batch.budget.evaluation, self._batch.runs
        assert plan is not None
        episodes = range(plan.episodes)
        seeds = [
            [run.evaluation_seed(m) for run in part.runs for m in episodes]
            for part in self._batch.parts
        ]
        new = environment(self.tasks, seeds)
        capture = capture_of(agent, new, self.device, self._batch.budget.numerics)
        how = plan.max_steps, self.recorder.discount, self.recorder.events, capture
        return evaluate(agent, new, len(runs), plan.episodes, *how)

    def _columns(self) -> list[RunColumns]:
        asked: list[tuple[Columns | None, Columns | None]] = [
            drawn
            for one in self.queries
            for drawn in zip(one.curves.finish(), one.predictions.finish(), strict=True)
        ]
        asked = asked or [(None, None)] * len(self._batch.runs)
        recorded = zip(self.recorder.finish(), asked, strict=True)
        return [RunColumns(*own, *drawn) for own, drawn in recorded]

    def of_lane(self, lane: int) -> dict[str, Any]:
        """The state of one lane's measurements in training, for measurements of it alone."""
        last = {name: float(values[lane]) for name, values in self._last.items()}
        asked = None
        for scorer, lanes in zip(self.queries, self._lanes, strict=False):
            if lane in range(lanes.start, lanes.stop):
                asked = scorer.state_dict(lane - lanes.start)
        return {"last": last, "recorder": self.recorder.state_dict(lane), "queries": asked}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from ``of_lane()`` of this one lane."""
        last = state["last"].items()
        self._last = {name: torch.tensor([value], dtype=torch.float64) for name, value in last}
        self.recorder.load_state_dict(state["recorder"])
        for scorer in self.queries:
            scorer.load_state_dict(state["queries"])

    def _asked(
        self, agent: Agent | SinglePolicy, step: int
    ) -> Iterator[tuple[QueryScorer, Checked]]:
        """The scorer of each task, where there is one, with what it asks."""
        env, total = self.env, len(self._batch.runs)
        for scorer, lanes in zip(self.queries, self._lanes, strict=False):
            asked = env.asked(agent, lanes, total) if isinstance(env, SideBySide) else agent
            yield scorer, Checked(asked, env.n_actions, step)

    def _scores(self, agent: Agent | SinglePolicy, step: int, point: int) -> dict[str, Tensor]:
        """Scores ``[L]`` by name; NaN where a task's have none of a name."""
        each = [scorer.score(asked, point) for scorer, asked in self._asked(agent, step)]
        names = dict.fromkeys(name for scores in each for name in scores)
        none = [torch.full((lanes.stop - lanes.start,), torch.nan) for lanes in self._lanes]
        of = list(zip(each, none, strict=False))
        return {name: torch.cat([own.get(name, no) for own, no in of]) for name in names}

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
