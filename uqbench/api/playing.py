"""Playing with an exported agent: its evaluated policy in new episodes, moment by moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.api.agents import ExportedAgent
from uqbench.errors import UqbenchError
from uqbench.pictures import Frame, StateMap


@dataclass(frozen=True)
class Beliefs:
    """What an agent predicts at an observation: one number an action, or None.

    Attributes:
        mean: of Q.
        epistemic: standard deviation of Q that more data would reduce.
        aleatoric: standard deviation of the return that would remain.
    """

    mean: NDArray[np.float64] | None
    epistemic: NDArray[np.float64] | None
    aleatoric: NDArray[np.float64] | None


@dataclass(frozen=True)
class Moment:
    """One observation of an episode, and what the agent does about it.

    Attributes:
        episode: from 0 on.
        step: of the episode, from 0 on.
        picture: of the observation; None where the environment draws none.
        action: chosen by the policy.
        beliefs: at the observation.
        collected: return of the episode so far, undiscounted, before this action.
        reward: that follows.
        ended: whether the episode ends with it.
    """

    episode: int
    step: int
    picture: Frame | None
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
    draw = exported.environment.load_picture()
    for episode in range(episodes):
        env = exported.env([exported.run.evaluation_seed(-1 - episode)])
        obs, valid = env.reset()
        collected = 0.0
        for step in range(most_steps):
            seen = obs[0].clone()
            picture = None if draw is None else draw(exported.environment_config, seen.numpy())
            choose = None if valid is None else valid[:, None]
            action = exported.agent.policy(obs[:, None], choose)[:, 0]
            beliefs = beliefs_at(exported, obs[:, None], 0)
            outcome = env.step(action)
            reward, ended = (
                float(outcome.reward[0]),
                bool(outcome.terminated[0] | outcome.truncated[0]),
            )
            yield Moment(episode, step, picture, int(action[0]), beliefs, collected, reward, ended)
            collected += reward
            obs, valid = outcome.obs, outcome.valid
            if ended:
                break


def beliefs_at(exported: ExportedAgent, obs: Tensor, place: int) -> Beliefs:
    """The agent's predictions at one of the observations ``[1, M, *obs]``."""
    with torch.no_grad():
        predicted = exported.agent.uncertainty(obs)
    stated = predicted or Uncertainty()

    def row(values: Tensor | None) -> NDArray[np.float64] | None:
        return None if values is None else values[0, place].double().cpu().numpy()

    epistemic, aleatoric = row(stated.epistemic_var), row(stated.aleatoric_var)
    return Beliefs(
        row(stated.mean),
        None if epistemic is None else np.sqrt(np.maximum(epistemic, 0)),
        None if aleatoric is None else np.sqrt(np.maximum(aleatoric, 0)),
    )


def map_beliefs(exported: ExportedAgent) -> tuple[StateMap, list[Beliefs]]:
    """The agent's predictions at every state of a small environment.

    Raises:
        UqbenchError: the environment has no map.
    """
    make = exported.environment.load_state_map()
    if make is None:
        raise UqbenchError(
            f"the environment {exported.environment.name!r} has no map of its states; the windy "
            f"cliff and DeepSea have one."
        )
    states = make(exported.environment_config)
    obs = torch.from_numpy(states.obs)[None]
    return states, [beliefs_at(exported, obs, place) for place in range(len(states.obs))]
