"""What the config refuses."""

import pytest
from uqbench_atari.config import AtariConfig


def test_an_unknown_game_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"'montezuma'.*montezuma_revenge"):
        AtariConfig(game="montezuma")
    with pytest.raises(ValueError, match="at least 1"):
        AtariConfig(game="pong", frames=0)
