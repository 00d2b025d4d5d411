"""Run every method of the suite on the simulation and on the package, from the same seed.

    python -m uqbench_highway.tools.compare_agents --steps 120

The table has the first step at which actions differ (a dash: never), the largest differences of
rewards and observations until then, and both total rewards. Observations are float32: where they
differ in the last digit, what an agent learns may differ, and in the end its actions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Literal

import torch

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.contract.config import resolve, scaled
from uqbench.contract.environment import TimeLimit
from uqbench.registry.plugins import Host
from uqbench.runner.executors.local import prepare_process
from uqbench.runner.train.loop import by_actor
from uqbench.suites.configs import method_config
from uqbench.suites.reading import read_suites
from uqbench.suites.tables import Method, Task
from uqbench_highway.config import HighwayConfig
from uqbench_highway.environment import make

CPU = torch.device("cpu")


def drive(
    host: Host, task: Task, method: Method, backend: Literal["lanes", "oracle"], steps: int
) -> Iterator[tuple[int, float, torch.Tensor]]:
    """Action, reward and next observation of every step of one run with seed 0."""
    road_config = task.config | {"backend": backend}
    road = resolve(HighwayConfig, road_config, where=task.name)
    limit = None if task.time_limit is None else TimeLimit(task.time_limit, task.time_limit_is)
    env = make(road, [0], limit, CPU)
    spec = host.agents[str(method.agent)]
    config = scaled(method_config(method, task, host, where=method.name), steps / 100_000)
    about = EnvironmentInfo(env.observation_space, env.n_actions, float(task.discount or 0), steps)
    agent: Agent = spec.load_factory()(about, [0], config, CPU)
    obs = by_actor(env.reset()[0], 1).clone()
    for _ in range(steps):
        action = agent.act(obs)
        out = env.step(action.flatten())
        seen = (out.reward, out.terminated, out.truncated, out.next_obs)
        agent.observe(Step(obs, action, *(by_actor(part, 1) for part in seen)))
        yield int(action), float(out.reward), out.next_obs[0].clone()
        obs = by_actor(out.obs, 1).clone()


def main() -> None:
    """Print one row per method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--methods", nargs="+")
    arguments = parser.parse_args()
    prepare_process()
    host = Host.load()
    suite = read_suites(host).suites["highway"]
    print("{:24}{:>7}{:>10}{:>10}{:>10}{:>10}".format("method", "parted", "reward", "obs", "", ""))
    for method in suite.methods:
        if arguments.methods and method.name not in arguments.methods:
            continue
        parted, reward, seen, totals = 0, 0.0, 0.0, [0.0, 0.0]
        runs = (
            drive(host, suite.tasks[0], method, "lanes", arguments.steps),
            drive(host, suite.tasks[0], method, "oracle", arguments.steps),
        )
        for t, (ours, theirs) in enumerate(zip(*runs, strict=True), 1):
            parted = parted or (t if ours[0] != theirs[0] else 0)
            totals = [totals[0] + ours[1], totals[1] + theirs[1]]
            if not parted:
                reward = max(reward, abs(ours[1] - theirs[1]))
                seen = max(seen, float((ours[2] - theirs[2]).abs().max()))
        print(
            f"{method.name:24}{parted or '—':>7}{reward:10.1e}{seen:10.1e}"
            f"{totals[0]:10.4f}{totals[1]:10.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
