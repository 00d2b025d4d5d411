"""How much longer an update of SENTINEL-4 takes than one of a categorical DQN alone.

CartPole's sizes, minibatches of 32, twenty lanes, one core: gradient steps alone, from replay to
Adam. The categorical DQN is the ensemble of one that sees all data, with the same networks; C51 of
uqbench-dqn, whose actions share their hidden layers, is reported as well.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Literal

from measure import Contestant, Ratio, arguments, positive, report, seconds, take_turns
from uqbench_testing.worlds import act, step_of_actors

from uqbench.runner.executors.local import ENVIRONMENT

LANES = 20
FILLED = 200
WARM_UP = 5
ALONE, SHARED, OWN, TRUNK = (
    "categorical DQN",
    "SENTINEL-4, shared minibatch",
    "SENTINEL-4, a minibatch per member",
    "C51, shared hidden layers",
)


def measure(options: argparse.Namespace, turn: int, *, name: str) -> float:
    """Updates per second of all lanes together."""
    import torch
    from gymnasium import spaces
    from uqbench_dqn.c51 import C51
    from uqbench_dqn.config import C51Config
    from uqbench_sentinel.agent import Sentinel
    from uqbench_sentinel.config import CARTPOLE_V_MAX, SentinelConfig

    from uqbench.contract.agent import EnvironmentInfo
    from uqbench.contract.risk import CVaR, compose
    from uqbench.runner.executors.local import prepare_process

    prepare_process()
    device, seeds = torch.device("cpu"), range(turn * LANES, (turn + 1) * LANES)
    info = EnvironmentInfo(spaces.Box(-1, 1, (4,)), 2, 0.99, total_steps=100_000)
    neutral = compose(CVaR(1.0), CVaR(1.0))
    never = 10**9
    agent: Sentinel | C51
    if name == TRUNK:
        config = C51Config(
            hidden=(32, 32, 128), v_min=0.0, v_max=CARTPOLE_V_MAX, learning_starts=10 * FILLED
        )
        agent = C51(info, seeds, config, device)
    elif name == ALONE:
        alone = SentinelConfig(members=1, mask_probability=1.0, risk=neutral, update_period=never)
        agent = Sentinel(info, seeds, alone, device)
    else:
        minibatch: Literal["shared", "per_member"] = "shared" if name == SHARED else "per_member"
        four = SentinelConfig(risk=neutral, minibatch=minibatch, update_period=never)
        agent = Sentinel(info, seeds, four, device)
    generator = torch.Generator().manual_seed(turn)
    for _ in range(FILLED):
        obs, after = torch.rand(2, LANES, 4, generator=generator).unbind()
        ends = torch.rand(LANES, generator=generator) < 0.05
        step = step_of_actors(
            obs, act(agent, obs), torch.ones(LANES), ends, torch.zeros_like(ends), after
        )
        agent.observe(step)

    def update() -> None:
        if isinstance(agent, C51):
            agent.learn((torch.rand(LANES, 32, generator=generator) * FILLED).long())
        else:
            groups = agent.config.members if agent.config.minibatch == "per_member" else 1
            agent.learn(agent._drawn(torch.rand(LANES, groups, 32, generator=generator)))

    for _ in range(WARM_UP):
        update()
    began = seconds()
    for _ in range(options.updates):
        update()
    return LANES * options.updates / (seconds() - began)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--updates", type=positive, default=100, help="timed updates of each lane")
    options = parser.parse_args()
    names = (ALONE, SHARED, OWN, TRUNK)
    contestants = {name: Contestant(partial(measure, name=name), ENVIRONMENT) for name in names}
    rates = take_turns(options, contestants)
    ratios = [
        Ratio(f"{ALONE} ÷ {SHARED}", ALONE, [SHARED], at_most=4),
        Ratio(f"{ALONE} ÷ {OWN}", ALONE, [OWN], at_most=7),
        Ratio(f"{TRUNK} ÷ {SHARED}", TRUNK, [SHARED]),
        Ratio(f"{TRUNK} ÷ {OWN}", TRUNK, [OWN]),
    ]
    report(options, rates, ratios)


if __name__ == "__main__":
    main()
