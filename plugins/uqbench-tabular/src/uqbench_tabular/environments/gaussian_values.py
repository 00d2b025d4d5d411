"""Worlds whose values have a posterior in closed form, and data that every agent is shown alike.

Transitions are known and the policy is fixed, so values are linear in the mean rewards; these are
normal, and so is the noise. What an exact Bayesian knows of Q is then a normal distribution with
its full covariance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional as F

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.contract.truth import Climatology, ExactTruth, Truth
from uqbench.lanes import Normal
from uqbench_tabular.environments.config import GaussianValuesConfig
from uqbench_tabular.environments.posterior_scores import Posterior, score_posterior

STATES, ACTIONS = 4, 2
CIRCUIT = ((0, 0), (1, 1), (3, 1), (1, 0), (2, 0), (3, 0), (0, 1), (2, 1))
"""Every state and action once, each followed by the next: an Euler circuit of the ring whose
actions lead one and two states further."""
PAIRS = len(CIRCUIT)
PLACE = [CIRCUIT.index((state, action)) for state in range(STATES) for action in range(ACTIONS)]
"""The place in the circuit of each pair, in the order of states and actions."""


class GaussianValues(LaneEnv):
    """Shows ``n`` rewards of every state and action, going round a circuit, and then rests.

    One action is valid in each step, the circuit's, so that all agents have the same data and the
    policy is known. Mean rewards are standard normal, drawn for every seed, and rewards have the
    noise σ. After the data, observations are zero, nothing is paid and every step is terminal.

    Source: uqbench; the linear-Gaussian case of O'Donoghue et al. 2018, section 3
    """

    n_actions = ACTIONS
    observation_space = spaces.Box(0, 1, (STATES,), np.float32)

    def __init__(
        self,
        config: GaussianValuesConfig,
        seeds: Sequence[int],
        limit: TimeLimit | None,
        device: torch.device,
    ) -> None:
        self._lanes, self._length, self._device = len(seeds), config.n * PAIRS, device
        self._rewards = drawn_rewards(config, seeds).float().to(device)
        self._t = 0

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Begin the circuit."""
        self._t = 0
        return self._seen(0)

    def step(self, action: Tensor) -> Outcome:
        """The next reward, whatever the action; nothing after the last one."""
        never = torch.zeros(self._lanes, dtype=torch.bool, device=self._device)
        rests = self._t >= self._length
        reward = torch.zeros(self._lanes, device=self._device)
        if not rests:
            reward = self._rewards[:, self._t]
        self._t += 1
        obs, valid = self._seen(self._t)
        next_obs, next_valid = (obs, valid) if rests else self._seen(self._t % PAIRS)
        last = never | (self._t == self._length)
        return Outcome(reward, never | rests, last, next_obs, obs, next_valid, valid)

    def state_dict(self) -> dict[str, Any]:
        """The step; rewards are functions of the seeds."""
        return {"t": self._t}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t = state["t"]

    def _seen(self, t: int) -> tuple[Tensor, Tensor]:
        """Observations ``[L, S]`` and valid actions ``[L, A]`` before step ``t``."""
        obs = torch.zeros(STATES, device=self._device)
        valid = torch.ones(ACTIONS, dtype=torch.bool, device=self._device)
        if t < self._length:
            state, action = CIRCUIT[t % PAIRS]
            obs[state] = 1.0
            valid = F.one_hot(torch.tensor(action), ACTIONS).bool().to(self._device)
        return obs.repeat(self._lanes, 1), valid.repeat(self._lanes, 1)


def drawn_rewards(config: GaussianValuesConfig, seeds: Sequence[int]) -> Tensor:
    """The rewards of every step with data, ``[L, 8 n]`` float64."""
    cpu = torch.device("cpu")
    noise = Normal(seeds, "gaussian values/noise", (config.n, PAIRS), cpu).at(0).double()
    return (mean_rewards(seeds)[:, None] + config.sigma * noise).flatten(1)


def mean_rewards(seeds: Sequence[int]) -> Tensor:
    """Mean rewards of each pair, in the order of the circuit, ``[L, 8]`` float64."""
    return Normal(seeds, "gaussian values/world", (PAIRS,), torch.device("cpu")).at(0).double()


def values_of_rewards(discount: float) -> Tensor:
    """``Q = G r`` of the circuit's policy, ``G = (I − γ P)⁻¹``: ``[8, 8]`` float64."""
    following = torch.eye(PAIRS, dtype=torch.float64).roll(1, 1)
    found: Tensor = torch.linalg.inv(torch.eye(PAIRS, dtype=torch.float64) - discount * following)
    return found


def posterior(config: GaussianValuesConfig, discount: float, seeds: Sequence[int]) -> Posterior:
    """After all data: ``r ~ N(0, 1)`` given n rewards of mean ȳ is ``N(w ȳ, 1 − w)``.

    ``w = n / (n + σ²)``; Q follows from r.
    """
    to_values = values_of_rewards(discount)
    fitted = drawn_rewards(config, seeds).unflatten(1, (config.n, PAIRS)).mean(1) @ to_values.mT
    weight = config.n / (config.n + config.sigma**2)
    covariance = ((1 - weight) * to_values @ to_values.mT)[PLACE][:, PLACE]
    noise = max(config.sigma, 1e-3) ** 2
    return Posterior(_of_pairs(weight * fitted), covariance, _of_pairs(fitted), noise)


def exact_truth(config: GaussianValuesConfig, discount: float, seeds: Sequence[int]) -> ExactTruth:
    """Every world's Q, whatever an agent's policy, and the distance to its posterior."""
    to_values, exact = values_of_rewards(discount), posterior(config, discount, seeds)
    q = _of_pairs(mean_rewards(seeds) @ to_values.mT)
    noise = config.sigma**2 / (1 - discount**2)
    truth = Truth(q, torch.zeros_like(q), return_var=torch.full_like(q, noise))
    prior_var = float(to_values[0].square().sum())
    return ExactTruth(
        torch.eye(STATES),
        None,
        lambda _: truth,
        scores=lambda stated, _: score_posterior(stated, exact),
        climatology=Climatology(0.0, prior_var**0.5, (prior_var + noise) ** 0.5),
    )


def _of_pairs(values: Tensor) -> Tensor:
    """``[L, S, A]`` from values ``[L, 8]`` in the order of the circuit."""
    found: Tensor = values[..., PLACE].unflatten(-1, (STATES, ACTIONS))
    return found
