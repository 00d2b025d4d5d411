"""Scripts beat random play by far."""

from __future__ import annotations

import pytest
import torch
from uqbench_minatar.agents.config import ScriptConfig
from uqbench_minatar.agents.script import SCRIPTS, Script
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.games.board import DOWN, FIRE, LEFT, RIGHT, UP
from uqbench_minatar.lanes import MinAtarLanes

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.builtin.trivial import UniformRandom, UniformRandomConfig
from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError
from uqbench.runner.train.evaluation import evaluate

CPU = torch.device("cpu")


def spec_of(game: str) -> EnvironmentInfo:
    space = MinAtarLanes(GameConfig(game=game), [0]).observation_space
    return EnvironmentInfo(space, N_ACTIONS, 0.99, total_steps=1000)


def mean_return(agent: Agent, game: str, episodes: int = 40) -> float:
    env = MinAtarLanes(GameConfig(game=game), range(episodes), TimeLimit(400, "truncation"))
    return float(evaluate(agent, env, 1, episodes, 400).returns.mean())


@pytest.mark.parametrize(
    ("game", "factor"),
    [
        ("asterix", 10),
        ("breakout", 5),
        ("freeway", 50),
        pytest.param("seaquest", 20, marks=pytest.mark.long),
        ("space_invaders", 5),
    ],
)
def test_a_script_beats_random_play(game: str, factor: float) -> None:
    script = Script(spec_of(game), [0], ScriptConfig(game=game), CPU)
    random = UniformRandom(spec_of(game), [0], UniformRandomConfig(), CPU)
    assert mean_return(script, game) > factor * mean_return(random, game)
    assert script.state_dict() == {}


def board(game: str, **cells: list[tuple[int, int]]) -> torch.Tensor:
    """An observation with these cells (row, column) set, by channel."""
    obs = torch.zeros(SCRIPTS[game][0], 10, 10, dtype=torch.bool)
    for channel, places in cells.items():
        for row, column in places:
            obs[int(channel[1:]), row, column] = True
    return obs


@pytest.mark.parametrize(
    ("cells", "action"),
    [
        ({"c1": [(2, 4)]}, FIRE),
        ({"c1": [(2, 6)]}, RIGHT),
        ({"c1": [(2, 4)], "c5": [(7, 4)]}, LEFT),
        ({"c1": [(2, 4)], "c5": [(7, 4), (7, 3)]}, RIGHT),
        ({"c1": [(2, 6)], "c5": [(7, 5)]}, 0),
    ],
)
def test_the_cannon_shoots_below_aliens_and_leaves_the_columns_of_bullets(
    cells: dict[str, list[tuple[int, int]]], action: int
) -> None:
    _, play = SCRIPTS["space_invaders"]
    assert play(board("space_invaders", c0=[(9, 4)], **cells)).item() == action


@pytest.mark.parametrize(
    ("cells", "action"),
    [
        ({"c3": [(5, 8)]}, RIGHT),  # gold
        ({"c3": [(2, 5)]}, UP),
        ({"c3": [(5, 8)], "c1": [(5, 7)]}, LEFT),  # an enemy two columns ahead
        ({"c1": [(4, 5), (5, 4)]}, DOWN),
        ({}, 0),
    ],
)
def test_asterix_goes_to_gold_and_keeps_away_from_enemies(
    cells: dict[str, list[tuple[int, int]]], action: int
) -> None:
    _, play = SCRIPTS["asterix"]
    assert play(board("asterix", c0=[(5, 5)], **cells)).item() == action


GAUGE = [(9, column) for column in range(10)]


@pytest.mark.parametrize(
    ("cells", "action"),
    [
        ({"c5": [(4, 8)], "c7": GAUGE}, FIRE),  # ahead
        ({"c5": [(4, 1)], "c7": GAUGE}, LEFT),  # behind: turn
        ({"c9": [(8, 5)], "c7": GAUGE}, DOWN),  # a diver
        ({"c9": [(8, 5)], "c7": GAUGE[:3], "c8": GAUGE[8:9]}, UP),  # little air
        ({"c9": [(8, 5)], "c7": GAUGE[:3]}, DOWN),  # without a diver to surface with
        ({"c9": [(8, 5)], "c7": GAUGE, "c8": GAUGE[3:9]}, UP),  # six aboard
        ({"c9": [(8, 5)], "c4": [(5, 5)], "c7": GAUGE}, 0),  # a bullet on the way: wait
        ({"c4": [(4, 6)], "c7": GAUGE}, UP),  # a bullet ahead
    ],
)
def test_the_submarine_shoots_fetches_divers_and_surfaces(
    cells: dict[str, list[tuple[int, int]]], action: int
) -> None:
    _, play = SCRIPTS["seaquest"]
    assert play(board("seaquest", c0=[(4, 5)], c1=[(4, 4)], **cells)).item() == action


def test_a_script_of_another_game_is_refused() -> None:
    with pytest.raises(UqbenchError, match="of freeway; got"):
        Script(spec_of("breakout"), [0], ScriptConfig(game="freeway"), CPU)
    with pytest.raises(ValueError, match=f"game must be one of {', '.join(GAMES)}; got 'pong'"):
        ScriptConfig(game="pong")
