"""The exact policy as an agent."""

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents.oracle import Oracle
from uqbench_tabular.environments.config import DeepSeaConfig
from uqbench_tabular.environments.deep_sea import RIGHT, make_lanes

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import act
from uqbench.uncertainty.interval_scores import score_uncertainty

CPU = torch.device("cpu")
CONFIG = DeepSeaConfig(states=4)


def test_it_has_no_regret_and_its_intervals_are_points_on_the_truth():
    """Q*(s₁, right) of DeepSea(4) is 0.80907; left costs 0.08091."""
    lanes = make_lanes(CONFIG, [1, 2], None, CPU)
    agent = Oracle(EnvironmentInfo(lanes.observation_space, 2, 0.9, 100), [1, 2], CONFIG, CPU)
    obs, valid = lanes.reset()
    for _ in range(100):
        action = act(agent, obs, valid)
        assert (action == RIGHT).all()
        out = lanes.step(action)
        obs = out.obs
        assert (out.events["regret"] == 0).all()
    stated = agent.uncertainty(torch.arange(4).expand(2, -1))
    assert stated.mean[0, 0].tolist() == pytest.approx([0.80907 - 0.08091, 0.80907], abs=1e-5)
    scores = score_uncertainty(stated, stated.mean[0])
    assert scores["uncertainty/coverage_95"].tolist() == [1, 1]
    assert scores["uncertainty/interval_score_95"].tolist() == [0, 0]


def test_another_environment_is_refused():
    info = EnvironmentInfo(spaces.Discrete(5), 2, 0.9, 100)
    with pytest.raises(ValueError, match=r"with 4 states and 2 actions.*got Discrete\(5\)"):
        Oracle(info, [0], CONFIG, CPU)
