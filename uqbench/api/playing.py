"""Playing with a kept agent: its evaluated policy in fresh episodes, moment by moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.api.agents import KeptAgent
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


def play(kept: KeptAgent, episodes: int = 1, most_steps: int = 1000) -> Iterator[Moment]:
    """Play episodes of the evaluated policy in worlds that it was neither trained nor evaluated on.

    Args:
        kept: the agent.
        episodes: how many.
        most_steps: of each, where it does not end by itself.
    """
    draw = kept.environment.load_picture()
    for episode in range(episodes):
        env = kept.env([kept.run.evaluation_seed(-1 - episode)])
        obs, valid = env.reset()
        collected = 0.0
        for step in range(most_steps):
            seen = obs[0].clone()
            picture = None if draw is None else draw(kept.environment_config, seen.numpy())
            choose = None if valid is None else valid[:, None]
            action = kept.agent.policy(obs[:, None], choose)[:, 0]
            beliefs = beliefs_at(kept, obs[:, None], 0)
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


def beliefs_at(kept: KeptAgent, obs: Tensor, place: int) -> Beliefs:
    """The agent's predictions at one of the observations ``[1, M, *obs]``."""
    with torch.no_grad():
        predicted = kept.agent.uncertainty(obs)
    found = predicted or Uncertainty()

    def row(values: Tensor | None) -> NDArray[np.float64] | None:
        return None if values is None else values[0, place].double().cpu().numpy()

    epistemic, aleatoric = row(found.epistemic_var), row(found.aleatoric_var)
    return Beliefs(
        row(found.mean),
        None if epistemic is None else np.sqrt(np.maximum(epistemic, 0)),
        None if aleatoric is None else np.sqrt(np.maximum(aleatoric, 0)),
    )


def map_beliefs(kept: KeptAgent) -> tuple[StateMap, list[Beliefs]]:
    """The agent's predictions at every state of a small environment.

    Raises:
        UqbenchError: the environment has no map.
    """
    make = kept.environment.load_state_map()
    if make is None:
        raise UqbenchError(
            f"the environment {kept.environment.name!r} has no map of its states; the windy cliff "
            f"and DeepSea have one."
        )
    states = make(kept.environment_config)
    obs = torch.from_numpy(states.obs)[None]
    return states, [beliefs_at(kept, obs, place) for place in range(len(states.obs))]
