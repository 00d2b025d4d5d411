"""Scores of planted widths, where states have features."""

from collections.abc import Mapping, Sequence

import pytest
import torch
from torch import Tensor
from uqbench_profile.config import FeatureBayesConfig, FeatureConfig
from uqbench_profile.feature_agents import FeatureBayes
from uqbench_profile.feature_scores import exact_truth
from uqbench_profile.feature_worlds import ACTIONS, FeatureLanes

from uqbench.agent import EnvironmentInfo
from uqbench.testing.same_bits import train

COUNTING = ("counts", "s-over-root-n", "common-factor")
WIDTHS = ("exact", *COUNTING, "constant", "exact-times-3", "silent")


@pytest.fixture
def planted():
    """``planted(config, discount, seeds)``: means over worlds after a run, by width and score."""

    def of(
        config: FeatureConfig, discount: float, seeds: Sequence[int]
    ) -> Mapping[str, Mapping[str, float]]:
        env, truth = FeatureLanes(config, seeds), exact_truth(config, discount, seeds)
        info = EnvironmentInfo(env.observation_space, ACTIONS, discount, 440)
        own = [seed + 10_000 for seed in seeds]  # an agent's draws are not the truth's
        settings = {"family": config.family}
        agent = FeatureBayes(info, own, FeatureBayesConfig(**settings), torch.device("cpu"))
        *_, last = train(agent, env, 440)
        assert not last.obs.any()  # rest
        found: dict[str, Mapping[str, Tensor]] = {}
        for width in WIDTHS:
            agent.config = FeatureBayesConfig(**settings, width=width)
            found[width] = truth.scores(agent.uncertainty(truth.obs), torch.zeros(0))
        return {w: {n: float(x.mean()) for n, x in scores.items()} for w, scores in found.items()}

    return of
