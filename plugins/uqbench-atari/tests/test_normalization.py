"""The 57 games and their human-normalized scores."""

import pytest
from ale_py import roms
from uqbench_atari.normalization import RANDOM_AND_HUMAN, human_normalized


def test_there_are_57_games_and_every_one_has_its_rom_and_its_scores():
    assert len(RANDOM_AND_HUMAN) == 57
    assert set(RANDOM_AND_HUMAN) <= set(roms.get_all_rom_ids())
    assert all(human > random for random, human in RANDOM_AND_HUMAN.values())
    assert (human_normalized("breakout", 1.7), human_normalized("breakout", 30.5)) == (0, 1)
    assert human_normalized("pong", 21.0) == pytest.approx(1.1813, abs=1e-4)
