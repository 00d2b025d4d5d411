"""How fast MinAtar steps on one core: observations, random actions, new episodes included.

Actions are drawn beforehand for all. README.md says what is equal and what differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from measure import Contestant, Ratio, arguments, positive, report, seconds, take_turns

from uqbench.runner.executors.local import ENVIRONMENT

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
ACTIONS = 6
OUR_LANES = 64
GYMNAX_LANES = (1, 64, 1024)
BLOCK = 1_000  # steps between two looks at the clock


def timed(block: Callable[[], None], steps: int, options: argparse.Namespace) -> float:
    """Steps per second of a block of them; JAX compiles in the first, and perhaps the second."""
    block()
    block()
    began, blocks = seconds(), 0
    while seconds() - began < options.seconds or blocks == 0:
        block()
        blocks += 1
    return blocks * steps / (seconds() - began)


def package(options: argparse.Namespace, turn: int, *, game: str) -> float:
    """The ``minatar`` package, one game: ``act`` and ``state``."""
    import numpy as np
    from minatar import Environment

    env = Environment(game)
    env.seed(turn)
    env.reset()
    actions = np.random.default_rng(turn).integers(ACTIONS, size=BLOCK).tolist()

    def block() -> None:
        for action in actions:
            _, terminated = env.act(action)
            if terminated:
                env.reset()
            env.state()

    return timed(block, BLOCK, options)


def gymnax(options: argparse.Namespace, turn: int, *, game: str, lanes: int) -> float:
    """gymnax: many steps of all lanes in one jitted scan."""
    import jax
    from gymnax import make
    from jax import lax

    name = "".join(part.capitalize() for part in game.split("_"))
    env, params = make(f"{name}-MinAtar", use_minimal_action_set=False)
    steps = max(10, BLOCK // lanes)
    key, first, draw = jax.random.split(jax.random.key(turn), 3)
    actions = jax.random.randint(draw, (steps, lanes), 0, ACTIONS)

    @jax.jit
    def advance(carry):
        def step(carry, action):
            key, state, _ = carry
            key, own = jax.random.split(key)
            obs, state, reward, terminated, truncated, _ = jax.vmap(env.step, (0, 0, 0, None))(
                jax.random.split(own, lanes), state, action, params
            )
            return (key, state, obs), (reward, terminated, truncated)

        return lax.scan(step, carry, actions)

    obs, state = jax.vmap(env.reset, (0, None))(jax.random.split(first, lanes), params)
    carry = (key, state, obs)

    def block() -> None:
        nonlocal carry
        carry, _ = jax.block_until_ready(advance(carry))

    return timed(block, steps * lanes, options)


def uqbench(options: argparse.Namespace, turn: int, *, game: str) -> float:
    """Our lanes, a call a step, as the runner makes it."""
    import torch
    from ours import minatar_lanes

    torch.set_num_threads(1)
    seeds = range(turn * OUR_LANES, (turn + 1) * OUR_LANES)
    env = minatar_lanes(game, seeds, torch.device("cpu"))
    env.reset()
    generator = torch.Generator().manual_seed(turn)
    actions = torch.randint(ACTIONS, (BLOCK, OUR_LANES), generator=generator).unbind()

    def block() -> None:
        for action in actions:
            env.step(action)

    return timed(block, BLOCK * OUR_LANES, options)


def vector(options: argparse.Namespace, turn: int, *, id: str) -> float:
    """A Gymnasium vector environment of 64 games, as other libraries step it."""
    import gymnasium
    import numpy as np
    from gymnasium.vector import AutoresetMode

    if id.startswith("MinAtar/"):
        from minatar.gym import register_envs

        register_envs()
        how = {"autoreset_mode": AutoresetMode.SAME_STEP}
        envs = gymnasium.make_vec(id, OUR_LANES, vectorization_mode="sync", vector_kwargs=how)
    else:
        envs = gymnasium.make_vec(id, OUR_LANES)
    envs.reset(seed=turn)
    steps = max(10, BLOCK // OUR_LANES)
    actions = np.random.default_rng(turn).integers(ACTIONS, size=(steps, OUR_LANES))

    def block() -> None:
        for action in actions:
            envs.step(action)

    return timed(block, steps * OUR_LANES, options)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--games", nargs="+", choices=GAMES, default=GAMES)
    parser.add_argument("--seconds", type=float, default=2.0, help="time of each measurement")
    parser.add_argument("--gymnax-lanes", nargs="*", type=positive, default=GYMNAX_LANES)
    options = parser.parse_args()
    contestants: dict[str, Contestant] = {}
    ratios = []
    for game in options.games:
        own, theirs = f"{game}: uqbench, {OUR_LANES} lanes", f"{game}: minatar"
        peers = {
            f"{game}: gymnax, {lanes} {'lane' if lanes == 1 else 'lanes'}": Contestant(
                partial(gymnax, game=game, lanes=lanes)
            )
            for lanes in options.gymnax_lanes
        }
        contestants[own] = Contestant(partial(uqbench, game=game), ENVIRONMENT)
        contestants[theirs] = Contestant(partial(package, game=game))
        contestants |= peers
        name = f"{''.join(part.capitalize() for part in game.split('_'))}-v0"
        mine, sync = f"{game}: our vector environment", f"{game}: Gymnasium's of the package"
        ids = {mine: f"uqbench_minatar.vector:uqbench/MinAtar-{name}", sync: f"MinAtar/{name}"}
        for contestant, id in ids.items():
            contestants[contestant] = Contestant(
                partial(vector, id=id), ENVIRONMENT if contestant == mine else {}
            )
        ratios.append(Ratio(f"{game}: vector environment ÷ the package's", mine, [sync], 10))
        ratios.append(Ratio(f"{game}: uqbench ÷ minatar", own, [theirs], at_least=10))
        if peers:
            ratios.append(Ratio(f"{game}: uqbench ÷ gymnax's best", own, list(peers), at_least=3))
    report(options, take_turns(options, contestants), ratios)


if __name__ == "__main__":
    main()
