"""The environment of a batch's task: its lanes, whatever it is written as, and what it knows."""

from collections.abc import Sequence
from copy import deepcopy
from inspect import signature
from typing import Any

import torch

from uqbench.contract.environment import LaneEnv, OptimalQ, TimeLimit
from uqbench.contract.errors import UqbenchError
from uqbench.contract.specs import EnvironmentSpec, imported
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch
from uqbench.suites.configs import task_config
from uqbench.uncertainty.monte_carlo_returns import MonteCarloSource
from uqbench.uncertainty.queries import QueryScorer
from uqbench.uncertainty.query_sources import ExactSource, QuerySource, RolloutSource


class TaskEnvironment:
    """The environment that the runs of a batch are trained and evaluated in.

    Args:
        batch: the runs.
        host: the plugins.
        device: of its tensors.

    Attributes:
        spec: what it is registered as.
        discount: γ, the task's.
        limit: on the steps of an episode, the task's; None where it has none.
        device: of its tensors.
    """

    def __init__(self, batch: Batch, host: Host, device: torch.device) -> None:
        task = batch.cell.task
        self.spec: EnvironmentSpec = host.environments[str(task.environment)]
        self._config = task_config(task, host, where=f"{batch.runs[0].suite}: tasks.{task.name}")
        self.discount = float(task.discount or 0.0)
        limit = task.time_limit
        self.limit = None if limit is None else TimeLimit(limit, task.time_limit_is)
        self._batch, self.device = batch, device

    @property
    def config(self) -> Any:
        """The typed config that the task gives it, each time another copy."""
        return deepcopy(self._config)

    def lanes(self, seeds: Sequence[int]) -> LaneEnv:
        """New copies, one a seed."""
        return lanes_of(self.spec, self.config, seeds, self.limit, self.device)

    @property
    def training_seeds(self) -> list[int]:
        """Those of the lanes that the runs are trained in, one for each run and actor, L · K."""
        actors = range(self._batch.budget.actors)
        return [run.actor_seed(k) for run in self._batch.runs for k in actors]

    def optimal_q(self) -> OptimalQ | None:
        """Ground truth for agents' predictions of Q, where it is known."""
        solve = imported(self.spec.optimal_q)
        if solve is None:
            return None
        solved = solve(self.config, self.discount)
        known = {name: part for name, part in vars(solved).items() if part is not None}
        return OptimalQ(**{name: part.to(self.device) for name, part in known.items()})

    def query_scorer(self) -> QueryScorer | None:
        """The scorer that asks the agents, where the budget says so.

        At exact truth, else at the environment's query states, else at visited states of episodes
        as long as those of an evaluation.

        Raises:
            UqbenchError: the budget does not say how many visited states, or how long episodes are.
        """
        budget, runs, lanes = self._batch.budget, self._batch.runs, len(self._batch.runs)
        queries, discount = budget.queries, self.discount
        if queries is None:
            return None
        exact_truth, query_states = imported(self.spec.exact_truth), imported(self.spec.queries)
        source: QuerySource
        if exact_truth is not None:
            exact = exact_truth(self.config, discount, [run.environment_seed for run in runs])
            source = ExactSource(exact, lanes, self.device)
        elif query_states is not None and (states := query_states(self.config)) is not None:
            source = RolloutSource(queries, states, runs, self.lanes, discount, budget.steps)
        elif queries.states is None or budget.evaluation is None:
            raise UqbenchError(
                f"task {self._batch.cell.task.name!r} has neither query states nor exact truth: to "
                f"be scored by Monte Carlo returns its budget needs queries = {{ states = 64 }} "
                f"and an 'evaluation' table, whose max_steps are those of an episode"
            )
        else:
            asked, longest = (queries.states, queries.tail), budget.evaluation.max_steps
            source = MonteCarloSource(runs, self.lanes, discount, *asked, longest)
        return QueryScorer(source, lanes, budget.steps)


def environment(tasks: Sequence[TaskEnvironment], seeds: Sequence[Sequence[int]]) -> LaneEnv:
    """The environment of all lanes: of each task those of its seeds."""
    first, *others = tasks
    make = imported(first.spec.side_by_side) if others else None
    if make is None:
        return first.lanes(seeds[0])
    return make([task.config for task in tasks], seeds, first.limit, first.device)


def lanes_of(
    spec: EnvironmentSpec,
    config: Any,
    seeds: Sequence[int],
    limit: TimeLimit | None,
    device: torch.device,
) -> LaneEnv:
    """The environment, one lane per seed.

    Raises:
        UqbenchError: the factory made something else than the spec says.
    """
    factory = spec.load_factory()

    def make(*given: Any, **named: Any) -> Any:
        return factory(deepcopy(config), *given, **named)

    if spec.makes_vector:
        from gymnasium.vector import VectorEnv

        from uqbench.lanes.adapters.vector import VectorLanes

        seeded = "seeds" in signature(factory).parameters
        given = {"seeds": [seed % 2**31 for seed in seeds]} if seeded else {}
        env = make(len(seeds), **given)
        if not isinstance(env, VectorEnv):
            raise _wrong(spec, "vector=True", env, "gymnasium.vector.VectorEnv")
        return VectorLanes(env, seeds, limit, spec.events, device)
    if spec.makes_lanes:
        lanes = make(seeds, limit, device)
        if not isinstance(lanes, LaneEnv):
            raise _wrong(spec, "lanes=True", lanes, "uqbench.contract.environment.LaneEnv")
        return lanes
    saved = spec.has_state_dict
    return GymnasiumLanes(make, seeds, limit, spec.events, device, has_state_dict=saved)


def _wrong(spec: EnvironmentSpec, says: str, made: object, expected: str) -> UqbenchError:
    return UqbenchError(
        f"the environment {spec.name!r} says {says} and made a {type(made).__name__}; expected a "
        f"{expected}"
    )
