"""Scripts beat random play by far."""

from __future__ import annotations

import pytest
import torch
from uqbench_minatar.agents.config import SCRIPTED, ScriptConfig
from uqbench_minatar.agents.script import SCRIPTS, Script
from uqbench_minatar.config import N_ACTIONS, GameConfig
from uqbench_minatar.games.board import FIRE, LEFT, RIGHT
from uqbench_minatar.lanes import MinAtarLanes

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.errors import UqbenchError
from uqbench.runner.train.evaluation import evaluate
from uqbench.trivial import UniformRandom, UniformRandomConfig

CPU = torch.device("cpu")


def spec_of(game: str) -> EnvironmentInfo:
    space = MinAtarLanes(GameConfig(game=game), [0]).observation_space
    return EnvironmentInfo(space, N_ACTIONS, 0.99, total_steps=1000)


def mean_return(agent: Agent, game: str, episodes: int = 40) -> float:
    env = MinAtarLanes(GameConfig(game=game), range(episodes))
    return float(evaluate(agent, env, 1, episodes, 2501).returns.mean())


@pytest.mark.parametrize(
    ("game", "factor"), [("breakout", 5), ("freeway", 50), ("space_invaders", 5)]
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


def test_a_script_of_another_game_is_refused() -> None:
    with pytest.raises(UqbenchError, match="of freeway; got"):
        Script(spec_of("breakout"), [0], ScriptConfig(game="freeway"), CPU)
    with pytest.raises(
        ValueError, match=f"game must be one of {', '.join(SCRIPTED)}; got 'asterix'"
    ):
        ScriptConfig(game="asterix")
