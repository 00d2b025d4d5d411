"""Maps of an exported agent's beliefs, over every state of a small environment."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from uqbench_record.agents import ExportedAgent, restore

from uqbench.contract.agent import Uncertainty
from uqbench.contract.errors import UqbenchError
from uqbench.contract.figure import Figure
from uqbench.contract.pictures import Beliefs, StateMap
from uqbench.contract.specs import imported
from uqbench.registry.load_host import load_host
from uqbench.results.store import Store


def state_map(run: Path) -> Figure:
    """Map of what an exported agent believes in every state of a small environment.

    Args:
        run: the folder of a run that was made with ``--keep-agents``.

    Raises:
        UqbenchError: it kept no agent, or the environment has no map.
    """
    from uqbench_report.plots.state_map import figure

    folder = run.resolve()
    store = Store(folder.parents[4])
    exported = restore(store, folder.relative_to(store.root).as_posix(), load_host())
    states, beliefs = map_beliefs(exported)
    title = f"{exported.run.suite} {exported.run.name}"
    return figure(states, beliefs, title, map_truth(exported, states))


def beliefs_at(exported: ExportedAgent, obs: Tensor) -> Beliefs:
    """The agent's predictions at observations ``[1, M, *obs]``, ``[M, A]`` each."""
    with torch.no_grad():
        said = exported.agent.uncertainty(obs) or Uncertainty()
    parts = {"mean": said.mean, "epistemic": said.epistemic_var, "aleatoric": said.aleatoric_var}
    beliefs = {n: of[0].double().cpu().numpy() for n, of in parts.items() if of is not None}
    sds = {name: np.sqrt(np.maximum(beliefs[name], 0)) for name in beliefs if name != "mean"}
    return beliefs | sds


def map_beliefs(exported: ExportedAgent) -> tuple[StateMap, Beliefs]:
    """The agent's predictions at every state of a small environment, ``[states, A]`` each.

    Raises:
        UqbenchError: the environment has no map.
    """
    make = imported(exported.task.spec.state_map)
    if make is None:
        raise UqbenchError(
            f"the environment {exported.task.spec.name!r} has no map of its states; the windy "
            f"cliff and DeepSea have one."
        )
    states = make(exported.task.config)
    return states, beliefs_at(exported, torch.from_numpy(states.obs)[None])


def map_truth(exported: ExportedAgent, states: StateMap) -> Beliefs:
    """The truth about the agent's own policy in these states, by the names of predictions.

    ``mean`` is Q^π, ``aleatoric`` the standard deviation of its return, and ``epistemic`` how far
    the stated mean is from Q^π; empty where the environment does not know them exactly.
    """
    task = exported.task
    make = imported(task.spec.exact_truth)
    if make is None:
        return {}
    exact = make(task.config, task.discount, [exported.run.environment_seed])
    valid = None if exact.valid is None else exact.valid[None]
    truth = exact.evaluate(exported.agent.policy(exact.obs[None], valid).cpu())
    asked, known = (obs.reshape(len(obs), -1) for obs in (torch.from_numpy(states.obs), exact.obs))
    same = (asked[:, None] == known.cpu()).all(-1)
    if not same.any(1).all():
        return {}
    at = same.int().argmax(1)
    q, variance = truth.q[0, at].numpy(), truth.return_variance[0, at].numpy()
    stated = beliefs_at(exported, torch.from_numpy(states.obs)[None])
    error = {"epistemic": np.abs(stated["mean"] - q)} if "mean" in stated else {}
    return {"mean": q, **error, "aleatoric": np.sqrt(variance)}
