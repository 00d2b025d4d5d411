"""A regression's noise from validation data."""

from dataclasses import replace

import pytest
import torch
from uqbench_predictive.baselines.csg_hmc import CyclicalSGHMC, CyclicalSGHMCConfig
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig
from uqbench_predictive.baselines.indexed import Epinet, PriorIndexedConfig
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig
from uqbench_predictive.baselines.post_hoc import PostHoc, PostHocConfig
from uqbench_predictive.baselines.swag import SWAG, SWAGConfig
from uqbench_predictive.networks.training import NOISES, likeliest_noise
from uqbench_predictive.uncertainty import values

SMALL = {"hidden": (8,)}
METHODS = {
    "network": (PostHoc, PostHocConfig(**SMALL)),
    "deep-ensemble": (DeepEnsemble, DeepEnsembleConfig(members=3, **SMALL)),
    "mc-dropout": (MCDropout, MCDropoutConfig(passes=20, **SMALL)),
    "laplace": (Laplace, LaplaceConfig(**SMALL)),
    "csg-hmc": (CyclicalSGHMC, CyclicalSGHMCConfig(iterations=40, cycles=1, samples=5, **SMALL)),
    "swag": (SWAG, SWAGConfig(iterations=40, states=5, rank=3, samples=5, **SMALL)),
    "epinet": (Epinet, PriorIndexedConfig(samples=20, **SMALL)),
}


def test_the_likeliest_noise_is_the_mean_square_less_the_spread():
    """Of one spread for all, within a step of the grid; nothing is left where it explains all."""
    targets = torch.tensor([[1.0, -1.0, 2.0, -2.0]])
    zero = torch.zeros(1, 4, dtype=torch.float64)
    for spread, noise in ((0.0, 2.5), (1.5, 1.0), (9.0, NOISES[0])):
        said = values(zero, zero + spread, torch.ones(1, 1))
        assert likeliest_noise(said, targets).item() == pytest.approx(float(noise), rel=0.025)


@pytest.mark.parametrize(("kind", "config"), METHODS.values(), ids=list(METHODS))
def test_every_regressor_takes_the_noise_of_validation_data_and_nothing_else(toy, kind, config):
    """Targets for validation are a whole unit off, which no training residual knows."""
    task = toy(0)
    data = task.data([1])
    noise = torch.randn(data.targets.shape, generator=torch.Generator().manual_seed(0))
    data = replace(data, validation=replace(data, targets=data.targets + noise))
    said = []
    for own in (config, replace(config, noise="validation")):
        estimator = kind(task.problem, [1], own, torch.device("cpu"))
        estimator.fit(data, None, steps=60)
        said.append(estimator.predict(data.inputs))
    training, validation = said
    assert torch.equal(training.mean, validation.mean)
    assert torch.equal(training.epistemic, validation.epistemic)
    found = likeliest_noise(validation, data.validation.targets)
    assert torch.allclose(validation.aleatoric, found[:, None].expand(-1, 24))
    assert not torch.allclose(training.aleatoric, validation.aleatoric)
    with pytest.raises(ValueError, match="this task has none"):
        estimator.fit(task.data([1]), None, 1)
