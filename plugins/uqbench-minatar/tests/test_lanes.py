"""MinAtarLanes is the minatar package's games, bit for bit, over as many steps as it takes."""

import os
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from uqbench_minatar import random
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.environment import make
from uqbench_minatar.games import space_invaders
from uqbench_minatar.games.seaquest import state as seaquest
from uqbench_minatar.lanes import MinAtarLanes
from uqbench_minatar.oracle import Game

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import LaneEnv, TimeLimit
from uqbench.errors import UqbenchError
from uqbench.testing.conformance.environments import EnvironmentSubject
from uqbench.testing.results import results
from uqbench.testing.same_bits import difference

CPU = torch.device("cpu")
SEEDS = [0, 1, 2, 2**32 - 1, 12345]
CHANCE = np.array([1, 1, 0.1, 0.02, 0])  # of a random action instead of the player's, by lane
SETTINGS = list(product([0.0, 0.1], [False, True]))  # sticky actions, ramping
every_game = pytest.mark.parametrize("game", GAMES)

# what has to happen in 200,000 steps for them to show anything
RARE = {
    "asterix": ["gold", "hit", "spawn without room", "fastest"],
    "breakout": ["brick", "missed", "last brick", "new wall", "through bricks"],
    "freeway": ["crossed", "run over", "time is up"],
    "seaquest": [
        *("shot", "one diver less", "six divers", "free air", "no air", "no diver"),
        *("enemy bullets", "fastest", "crowd"),
    ],
    "space_invaders": ["shot", "new block", "hit", "landed", "fastest"],
}
HIGHEST_LEVEL = {"asterix": 9, "seaquest": 19, "space_invaders": 6}


def lanes(
    game: str, seeds: list[int] = SEEDS, limit: TimeLimit | None = None, **config: Any
) -> LaneEnv:
    return make(GameConfig(game=game, **config), seeds, limit, CPU)


def actions(steps: int, seeds: list[int] = SEEDS) -> NDArray[Any]:
    return np.random.default_rng(0).integers(N_ACTIONS, size=(steps, len(seeds)))


def assert_same_stream(stream: NDArray[Any], words: NDArray[Any], position: int) -> None:
    """NumPy renews all words at once: renew the rest before comparing them."""
    assert stream[random.POSITION] == position
    for k in range(position, random.WORDS):
        random.renew(stream, k)
    np.testing.assert_array_equal(stream[: random.WORDS], words)


@every_game
@pytest.mark.parametrize("backend", ["lanes", "oracle"])
def test_both_backends_keep_the_rules_of_environments(game: str, backend: Any) -> None:
    config = GameConfig(game=game, backend=backend, sticky_action_prob=0.5)
    subject = EnvironmentSubject(
        name=game, make=lambda seeds, limit: make(config, seeds, limit, CPU),
        single=partial(Game, config) if backend == "oracle" else None,
        limit=TimeLimit(90, "truncation"))  # fmt: skip
    found = results([subject], "environment-")
    assert [str(one) for one in found if not one.ok] == []
    passed = {one.check.id.removeprefix("environment-") for one in found if one.status == "passed"}
    assert passed >= {"forms", "seeds", "lanes", "limit", "state", "long"}


@pytest.mark.long
@every_game
def test_200_000_steps_equal_the_packages(game: str, oracle: Any) -> None:
    events: Counter[str] = Counter()
    level = 0
    for sticky, ramping in SETTINGS:
        env = lanes(game, sticky_action_prob=sticky, difficulty_ramping=ramping)
        oracles = [oracle(game, seed, sticky, ramping) for seed in SEEDS]
        obs, _ = env.reset()
        np.testing.assert_array_equal(obs, [one.observation() for one in oracles])
        rng = np.random.default_rng(0)
        for _ in range(10_000):
            action = rng.integers(N_ACTIONS, size=len(SEEDS))
            for i in np.flatnonzero(rng.random(len(SEEDS)) >= CHANCE):
                action[i] = oracles[i].advice()
            oracle.follow(oracles, action, env.step(torch.from_numpy(action)))
            level = max(level, *(one.level() for one in oracles))
        for stream, one in zip(env.state_dict()["streams"].numpy(), oracles, strict=True):
            assert_same_stream(stream, *one.stream())
            events += one.events
    assert [name for name in RARE[game] if not events[name]] == []
    assert level == HIGHEST_LEVEL.get(game, 0)


@pytest.mark.parametrize("game", ["seaquest", "space_invaders"])
def test_crowded_boards_go_on_as_the_packages(game: str, oracle: Any) -> None:
    """From boards that players hardly reach: equal members of a list, shots at the last moment,
    aliens in the last row.
    """
    rng, seeds = np.random.default_rng(0), list(range(1500))
    env = lanes(game, seeds)
    env.reset()
    saved = env.state_dict()
    oracles = [oracle(game, seed, 0.1, True) for seed in seeds]
    for one, state in zip(oracles, saved["states"].numpy(), strict=True):
        CROWD[game](one.game, state, rng)
    env.load_state_dict(saved)
    over = np.zeros(len(seeds), bool)
    for action in actions(15, seeds):
        out = env.step(torch.from_numpy(action))
        for i in np.flatnonzero(~over):
            assert (out.reward[i], out.terminated[i]) == oracles[i].act(action[i])
            np.testing.assert_array_equal(out.next_obs[i], oracles[i].observation())
        over |= out.terminated.numpy()


def crowd_seaquest(g: Any, state: NDArray[Any], rng: np.random.Generator) -> None:
    """Two rows and few columns full of bullets, divers, fish and submarines, some of them equal."""
    g.sub_x, g.sub_y, g.surface = int(rng.integers(1, 9)), int(rng.integers(1, 6)), False
    state[[seaquest.SUB_X, seaquest.SUB_Y, seaquest.SURFACED]] = g.sub_x, g.sub_y, 0
    g.move_speed = state[seaquest.MOVE_SPEED] = 1  # one that has just moved equals one that waits
    for name, members, width, most in (
        ("f_bullets", seaquest.BULLETS, seaquest.BULLET, 4),
        ("e_fish", seaquest.FISH, seaquest.SWIMMER, 12),
        ("e_subs", seaquest.SUBMARINES, seaquest.SUBMARINE, 12),
        ("e_bullets", seaquest.ENEMY_BULLETS, seaquest.BULLET, 12),
        ("divers", seaquest.DIVERS, seaquest.SWIMMER, 4),
    ):
        state[members] = n = rng.integers(most)
        rows = [rng.integers(3, 6, size=n), rng.integers(2, 4, size=n), rng.integers(2, size=n)]
        rows += [rng.integers(2, size=n) for _ in range(width - 3)]
        listed = np.array(rows).T.tolist()
        setattr(g, name, [[x, y, bool(right), *timers] for x, y, right, *timers in listed])
        items = state[members + 1 :][: n * width].reshape(n, width)
        items[:] = listed if n else items
        items[:, seaquest.DIRECTION] = 2 * items[:, seaquest.DIRECTION] - 1


def crowd_space_invaders(g: Any, state: NDArray[Any], rng: np.random.Generator) -> None:
    """Few aliens, low, that move at once; bullets everywhere."""
    bits = 1 << np.arange(10)
    for name, rows, density in (
        ("alien_map", space_invaders.ALIENS, 0.05),
        ("f_bullet_map", space_invaders.FRIENDLY, 0.02),
        ("e_bullet_map", space_invaders.ENEMY, 0.02),
    ):
        board = (rng.random((10, 10)) < density).astype(float)
        board[rng.integers(10), rng.integers(10)] = 1
        setattr(g, name, board)
        state[rows : rows + 10] = board @ bits
    g.alien_move_timer = state[space_invaders.MOVE_TIMER] = int(rng.integers(3))
    g.alien_dir = state[space_invaders.DIRECTION] = int(rng.choice([-1, 1]))


CROWD = {"seaquest": crowd_seaquest, "space_invaders": crowd_space_invaders}


@every_game
@pytest.mark.parametrize("kind", ["terminal", "truncation"])
@pytest.mark.parametrize("steps", [1, 7, 40])
def test_a_time_limit_is_that_of_the_oracle(game: str, kind: Any, steps: int) -> None:
    limit = TimeLimit(steps, kind)
    env, oracle_env = lanes(game, limit=limit), lanes(game, limit=limit, backend="oracle")
    assert isinstance(env, MinAtarLanes)
    assert isinstance(oracle_env, GymnasiumLanes)
    assert (env.n_actions, env.observation_space) == (N_ACTIONS, oracle_env.observation_space)
    for _ in range(2):  # reset, they begin the same episodes again
        assert difference(env.reset(), oracle_env.reset()) is None
        for action in map(torch.from_numpy, actions(300)):
            assert difference(env.step(action), oracle_env.step(action)) is None


@every_game
@pytest.mark.parametrize("invalid", [-1, 6, 2**32])
def test_an_invalid_action_is_refused_as_by_the_oracle(game: str, invalid: int) -> None:
    action, messages = torch.tensor([0, 3, invalid, 1, 2]), []
    for backend in ("lanes", "oracle"):
        env = lanes(game, backend=backend)
        env.reset()
        with pytest.raises(UqbenchError) as error:
            env.step(action)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("seed", [-1, 2**32])
@pytest.mark.parametrize("backend", ["lanes", "oracle"])
def test_a_seed_that_numpy_does_not_take_is_refused(seed: int, backend: Any) -> None:
    with pytest.raises(Exception, match=r"[Ss]eed"):
        lanes("breakout", [seed], backend=backend).reset()


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_random_numbers_are_numpys(seed: int) -> None:
    ours, theirs = random.seeded(seed), np.random.RandomState(seed)
    for _ in range(400):
        assert random.uniform(ours) == theirs.rand()
        for n in (1, 2, 3, 5, 8, 9, 1000, 2**31 + 1):
            assert random.below(ours, n) == theirs.randint(n)
    assert_same_stream(ours, *theirs.get_state()[1:3])


def test_registering_and_configuring_import_neither_numba_nor_minatar() -> None:
    command = (
        "import sys, uqbench_minatar.plugin, uqbench_minatar.config, uqbench_minatar.environment;"
        "print({'numba', 'minatar'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", command]) == b"set()\n"


def test_a_games_kernels_are_compiled_by_themselves_and_cached_for_other_processes(tmp_path):
    code = """
from uqbench_minatar import cpu
from uqbench_minatar.config import GameConfig
from uqbench_minatar.games import breakout
from uqbench_minatar.lanes import MinAtarLanes
from uqbench_minatar.oracle import Game
MinAtarLanes(GameConfig(game="breakout"), [0])
print([sum(loop.stats.cache_misses.values()) for loop in cpu._loops(breakout)])
"""
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for compiled in ("[1, 1]\n", "[0, 0]\n"):
        command = [sys.executable, "-c", code]
        assert subprocess.check_output(command, text=True, env=variables) == compiled
    indices = [path.name for path in tmp_path.rglob("*.nbi")]
    assert len(indices) == 2
    assert all("uqbench_minatar.games.breakout" in name for name in indices)
