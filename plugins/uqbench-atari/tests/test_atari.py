"""Atari games as environments, the reference scores, and the paper's own score."""

from __future__ import annotations

import io
from importlib.metadata import PackageNotFoundError

import gymnasium
import numpy as np
import pytest
import torch
import uqbench_atari.plugin
from ale_py import roms
from uqbench_atari.environment import AtariOptions, make
from uqbench_atari.reference import RANDOM_AND_HUMAN, human_normalised
from uqbench_atari.table import final_scores, mean_curve, periods, summary

from uqbench.environment import GymnasiumLanes
from uqbench.errors import UqbenchError
from uqbench.registry.plugins import Host
from uqbench.suites.reading import read_suites


def test_there_are_57_games_and_every_one_has_its_rom_and_its_scores():
    assert len(RANDOM_AND_HUMAN) == 57
    assert set(RANDOM_AND_HUMAN) <= set(roms.get_all_rom_ids())
    assert all(human > random for random, human in RANDOM_AND_HUMAN.values())
    assert human_normalised("breakout", 1.7) == 0
    assert human_normalised("breakout", 30.5) == 1
    assert human_normalised("pong", 21.0) == pytest.approx(1.1813, abs=1e-4)


def test_observations_are_the_last_four_grey_images_as_bytes():
    env = make(AtariOptions(game="breakout"))
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


def test_a_step_is_four_frames_and_an_episode_begins_with_no_ops():
    env = make(AtariOptions(game="pong"))
    starts = set()
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
    actions = np.random.default_rng(seed)
    trace = []
    for _ in range(steps):
        obs, reward, terminated, _, _ = env.step(int(actions.integers(env.action_space.n)))
        trace.append((obs.tobytes(), float(reward), terminated))
        if terminated:
            env.reset()
    return trace


def test_a_saved_game_goes_on_as_it_would_have_with_its_random_numbers():
    """The emulator's, for sticky actions, and over the ends of episodes the no-ops' of the next."""
    env = make(AtariOptions(game="breakout", sticky_action_prob=0.25))
    env.reset(seed=5)
    walk(env, 100, 0)
    file = io.BytesIO()
    torch.save(env.state_dict(), file)
    again = make(AtariOptions(game="breakout", sticky_action_prob=0.25))
    again.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    trace = walk(env, 300, 1)
    assert trace == walk(again, 300, 1)
    assert any(ended for _, _, ended in trace)


def test_lanes_are_the_same_for_the_same_seed_and_can_be_saved():
    options = AtariOptions(game="pong")
    lanes = GymnasiumLanes(lambda: make(options), [3, 4, 3])
    obs, _ = lanes.reset()
    assert torch.equal(obs[0], obs[2])
    saved = lanes.state_dict()
    outcome = lanes.step(torch.tensor([2, 2, 3]))
    again = GymnasiumLanes(lambda: make(options), [3, 4, 3])
    again.load_state_dict(saved)
    assert torch.equal(again.step(torch.tensor([2, 2, 3])).obs, outcome.obs)
    assert outcome.obs.dtype == torch.uint8


def test_a_lost_life_ends_an_episode_only_where_that_is_asked_for():
    lengths = {}
    for option in (False, True):
        env = make(AtariOptions(game="breakout", terminal_on_life_loss=option))
        env.reset(seed=1)
        lengths[option] = next(
            t for t, a in enumerate(np.resize([1, 2, 2, 2], 5_000)) if env.step(int(a))[2]
        )
    assert lengths[True] < lengths[False]


def test_a_game_that_is_not_there_is_told_with_its_nearest_name():
    with pytest.raises(ValueError, match=r"'montezuma'.*montezuma_revenge"):
        AtariOptions(game="montezuma")
    with pytest.raises(ValueError, match="at least 1"):
        AtariOptions(game="pong", frames=0)


def test_a_missing_rom_is_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(UqbenchError, match=r"ROM of 'pong'.*pong\.bin.*unset ALE_ROMS_DIR"):
        make(AtariOptions(game="pong"))


def test_without_the_emulators_package_the_plugin_says_which_to_install(monkeypatch):
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("uqbench_atari.plugin.version", absent)
    host = Host()
    left_out = host.register(
        name="atari",
        distribution="uqbench-atari",
        version="0",
        load=lambda: uqbench_atari.plugin,
        requires=["uqbench"],
    )
    assert "pip install 'ale-py" in str(left_out.failure)
    assert "atari" not in host.environments


def test_the_suite_has_the_57_games_and_their_references(monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "atari")
    suite = read_suites(Host.load()).suite("atari")
    paper = suite.budget("paper")
    assert {task.name for task in suite.tasks_of(paper)} == set(RANDOM_AND_HUMAN)
    references = suite.normalization_constants(suite.metric("evaluation_return"))
    for game, (random, human) in RANDOM_AND_HUMAN.items():
        assert suite.task(game).options == {"game": game}
        assert (references[game].zero, references[game].one) == (random, human)
    assert (paper.steps * 4, paper.seeds) == (200_000_000, 3)
    assert paper.evaluation is not None
    assert paper.evaluation.every is not None
    assert paper.evaluation.every * 4 == 1_000_000


# -- the paper's score ---------------------------------------------------------------------------


def test_the_best_period_of_the_average_over_seeds_counts():
    """Not the average of each seed's best period, which is larger."""
    curve = mean_curve([{1: 10.0, 2: 0.0, 3: 5.0}, {1: 0.0, 2: 12.0, 3: 5.0}])
    assert curve == {1: 5.0, 2: 6.0, 3: 5.0}
    scores = final_scores({"breakout": {1: 1.7, 2: 30.5, 3: 16.1}, "pong": {1: -20.7}})
    assert scores == {"breakout": 1.0, "pong": 0.0}


def test_the_rows_of_table_1_and_of_the_figures():
    scores = {"a": 0.5, "b": 1.5, "c": 10.0}
    assert summary(scores) == (400.0, 150.0, 2)
    rows = periods({"breakout": {1: 1.7, 2: 59.3}, "freeway": {1: 29.6 / 2, 2: 29.6, 3: 0.0}})
    assert rows == [(4, 0, pytest.approx(0.25)), (8, 1, pytest.approx(1.5))]
