"""The whole plugin contract on one screen.

A plugin is an installed package with an entry point in the group ``uqbench`` that names a module
(or any object) with functions marked ``@uqbench.hookimpl``. uqbench's own components register the
same way (``uqbench/registry/builtin/plugin.py``). Within a contract, hooks may gain arguments but
never lose one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import pluggy

from uqbench.contract import specs
from uqbench.contract.identity import Run

if TYPE_CHECKING:  # pandas is imported where there are figures
    from uqbench.contract.figure import Figure

CONTRACT = "0.1"
ENTRY_POINT_GROUP = "uqbench"

hookspec = pluggy.HookspecMarker("uqbench")
hookimpl = pluggy.HookimplMarker("uqbench")


@hookspec
def uqbench_environments() -> Iterable[specs.EnvironmentSpec]:  # type: ignore[empty-body]
    """Environments: ``factory(config) -> gymnasium.Env``, or lanes (see EnvironmentSpec)."""


@hookspec
def uqbench_datasets() -> Iterable[specs.DatasetSpec]:  # type: ignore[empty-body]
    """Supervised problems: ``factory(config) -> uqbench.estimator.Dataset``."""


@hookspec
def uqbench_agents() -> Iterable[specs.AgentSpec]:  # type: ignore[empty-body]
    """Agents: ``factory(info, seeds, config, device) -> uqbench.agent.Agent``."""


@hookspec
def uqbench_estimators() -> Iterable[specs.EstimatorSpec]:  # type: ignore[empty-body]
    """Estimators: ``factory(problem, seeds, config, device) -> uqbench.estimator.Estimator``."""


@hookspec
def uqbench_scores() -> Iterable[specs.ScoreSpec]:  # type: ignore[empty-body]
    """Scores of stored predictions: ``factory(predictions) -> float``."""


@hookspec
def uqbench_risk_measures() -> Iterable[specs.Spec]:  # type: ignore[empty-body]
    """Risk measures: the factory is a dataclass and a ``uqbench.contract.risk.RiskMeasure``."""


@hookspec
def uqbench_suites() -> Iterable[Traversable]:  # type: ignore[empty-body]
    """TOML files: suites, or ``[extend.NAME]`` tables that add methods and claims to a suite."""


@hookspec
def uqbench_claim_kinds() -> Iterable[specs.Spec]:  # type: ignore[empty-body]
    """Kinds of claim: the factory is a dataclass and a ``uqbench.contract.claim.ClaimKind``."""


@hookspec
def uqbench_board_tables() -> Iterable[specs.Spec]:  # type: ignore[empty-body]
    """Tables of boards: ``factory(board) -> uqbench.contract.board_table.BoardTable``."""


@hookspec
def uqbench_executors() -> Iterable[specs.ExecutorSpec]:  # type: ignore[empty-body]
    """Executors of batches: ``factory(context, config) -> uqbench.executor.Executor``."""


@hookspec
def uqbench_figures(board: Any, suite: Any) -> Iterable[Figure]:  # type: ignore[empty-body]
    """Figures of a ``uqbench.boards.stored.StoredBoard``; none for boards of other suites.

    ``suite`` is the board's as it is installed, a ``uqbench.suites.suite.Suite``, or None.
    """


@hookspec
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:  # type: ignore[empty-body]
    """Checks of ``uqbench plugin check`` that are known to fail: reasons by check, by subject.

    ``{"agent ucb": {"agent-seeds": "it has no randomness"}}``. One that passes is a failure.
    """


@hookspec
def uqbench_run_started(run: Run) -> None:
    """A run started or resumed; like the hooks below, called in the process the user started."""


@hookspec
def uqbench_run_progress(run: Run, step: int, metrics: Mapping[str, Any]) -> None:
    """A run has taken ``step`` steps; ``metrics`` are those recorded last."""


@hookspec
def uqbench_run_finished(run: Run, scalars: Mapping[str, float | None]) -> None:
    """A run is finished and stored; ``scalars`` are its metrics' final values."""


@hookspec
def uqbench_run_failed(run: Run, reason: str) -> None:
    """A run failed; the next ``uqbench run`` retries it."""
