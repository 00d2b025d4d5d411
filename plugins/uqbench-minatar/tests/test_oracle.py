"""A Game is the minatar package's game, bit for bit, behind Gymnasium's interface."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from minatar import Environment
from uqbench_minatar.config import GAMES, GameConfig
from uqbench_minatar.oracle import N_ACTIONS, Game

CHANNELS = {"asterix": 4, "breakout": 4, "freeway": 7, "seaquest": 10, "space_invaders": 6}
every_game = pytest.mark.parametrize("game", GAMES)


def make(game: str, **config: Any) -> Game:
    return Game(GameConfig(game=game, **config))


def actions(steps: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(N_ACTIONS, size=steps).tolist()


def trajectory(env: Game, seed: int | None, steps: int = 400) -> list[Any]:
    """Observations, rewards and endings, over the episodes that follow a seeded reset."""
    obs, _ = env.reset(seed=seed)
    seen: list[Any] = [obs.tobytes()]
    for action in actions(steps):
        obs, reward, terminated, truncated, _ = env.step(action)
        seen.append((obs.tobytes(), reward, terminated, truncated))
        if terminated:
            seen.append(env.reset()[0].tobytes())
    return seen


def test_the_games_are_the_five_of_the_paper() -> None:
    assert set(GAMES) == set(CHANNELS)


@every_game
@pytest.mark.parametrize("sticky", [0.0, 0.1])
@pytest.mark.parametrize("ramping", [False, True])
def test_equals_the_minatar_package_step_by_step(game: str, sticky: float, ramping: bool) -> None:
    ours = make(game, sticky_action_prob=sticky, difficulty_ramping=ramping)
    theirs = Environment(game, sticky_action_prob=sticky, difficulty_ramping=ramping)
    obs, info = ours.reset(seed=11)
    theirs.seed(11)
    theirs.reset()
    assert info == {}
    for action in actions(3000):
        np.testing.assert_array_equal(obs, theirs.state().transpose(2, 0, 1))
        obs, reward, terminated, truncated, _ = ours.step(action)
        expected = theirs.act(action)
        assert (reward, terminated) == expected
        np.testing.assert_array_equal(obs, theirs.state().transpose(2, 0, 1))
        assert not truncated
        if terminated:
            obs, _ = ours.reset()
            theirs.reset()


@every_game
def test_interface_is_gymnasiums(game: str) -> None:
    env = make(game)
    assert env.observation_space == spaces.Box(0, 1, (CHANNELS[game], 10, 10), np.bool_)
    assert env.action_space == spaces.Discrete(6)
    obs, _ = env.reset(seed=0)
    assert env.observation_space.contains(obs)
    obs, reward, terminated, truncated, info = env.step(0)
    assert env.observation_space.contains(obs)
    assert [type(x) for x in (reward, terminated, truncated, info)] == [float, bool, bool, dict]


@every_game
def test_passes_gymnasiums_checker(game: str) -> None:
    """A warning is a failure too; rendering is not offered."""
    check_env(make(game), skip_render_check=True)


@every_game
@pytest.mark.parametrize("before", [0, 1, 250])
def test_a_seeded_reset_is_deterministic_whatever_was_played_before(game: str, before: int) -> None:
    fresh, used = make(game, sticky_action_prob=0.5), make(game, sticky_action_prob=0.5)
    trajectory(used, seed=99, steps=before)
    used.step(4)
    assert trajectory(used, seed=7) == trajectory(fresh, seed=7)
    assert trajectory(used, seed=7) == trajectory(fresh, seed=7)


@every_game
def test_seeds_differ(game: str) -> None:
    env = make(game)
    assert len({tuple(map(str, trajectory(env, seed))) for seed in range(5)}) == 5


@every_game
def test_two_games_do_not_share_a_random_stream(game: str) -> None:
    one, other = make(game), make(game)
    one.reset(seed=3)
    trajectory(other, seed=4, steps=50)
    expected = make(game)
    expected.reset(seed=3)
    for action in actions(200):
        (obs, *_), (wanted, *_) = one.step(action), expected.step(action)
        np.testing.assert_array_equal(obs, wanted)


@pytest.mark.parametrize("game", ["asterix", "breakout", "freeway", "seaquest"])
def test_an_unseeded_reset_goes_on_with_the_stream(game: str) -> None:
    """So episodes differ; Space Invaders begins alike in every episode."""
    env = make(game, sticky_action_prob=0.0)
    env.reset(seed=0)
    episodes = set()
    for _ in range(8):
        obs, _ = env.reset()
        episodes.add(obs.tobytes() + b"".join(env.step(0)[0].tobytes() for _ in range(25)))
    assert len(episodes) > 1


@every_game
def test_returned_observations_are_not_overwritten_by_later_steps(game: str) -> None:
    env = make(game)
    handed_out = [env.reset(seed=0)[0]]
    kept = [handed_out[0].copy()]
    for action in actions(300):
        obs, _, terminated, _, _ = env.step(action)
        handed_out.append(obs)
        kept.append(obs.copy())
        if terminated:
            handed_out.append(env.reset()[0])
            kept.append(handed_out[-1].copy())
    np.testing.assert_array_equal(handed_out, kept)


@every_game
def test_writing_to_an_observation_does_not_change_the_game(game: str) -> None:
    env, expected = make(game), make(game)
    env.reset(seed=0)[0][...] = True
    expected.reset(seed=0)
    for action in actions(100):
        obs, wanted = env.step(action)[0], expected.step(action)[0]
        np.testing.assert_array_equal(obs, wanted)
        obs[...] = True


def test_sticky_actions_repeat_the_last_action_with_their_probability() -> None:
    """In Breakout, right then left: stuck, the paddle goes right again. 6 standard deviations of
    2,000 draws: one in 10^8.
    """
    env = make("breakout", sticky_action_prob=0.25)
    stuck = started = 0
    for episode in range(2000):
        env.reset(seed=episode)
        first = int(env.step(3)[0][0].any(0).argmax())
        second = int(env.step(1)[0][0].any(0).argmax())
        if first == 5:  # the first action was not stuck at doing nothing, from column 4
            started += 1
            stuck += second == 6
    assert abs(started / 2000 - 0.75) < 6 * (0.25 * 0.75 / 2000) ** 0.5
    assert abs(stuck / started - 0.25) < 6 * (0.25 * 0.75 / started) ** 0.5


@pytest.mark.parametrize("game", ["pong", "Breakout", ""])
def test_another_game_is_refused(game: str) -> None:
    with pytest.raises(ValueError, match="game must be one of asterix, breakout"):
        GameConfig(game=game)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_sticky_probability_that_is_none_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match=r"sticky_action_prob must be in \[0, 1\]"):
        GameConfig(game="breakout", sticky_action_prob=probability)


def test_defaults_are_the_papers_sticky_actions_and_ramping() -> None:
    assert GameConfig(game="freeway") == GameConfig(
        game="freeway", sticky_action_prob=0.1, difficulty_ramping=True
    )


@every_game
@pytest.mark.parametrize("steps", [0, 1, 37, 400])
def test_a_game_goes_on_from_what_was_saved(game: str, steps: int) -> None:
    env, other = make(game, sticky_action_prob=0.5), make(game, sticky_action_prob=0.5)
    env.reset(seed=3)
    for action in actions(steps):
        if env.step(action)[2]:
            env.reset()
    file = io.BytesIO()
    torch.save(env.state_dict(), file)
    other.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    for action in actions(600, seed=1):
        (obs, *rest), (expected, *others) = env.step(action), other.step(action)
        np.testing.assert_array_equal(obs, expected)
        assert rest == others
        if rest[1]:
            np.testing.assert_array_equal(env.reset()[0], other.reset()[0])
