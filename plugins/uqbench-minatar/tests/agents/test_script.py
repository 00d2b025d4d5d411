"""Scripts beat random play by far."""

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
Cells = dict[int, list[tuple[int, int]]]


def spec_of(game: str) -> EnvironmentInfo:
    space = MinAtarLanes(GameConfig(game=game), [0]).observation_space
    return EnvironmentInfo(space, N_ACTIONS, 0.99, total_steps=1000)


def mean_return(agent: Agent, game: str, episodes: int = 40) -> float:
    env = MinAtarLanes(GameConfig(game=game), range(episodes), TimeLimit(400, "truncation"))
    return float(evaluate(agent, env, 1, episodes, 400).returns.mean())


FACTORS = {"asterix": 10, "breakout": 5, "freeway": 50, "space_invaders": 5}


@pytest.mark.parametrize(
    ("game", "factor"), [*FACTORS.items(), pytest.param("seaquest", 20, marks=pytest.mark.long)]
)
def test_a_script_beats_random_play(game: str, factor: float) -> None:
    script = Script(spec_of(game), [0], ScriptConfig(game=game), CPU)
    random = UniformRandom(spec_of(game), [0], UniformRandomConfig(), CPU)
    assert mean_return(script, game) > factor * mean_return(random, game)
    assert script.state_dict() == {}


GAUGE = [(9, column) for column in range(10)]
OWN: dict[str, Cells] = {
    "space_invaders": {0: [(9, 4)]},
    "asterix": {0: [(5, 5)]},
    "seaquest": {0: [(4, 5)], 1: [(4, 4)]},
}


BOARDS = [
    ("space_invaders", {1: [(2, 4)]}, FIRE),  # below an alien
    ("space_invaders", {1: [(2, 6)]}, RIGHT),
    ("space_invaders", {1: [(2, 4)], 5: [(7, 4)]}, LEFT),  # from the column of a bullet
    ("space_invaders", {1: [(2, 4)], 5: [(7, 4), (7, 3)]}, RIGHT),
    ("space_invaders", {1: [(2, 6)], 5: [(7, 5)]}, 0),
    ("asterix", {3: [(5, 8)]}, RIGHT),  # gold
    ("asterix", {3: [(2, 5)]}, UP),
    ("asterix", {3: [(5, 8)], 1: [(5, 7)]}, LEFT),  # an enemy two columns ahead
    ("asterix", {1: [(4, 5), (5, 4)]}, DOWN),
    ("asterix", {}, 0),
    ("seaquest", {5: [(4, 8)], 7: GAUGE}, FIRE),  # ahead
    ("seaquest", {5: [(4, 1)], 7: GAUGE}, LEFT),  # behind: turn
    ("seaquest", {9: [(8, 5)], 7: GAUGE}, DOWN),  # a diver
    ("seaquest", {9: [(8, 5)], 7: GAUGE[:3], 8: GAUGE[8:9]}, UP),  # little air
    ("seaquest", {9: [(8, 5)], 7: GAUGE[:3]}, DOWN),  # without a diver to surface with
    ("seaquest", {9: [(8, 5)], 7: GAUGE, 8: GAUGE[3:9]}, UP),  # six aboard
    ("seaquest", {9: [(8, 5)], 4: [(5, 5)], 7: GAUGE}, 0),  # a bullet on the way: wait
    ("seaquest", {4: [(4, 6)], 7: GAUGE}, UP),  # a bullet ahead
]


@pytest.mark.parametrize(("game", "cells", "action"), BOARDS)
def test_a_script_does_what_a_board_asks_for(game: str, cells: Cells, action: int) -> None:
    """Cells (row, column) that are set, by channel."""
    channels, play = SCRIPTS[game]
    obs = torch.zeros(channels, 10, 10, dtype=torch.bool)
    for channel, places in (OWN[game] | cells).items():
        for row, column in places:
            obs[channel, row, column] = True
    assert play(obs).item() == action


def test_a_script_of_another_game_is_refused() -> None:
    with pytest.raises(UqbenchError, match="of freeway; got"):
        Script(spec_of("breakout"), [0], ScriptConfig(game="freeway"), CPU)
    with pytest.raises(ValueError, match=f"game must be one of {', '.join(GAMES)}; got 'pong'"):
        ScriptConfig(game="pong")
