"""A Game is the minatar package's game, bit for bit, behind Gymnasium's interface."""

from typing import Any

import numpy as np
import pytest
from minatar import Environment
from uqbench_minatar.config import GAMES, GameConfig
from uqbench_minatar.oracle import N_ACTIONS, Game


def make(game: str, **config: Any) -> Game:
    return Game(GameConfig(game=game, **config))


def actions(steps: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(N_ACTIONS, size=steps).tolist()


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("sticky", [0.0, 0.1])
@pytest.mark.parametrize("ramping", [False, True])
def test_equals_the_minatar_package_step_by_step(game: str, sticky: float, ramping: bool) -> None:
    ours = make(game, sticky_action_prob=sticky, difficulty_ramping=ramping)
    theirs = Environment(game, sticky_action_prob=sticky, difficulty_ramping=ramping)
    obs, info = ours.reset(seed=11)
    theirs.seed(11)
    theirs.reset()
    assert info == {}
    handed_out, kept = [], []
    for action in actions(3000):
        np.testing.assert_array_equal(obs, theirs.state().transpose(2, 0, 1))
        obs, reward, terminated, truncated, _ = ours.step(action)
        assert (reward, terminated) == theirs.act(action)
        np.testing.assert_array_equal(obs, theirs.state().transpose(2, 0, 1))
        assert not truncated
        handed_out.append(obs)
        kept.append(obs.copy())
        if terminated:
            obs, _ = ours.reset()
            theirs.reset()
    np.testing.assert_array_equal(handed_out, kept)  # later steps write into none of them


NONE = [
    *(({"game": game}, "one of asterix, breakout") for game in ("pong", "Breakout", "")),
    *(({"sticky_action_prob": p}, r"must be in \[0, 1\]") for p in (-0.1, 1.1, float("nan"))),
]


@pytest.mark.parametrize(("config", "said"), NONE)
def test_a_game_or_a_probability_that_is_none_is_refused(config: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GameConfig(**{"game": "breakout"} | config)
