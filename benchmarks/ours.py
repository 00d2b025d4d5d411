"""uqbench as the benchmarks run it: its MinAtar lanes, its agents, its loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from uqbench_dqn.config import DQNConfig, QRDQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN
from uqbench_minatar.plugin import uqbench_environments
from uqbench_testing.worlds import act, step_of_actors
from uqbench_uadqn.agent import UADQN
from uqbench_uadqn.config import UADQNConfig
from work import (
    ADAM_EPSILON,
    BATCH,
    CHANNELS,
    DISCOUNT,
    EPSILON,
    GAME,
    HIDDEN,
    KERNEL,
    LEARNING_RATE,
    LEARNING_STARTS,
    PLANNED_STEPS,
    QUANTILES,
    REPLAY_CAPACITY,
    TARGET_SYNC_PERIOD,
    Clock,
)

from uqbench.contract.agent import Agent, EnvironmentInfo
from uqbench.contract.environment import LaneEnv
from uqbench.runner.executors.local import prepare_process
from uqbench.runner.train.compiling import compile_agent
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder

COMMON: dict[str, Any] = {
    "learning_rate": LEARNING_RATE,
    "adam_epsilon": ADAM_EPSILON,
    "batch_size": BATCH,
    "replay_capacity": REPLAY_CAPACITY,
    "learning_starts": LEARNING_STARTS,
    "target_sync_period": TARGET_SYNC_PERIOD,
    "channels": CHANNELS,
    "kernel": KERNEL,
    "hidden": (HIDDEN,),
}
GREEDY: dict[str, Any] = {"epsilon_final": EPSILON, "epsilon_decay_steps": 1}


def minatar_lanes(game: str, seeds: Sequence[int], device: torch.device) -> LaneEnv:
    """A game with one lane a seed, as the plugin provides it."""
    spec = next(spec for spec in uqbench_environments() if spec.name == "minatar")
    lanes: LaneEnv = spec.load_factory()(spec.load_config()(game=game), seeds, None, device)
    return lanes


def with_numerics(agent: Agent, numerics: str) -> Agent:
    """The agent as a budget with these numerics runs it."""
    if numerics == "compiled":
        compile_agent(agent)
    return agent


def make_agent(
    method: str,
    env: LaneEnv,
    seeds: Sequence[int],
    numerics: str,
    device: torch.device,
    actors: int = 1,
) -> Agent:
    """An agent with the settings of the common work, and an update a step of so many actors."""
    common = COMMON | {"learn_period": actors, "learning_starts": LEARNING_STARTS * actors}
    info = EnvironmentInfo(
        observation_space=env.observation_space,
        n_actions=env.n_actions,
        discount=DISCOUNT,
        total_steps=PLANNED_STEPS,
        actors=actors,
    )
    agent: Agent
    if method == "dqn":
        agent = DQN(info, seeds, DQNConfig(**common, **GREEDY), device)
    elif method == "qr-dqn":
        agent = QRDQN(info, seeds, QRDQNConfig(**common, **GREEDY, quantiles=QUANTILES), device)
    else:
        agent = UADQN(info, seeds, UADQNConfig(**common, quantiles=QUANTILES), device)
    return with_numerics(agent, numerics)


def bare_loop(agent: Agent, env: LaneEnv, steps: int) -> Iterator[int]:
    """Act, step, observe, and nothing else; yields the number of steps taken."""
    first, valid = env.reset()
    obs = first.clone()
    for t in range(steps):
        action = act(agent, obs, valid)
        outcome = env.step(action)
        agent.observe(
            step_of_actors(
                obs=obs,
                action=action,
                reward=outcome.reward,
                terminated=outcome.terminated,
                truncated=outcome.truncated,
                next_obs=outcome.next_obs,
                valid_actions=outcome.next_valid,
            )
        )
        obs.copy_(outcome.obs)
        valid = outcome.valid
        yield t + 1


def measure_ours(method: str, lanes: int, steps: int, seed: int, numerics: str) -> float:
    """Environment steps per second of all lanes together."""
    prepare_process()
    device = torch.device("cpu")
    seeds = range(seed * lanes, (seed + 1) * lanes)
    env = minatar_lanes(GAME, seeds, device)
    agent = make_agent(method, env, seeds, numerics, device)
    clock = Clock(steps)
    recorder = Recorder(lanes, clock.last, (), device)
    for taken, *_ in interact(agent, env, clock.last, recorder):
        clock.on_step(taken)
    return lanes * clock.steps_per_second
