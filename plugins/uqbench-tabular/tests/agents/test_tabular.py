"""The tasks that tabular agents accept."""

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents.config import ModelBasedConfig
from uqbench_tabular.agents.psrl import PSRL

from uqbench.agent import EnvironmentInfo

CPU = torch.device("cpu")


def test_observations_must_be_numbered_states_and_returns_discounted():
    with pytest.raises(TypeError, match="Discrete from 0, got Box"):
        PSRL(EnvironmentInfo(spaces.Box(0, 1, (5,)), 2, 0.9, 10), [0], ModelBasedConfig(), CPU)
    with pytest.raises(TypeError, match="Discrete from 0, got Discrete"):
        PSRL(EnvironmentInfo(spaces.Discrete(5, start=1), 2, 0.9, 10), [0], ModelBasedConfig(), CPU)
    with pytest.raises(ValueError, match="discount below 1, got 1"):
        PSRL(EnvironmentInfo(spaces.Discrete(5), 2, 1.0, 10), [0], ModelBasedConfig(), CPU)
