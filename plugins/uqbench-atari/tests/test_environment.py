"""Atari games as environments: preprocessing, lanes, saving."""

import gymnasium
import numpy as np
import pytest
from uqbench_atari.config import AtariConfig
from uqbench_atari.environment import make

from uqbench.errors import UqbenchError
from uqbench.testing.conformance.agent_runs import through_a_file


def test_observations_are_the_last_four_gray_images_as_bytes():
    env = make(AtariConfig(game="breakout"))
    first, _ = env.reset(seed=0)
    assert (first.shape, first.dtype) == ((4, 84, 84), np.uint8)
    assert env.action_space == gymnasium.spaces.Discrete(4)  # the smallest set of the game
    images = [first[-1]]
    for action in (1, 2, 3, 2, 3, 2):
        obs = env.step(action)[0]
        images.append(obs[-1])
    assert np.array_equal(obs, np.stack(images[-4:]))
    assert obs.max() > 1
    assert not np.array_equal(images[-1], images[-2])


def test_a_step_is_four_frames_and_an_episode_starts_with_no_ops():
    env, starts = make(AtariConfig(game="pong")), set()
    for seed in range(8):
        env.reset(seed=seed)
        starts.add(env.unwrapped.ale.getEpisodeFrameNumber())
    assert len(starts) > 2
    assert max(starts) <= 30
    assert min(starts) >= 1
    before = env.unwrapped.ale.getEpisodeFrameNumber()
    env.step(0)
    assert env.unwrapped.ale.getEpisodeFrameNumber() == before + 4


def walk(env: gymnasium.Env, steps: int, seed: int) -> list[tuple[bytes, float, bool]]:
    actions, trace = np.random.default_rng(seed), []
    for _ in range(steps):
        obs, reward, terminated, _, _ = env.step(int(actions.integers(env.action_space.n)))
        trace.append((obs.tobytes(), float(reward), terminated))
        if terminated:
            env.reset()
    return trace


def test_a_saved_game_resumes_with_its_random_numbers():
    """The emulator's, for sticky actions, and across episodes those of the no-ops."""
    env, again = (make(AtariConfig(game="breakout", sticky_action_prob=0.25)) for _ in range(2))
    env.reset(seed=5)
    walk(env, 100, 0)
    again.load_state_dict(through_a_file(env.state_dict()))
    trace = walk(env, 300, 1)
    assert trace == walk(again, 300, 1)
    assert any(ended for _, _, ended in trace)


def test_a_lost_life_ends_an_episode_only_where_the_config_says_so():
    lengths = {}
    for ends in (False, True):
        env = make(AtariConfig(game="breakout", terminal_on_life_loss=ends))
        env.reset(seed=1)
        taken = enumerate(np.resize([1, 2, 2, 2], 5_000))
        lengths[ends] = next(t for t, action in taken if env.step(int(action))[2])
    assert lengths[True] < lengths[False]


def test_a_missing_rom_is_reported_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(UqbenchError, match=r"ROM of 'pong'.*pong\.bin.*unset ALE_ROMS_DIR"):
        make(AtariConfig(game="pong"))
