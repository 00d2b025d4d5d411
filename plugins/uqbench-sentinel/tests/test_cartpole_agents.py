"""The script and the controller on CartPole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes
from uqbench_sentinel.cartpole_agents import (
    CartPoleScriptConfig,
    LinearQuadratic,
    PushToTheFall,
    linearized,
    regulator,
)

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError
from uqbench.runner.train.evaluation import Evaluated, evaluate

CPU = torch.device("cpu")
INFO = EnvironmentInfo(spaces.Box(-np.inf, np.inf, (4,)), 2, 0.99, total_steps=1000)
EPISODES = 100


def balance(agent: Agent) -> Evaluated:
    env = CartPoleLanes(CartPoleConfig(), range(EPISODES), TimeLimit(200, "terminal"))
    return evaluate(agent, env, 1, EPISODES, 200, events=("falls",))


def test_the_regulator_never_falls_and_the_script_always_does() -> None:
    assert balance(LinearQuadratic(INFO, [0], CartPoleScriptConfig(), CPU)).counts[2].sum() == 0
    assert balance(PushToTheFall(INFO, [0], CartPoleScriptConfig(), CPU)).counts[2].all()


def test_the_linearization_is_the_textbook_formula() -> None:
    """Barto, Sutton & Anderson's equations at the upright position; 1.1 kg in all, pole 0.1 kg."""
    a, b = linearized()
    turn = 0.5 * (4 / 3 - 0.1 / 1.1)
    expected = np.eye(4)
    expected[0, 1] = expected[2, 3] = 0.02
    expected[3, 2] = 0.02 * 9.8 / turn
    expected[1, 2] = -0.02 * 0.05 / 1.1 * 9.8 / turn
    force = 0.02 * np.array([0, 1 / 1.1 + 0.05 / 1.1**2 / turn, 0, -1 / 1.1 / turn])
    assert np.abs(a - expected).max() < 1e-8
    assert np.abs(b - force).max() < 1e-6  # a push of 10 N, not an infinitesimal one


def test_the_gain_satisfies_the_riccati_equation_and_stabilizes() -> None:
    a, b = linearized()
    gain = regulator()
    closed = a - np.outer(b, gain)
    assert np.abs(np.linalg.eigvals(closed)).max() < 1
    # the cost of the closed loop, by its own Lyapunov equation, gives the same gain
    stage = np.eye(4) + 1e-3 * np.outer(gain, gain)
    system = np.eye(16) - np.kron(closed.T, closed.T)
    cost = np.linalg.solve(system, stage.flatten()).reshape(4, 4)
    assert b @ cost @ a / (1e-3 + b @ cost @ b) == pytest.approx(gain, rel=1e-6)


def test_another_environment_is_refused() -> None:
    other = EnvironmentInfo(spaces.Box(-1, 1, (25,)), 5, 0.99, total_steps=1000)
    for agent in (PushToTheFall, LinearQuadratic):
        with pytest.raises(UqbenchError, match="expected the environment cartpole"):
            agent(other, [0], CartPoleScriptConfig(), CPU)
