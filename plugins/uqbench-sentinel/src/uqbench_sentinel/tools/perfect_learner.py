"""Falls on CartPole of an agent that never falls by itself, while ε decays.

    python -m uqbench_sentinel.tools.perfect_learner --steps 20000

lets the regulator act ε-greedily, with ε from 1 to 0.05 over all steps and 0.05 for as many more,
and prints the mean falls of a run in both parts, with standard errors: about what an agent has that
knows everything from the start.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.contract.agent import EnvironmentInfo
from uqbench.contract.environment import TimeLimit
from uqbench.lanes import Clock, EpsilonGreedy
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes
from uqbench_sentinel.cartpole_agents import CartPoleScriptConfig, LinearQuadratic

CPU = torch.device("cpu")


def measure(steps: int, lanes: int) -> NDArray[np.float64]:
    """Falls while ε decays over ``steps`` steps, and in as many after: ``[2, lanes]``."""
    env = CartPoleLanes(CartPoleConfig(), range(lanes), TimeLimit(200, "terminal"))
    info = EnvironmentInfo(env.observation_space, env.n_actions, 0.99, total_steps=2 * steps)
    agent = LinearQuadratic(info, range(lanes), CartPoleScriptConfig(), CPU)
    clock = Clock(CPU)
    exploration = EpsilonGreedy(
        range(lanes), env.n_actions, clock, initial=1.0, final=0.05, start=0, decay_steps=steps
    )
    falls = np.zeros((2, lanes))
    obs, _ = env.reset()
    for t in range(2 * steps):
        action = exploration.explore(agent.act(obs[:, None]), exploration.noise())  # of one actor
        outcome = env.step(action.flatten())
        falls[t // steps] += outcome.events["falls"].numpy()
        obs = outcome.obs
        clock.advance()
    return falls


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--lanes", type=int, default=20)
    arguments = parser.parse_args()
    falls = measure(arguments.steps, arguments.lanes)
    means, errors = falls.mean(1), falls.std(1, ddof=1) / arguments.lanes**0.5
    print(f"while ε decays     {means[0]:.1f} ({errors[0]:.1f})")
    print(f"with ε at its end  {means[1]:.1f} ({errors[1]:.1f})")


if __name__ == "__main__":
    main()
