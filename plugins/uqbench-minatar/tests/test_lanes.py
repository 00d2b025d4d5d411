"""MinAtarLanes is the minatar package's games, bit for bit, over as many steps as it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
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

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import LaneEnv, Outcome, TimeLimit
from uqbench.errors import UqbenchError

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


def play(env: LaneEnv, actions: NDArray[Any]) -> list[tuple[bytes, ...]]:
    """What a game gives, copied."""
    return [contents(env.step(torch.from_numpy(action))) for action in actions]


def contents(out: Outcome) -> tuple[bytes, ...]:
    assert (out.valid, out.next_valid, dict(out.events)) == (None, None, {})
    tensors = (out.reward, out.terminated, out.truncated, out.next_obs, out.obs)
    return tuple(str(t.dtype).encode() + t.numpy().tobytes() for t in tensors)


def actions(steps: int, seeds: list[int] = SEEDS, seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(N_ACTIONS, size=(steps, len(seeds)))


def assert_same_stream(stream: NDArray[Any], words: NDArray[Any], position: int) -> None:
    """NumPy renews all words at once: renew the rest before comparing them."""
    assert stream[random.POSITION] == position
    for k in range(position, random.WORDS):
        random.renew(stream, k)
    np.testing.assert_array_equal(stream[: random.WORDS], words)


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
            out = env.step(torch.from_numpy(action))
            expected = [one.act(a) for one, a in zip(oracles, action, strict=True)]
            assert list(zip(out.reward.tolist(), out.terminated.tolist(), strict=True)) == expected
            assert not out.truncated.any()
            final = np.array([one.observation() for one in oracles])
            assert out.next_obs.numpy().tobytes() == final.tobytes()
            for i in np.flatnonzero(out.terminated):
                oracles[i].package.reset()
                final[i] = oracles[i].observation()
            assert out.obs.numpy().tobytes() == final.tobytes()
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
    rng = np.random.default_rng(0)
    seeds = list(range(1500))
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
    assert env.reset()[0].numpy().tobytes() == oracle_env.reset()[0].numpy().tobytes()
    assert play(env, actions(300)) == play(oracle_env, actions(300))


@every_game
@pytest.mark.parametrize("invalid", [-1, 6, 2**32])
def test_an_invalid_action_is_refused_as_by_the_oracle(game: str, invalid: int) -> None:
    action = torch.tensor([0, 3, invalid, 1, 2])
    messages = []
    for backend in ("lanes", "oracle"):
        env = lanes(game, backend=backend)
        env.reset()
        with pytest.raises(UqbenchError) as error:
            env.step(action)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@every_game
def test_resetting_begins_the_same_episodes_again(game: str) -> None:
    env = lanes(game, sticky_action_prob=0.5)
    seen = []
    for _ in range(2):
        seen.append(env.reset()[0].numpy().tobytes())
        seen.append(play(env, actions(200)))
    assert seen[:2] == seen[2:]


@every_game
def test_a_lane_does_not_depend_on_the_others(game: str) -> None:
    together, alone = lanes(game), lanes(game, [SEEDS[3]])
    together.reset()
    alone.reset()
    for action in actions(300):
        out, expected = (
            together.step(torch.from_numpy(action)),
            alone.step(torch.tensor(action[3:4])),
        )
        assert torch.equal(out.obs[3:4], expected.obs)
        assert torch.equal(out.reward[3:4], expected.reward)


@every_game
def test_a_restored_state_steps_on_as_the_saved_one(game: str) -> None:
    config: Any = {"limit": TimeLimit(90, "truncation"), "sticky_action_prob": 0.8}
    env = lanes(game, **config)
    env.reset()
    play(env, actions(333))
    saved = env.state_dict()
    obs = env.step(torch.from_numpy(actions(1)[0])).next_obs.clone()
    expected = play(env, actions(333, seed=1))
    other = lanes(game, [9] * len(SEEDS), **config)
    other.load_state_dict(saved)
    assert torch.equal(other.step(torch.from_numpy(actions(1)[0])).next_obs, obs)
    assert play(other, actions(333, seed=1)) == expected


def test_a_saved_state_is_a_copy() -> None:
    env = lanes("asterix")
    env.reset()
    saved = env.state_dict()
    kept = {name: value.clone() for name, value in saved.items()}
    play(env, actions(50))
    assert all(torch.equal(saved[name], kept[name]) for name in kept)
    assert torch.equal(saved["obs"].view(torch.bool), lanes("asterix").reset()[0].flatten(1))


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
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "set()"


def test_a_games_kernels_are_compiled_by_themselves_and_cached_for_other_processes(
    tmp_path: Path,
) -> None:
    code = """
from uqbench_minatar import cpu
from uqbench_minatar.config import GameConfig
from uqbench_minatar.games import breakout
from uqbench_minatar.lanes import MinAtarLanes
MinAtarLanes(GameConfig(game="breakout"), [0])
print([sum(loop.stats.cache_misses.values()) for loop in cpu._loops(breakout)])
"""
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for compiled in ("[1, 1]", "[0, 0]"):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=variables, check=True)
        assert done.stdout.strip() == compiled
    indices = [path.name for path in tmp_path.rglob("*.nbi")]
    assert len(indices) == 2
    assert all("uqbench_minatar.games.breakout" in name for name in indices)
