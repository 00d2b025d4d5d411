"""Measure the script of every game: the one of the suite's normalized reward per step.

    python -m uqbench_minatar.tools.script --episodes 1000

plays environment seeds 0, 1, … and prints, per game, the mean return of an episode and the mean
reward of a step, with their standard errors; of the latter, a ratio, by the delta method.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from uqbench.contract.agent import EnvironmentInfo
from uqbench.runner.train.evaluation import evaluate
from uqbench_minatar.agents.config import ScriptConfig
from uqbench_minatar.agents.script import Script
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes

LONGEST = 10_000
"""Steps after which an episode is cut; none has been that long."""


def measure(game: str, episodes: int) -> tuple[float, float, float, float]:
    """Mean return and its standard error, mean reward per step and its standard error."""
    env = MinAtarLanes(GameConfig(game=game), range(episodes))
    info = EnvironmentInfo(env.observation_space, N_ACTIONS, 1.0, total_steps=LONGEST)
    script = Script(info, [0], ScriptConfig(game=game), torch.device("cpu"))
    played = evaluate(script, env, 1, episodes, LONGEST)
    returns, lengths = played.returns[0], played.lengths[0]
    rate = returns.sum() / lengths.sum()
    deviations = (returns - rate * lengths) / lengths.mean()
    return (
        float(returns.mean()),
        float(np.std(returns, ddof=1) / episodes**0.5),
        float(rate),
        float(np.std(deviations, ddof=1) / episodes**0.5),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1_000)
    arguments = parser.parse_args()
    print("game            return      se        reward/step  se")
    for game in GAMES:
        figures = measure(game, arguments.episodes)
        print("{:15} {:<11.5g} {:<9.2g} {:<12.6g} {:.2g}".format(game, *figures), flush=True)


if __name__ == "__main__":
    main()
