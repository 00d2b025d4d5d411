"""Agents of this package: captured steps, and settings that they refuse."""

import pytest
import torch
from uqbench_posteriors import config as of
from uqbench_posteriors.bdqn import BDQN
from uqbench_posteriors.epinet import EpinetDQN
from uqbench_posteriors.hypermodel import HypermodelDQN
from uqbench_posteriors.ids_dqn import IDSQRDQN
from uqbench_posteriors.iqn import IQN
from uqbench_posteriors.uvu import UVUDQN

from uqbench.testing.capture import simulated
from uqbench.testing.same_bits import compare_captured
from uqbench.testing.worlds import RotatingPixels

SHORT = {
    "hidden": (6,), "channels": 2, "learning_starts": 20, "target_sync_period": 9, "batch_size": 4,
}  # fmt: skip
DRAWS = {"target_sync_period": 3, "sample_period": 7, "posterior_syncs": 4}
INDEXED = {"indices": 3, "index_size": 2}


@pytest.mark.parametrize(
    ("kind", "config", "settings", "actors"),
    [
        (BDQN, of.BDQNConfig, DRAWS, 1),
        (EpinetDQN, of.EpinetConfig, INDEXED, 1),
        (EpinetDQN, of.EpinetConfig, INDEXED, 3),
        (HypermodelDQN, of.HypermodelConfig, INDEXED, 1),
        (HypermodelDQN, of.HypermodelConfig, INDEXED, 3),
        (IDSQRDQN, of.IDSConfig, {"heads": 3, "quantiles": 5}, 1),
        (IQN, of.IQNConfig, {"predicted": 4, "targets": 3, "acting": 5, "cosines": 7}, 1),
        (UVUDQN, of.UVUConfig, {"heads": 3}, 1),
    ],
)
def test_captured_steps_are_those_from_python(kind, config, settings, actors):
    info, own = RotatingPixels.info(actors=actors), config(**SHORT | settings)

    def make():
        return kind(info, range(2), own, torch.device("cpu")), RotatingPixels(2 * actors)

    assert compare_captured(make, 60, simulated, actors) is None


IMPOSSIBLE = {
    of.BDQNConfig: [
        {"prior_var": 0.0}, {"noise_var": -1.0}, {"posterior_syncs": 0}, {"sample_period": 0},
        {"posterior_transitions": 0}, {"samples": 1}, {"hidden": ()}, {"schedule": "triangular"},
    ],
    of.EpinetConfig: [{"index_size": 0}, {"indices": 0}, {"samples": 1}, {"prior_scale": -1.0}],
    of.HypermodelConfig: [{"index_size": 0}, {"samples": 1}, {"noise_std": -1.0}],
    of.IDSConfig: [
        {"heads": 1}, {"quantiles": 1}, {"regret_scale": 0.0}, {"least_noise": 0.0},
        {"kappa": 0.0}, {"quantile_kappa": -1.0},
    ],
    of.IQNConfig: [{"predicted": 0}, {"targets": 0}, {"acting": 0}, {"cosines": 0}, {"kappa": 0.0}],
    of.UVUConfig: [{"heads": 0}, {"prior_scale": 0.0}, {"kappa": 0.0}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "settings"), [(kind, one) for kind, every in IMPOSSIBLE.items() for one in every]
)
def test_impossible_settings_are_refused(config, settings):
    with pytest.raises(ValueError, match="got"):
        config(**settings)
