"""``uqbench.record`` and ``uqbench.evaluate``: a loop that its owner keeps, and a trained agent."""

from pathlib import Path
from typing import Any

import pandas as pd

from uqbench.api.values import Name, Place, Seed, given
from uqbench.contract.errors import UqbenchError
from uqbench.lanes.adapters.vector import LaneVectorEnv
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.runner.batches import Batch
from uqbench.runner.train.loop_agent import SingleEnv
from uqbench.suites.selection import Selection
from uqbench_record.self_run import Asked, Own, SelfRun, batch_of, evaluated


def record(
    env: Any,
    suite: str,
    task: str,
    seed: int = 0,
    *,
    method: str,
    budget: str | None = None,
    policy: Any = None,
    uncertainty: Asked | None = None,
    out: Place = "results",
) -> Any:
    """An environment that counts, cuts and records what a loop of one's own does, as bsuite's does.

    It has ``.steps`` steps, the budget's; ``close()`` evaluates the policy and stores the run, of
    which ``uqbench.load(out)`` makes a row, marked *self-run*. It has the seed of the run already.

    Args:
        env: a ``gymnasium.Env`` or ``VectorEnv`` like the task's; None for the task's own. Its
            wrappers may not change rewards (those in processes of an ``AsyncVectorEnv`` are not
            seen): wrap what is returned.
        suite: name of the suite.
        task: name of its task.
        seed: of the run.
        method: the name of the row.
        budget: name of the budget; None for the suite's default.
        policy: the evaluated policy, ``policy(obs)`` for one observation ``[*obs]``, and
            ``policy(obs, valid)`` where actions are masked, or of a batch ``[1, *obs]``; a tuple's
            first entry is the action. Or a model that has ``predict``. Where it takes
            ``deterministic``, it is asked so. Needed where the budget evaluates.
        uncertainty: what is believed at ``[M, *obs]``: a dictionary of arrays ``[M, A]`` such as
            ``mean`` and ``epistemic_var``, with the names of
            :class:`uqbench.contract.agent.Uncertainty`.
        out: results folder.

    Returns:
        A ``gymnasium.Env``, or a ``VectorEnv`` (of mode ``SAME_STEP``) where ``env`` is one or the
        budget has several actors.

    Raises:
        UqbenchError: a name is unknown, the run is finished, or the environment is another one.

    Example:
        >>> import uqbench
        >>> env = uqbench.record(None, "windy-cliff", "cliff", method="mine")  # doctest: +SKIP
    """
    (batch, host), root = _batch(suite, task, seed, budget, method), given("out", out, Place)
    store = Store(Path(root))
    store.prepare()
    lanes, actors = SelfRun(batch, store, host, Own(policy, uncertainty), env), batch.budget.actors
    vector = actors > 1 or hasattr(env, "num_envs")
    recorded: Any = LaneVectorEnv(lambda _: lanes, actors) if vector else SingleEnv(lanes)
    recorded.steps, recorded.run, recorded.close = lanes.steps, lanes.run, lanes.close
    return recorded


def evaluate(
    policy: Any,
    suite: str,
    task: str,
    seed: int = 0,
    *,
    budget: str | None = None,
    uncertainty: Asked | None = None,
) -> pd.DataFrame:
    """The metrics of a trained agent that need no training: its return and its uncertainty.

    Those of evaluations and of queries, as at the end of a run. Nothing is stored, and nothing is
    a row of a board.

    Args:
        policy: as :func:`record` has it, or a model such as Stable-Baselines3's.
        suite: name of the suite.
        task: name of its task.
        seed: of the evaluation.
        budget: name of the budget; None for the suite's default.
        uncertainty: as :func:`record` has it.

    Returns:
        A row a metric that was measured: ``value``, ``better`` (``max`` or ``min``), ``summary``.

    Raises:
        UqbenchError: a name is unknown, or an action or a belief is none.

    Example:
        >>> import uqbench
        >>> uqbench.evaluate(model, "minatar", "breakout")  # doctest: +SKIP
    """
    own = Own(policy, uncertainty)
    measured = evaluated(*_batch(suite, task, seed, budget, "evaluated"), own)
    rows = {of.name: (value, of.direction, of.summary) for of, value in measured}
    columns = ["value", "better", "summary"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("metric")


def _batch(suite: str, task: str, seed: int, budget: str | None, method: str) -> tuple[Batch, Host]:
    host, one = load_host(), (given("task", task, Name),)
    plan = Selection(suite, budget, None, one, (given("seed", seed, Seed),)).plan(host, "cpu")
    if plan.cells[0].task.environment is None:
        raise UqbenchError(f"{task} is a data set: uqbench.score takes predictions.")
    if method in plan.roles:
        raise UqbenchError(f"{suite} has a method {method!r} already: choose another name.")
    return batch_of(plan, given("method", method, Name)), host
