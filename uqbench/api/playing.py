"""Playing with an exported agent: its evaluated policy in new episodes, moment by moment."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from uqbench.api.agents import ExportedAgent
from uqbench.contract.agent import Uncertainty
from uqbench.contract.errors import UqbenchError
from uqbench.contract.pictures import Beliefs, StateMap
from uqbench.contract.specs import imported


@dataclass(frozen=True)
class Moment:
    """One observation of an episode, and what the agent does about it.

    Attributes:
        episode: from 0 on.
        step: of the episode, from 0 on.
        action: chosen by the policy.
        beliefs: at the observation.
        collected: return of the episode so far, undiscounted, before this action.
        reward: that follows.
        ended: whether the episode ends with it.
    """

    episode: int
    step: int
    action: int
    beliefs: Beliefs
    collected: float
    reward: float
    ended: bool


def play(exported: ExportedAgent, episodes: int = 1, most_steps: int = 1000) -> Iterator[Moment]:
    """Play episodes of the evaluated policy with seeds that are of no training or evaluation.

    Args:
        exported: the agent.
        episodes: how many.
        most_steps: of each, where it does not end by itself.
    """
    for episode in range(episodes):
        env = exported.env([exported.run.evaluation_seed(-1 - episode)])
        obs, valid = env.reset()
        collected = 0.0
        for step in range(most_steps):
            choose = None if valid is None else valid[:, None]
            action = exported.agent.policy(obs[:, None], choose)[:, 0]
            beliefs = {n: own[0] for n, own in beliefs_at(exported, obs[:, None]).items()}
            outcome = env.step(action)
            reward = float(outcome.reward[0])
            ended = bool(outcome.terminated[0] | outcome.truncated[0])
            yield Moment(episode, step, int(action[0]), beliefs, collected, reward, ended)
            collected += reward
            obs, valid = outcome.obs, outcome.valid
            if ended:
                break


def beliefs_at(exported: ExportedAgent, obs: Tensor) -> Beliefs:
    """The agent's predictions at observations ``[1, M, *obs]``, ``[M, A]`` each."""
    with torch.no_grad():
        stated = exported.agent.uncertainty(obs) or Uncertainty()
    parts = {"mean": stated.mean, "epistemic": stated.epistemic_var}
    beliefs = {
        name: values[0].double().cpu().numpy()
        for name, values in (parts | {"aleatoric": stated.aleatoric_var}).items()
        if values is not None
    }
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
