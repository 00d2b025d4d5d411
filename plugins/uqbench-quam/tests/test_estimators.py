"""What holds for every estimator: each lane by itself, total and parts."""

from dataclasses import replace

import pytest
import torch
from uqbench_predictive.baselines.csg_hmc import CyclicalSGHMC, CyclicalSGHMCConfig
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig
from uqbench_predictive.baselines.hmc import HMC, HMCConfig
from uqbench_predictive.baselines.inputs import Inputs, InputsConfig
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig
from uqbench_predictive.baselines.post_hoc import PostHoc, PostHocConfig
from uqbench_predictive.baselines.reference_entropy import ReferenceEntropy, ReferenceEntropyConfig
from uqbench_predictive.baselines.swag import SWAG, SWAGConfig
from uqbench_predictive.uncertainty import entropy
from uqbench_quam.methods.config import QuamConfig
from uqbench_quam.methods.quam import Quam

SMALL = {"hidden": (8,)}
SEARCH = {"search_steps": 6, "period": 2, **SMALL}
CHAIN = {"iterations": 40, "cycles": 2, "samples": 5, "chain_batch_size": 10, **SMALL}
DESCENT = {
    "iterations": 20, "states": 5, "rank": 3, "samples": 4, "descent_batch_size": 10, **SMALL,
}  # fmt: skip
CASES = {
    "quam": (Quam, QuamConfig(**SEARCH)),
    "quam-best": (Quam, QuamConfig(models="best", **SEARCH)),
    "quam-last-layer": (Quam, QuamConfig(last_layer=True, search_batch=10, **SEARCH)),
    "quam-budget": (Quam, QuamConfig(forward_passes=36, **SEARCH)),
    "deep-ensemble": (DeepEnsemble, DeepEnsembleConfig(members=3, batch_size=10, **SMALL)),
    "mc-dropout": (MCDropout, MCDropoutConfig(passes=20, **SMALL)),
    "laplace": (Laplace, LaplaceConfig(samples=20, **SMALL)),
    "csg-hmc": (CyclicalSGHMC, CyclicalSGHMCConfig(**CHAIN)),
    "swag": (SWAG, SWAGConfig(**DESCENT)),
    "post-hoc": (PostHoc, PostHocConfig(**SMALL)),
    "mahalanobis": (PostHoc, PostHocConfig(score="mahalanobis", **SMALL)),
    "vim": (PostHoc, PostHocConfig(score="vim", **SMALL)),
    "knn": (PostHoc, PostHocConfig(score="knn", **SMALL)),
    "nearest-input": (Inputs, InputsConfig()),
    "input-norm": (Inputs, InputsConfig(score="norm")),
    "hmc": (HMC, HMCConfig(chains=2, burn_in=2, iterations=4, leapfrog=5, **SMALL)),
}


@pytest.mark.parametrize("setting", ["selected", "given", "regression"])
@pytest.mark.parametrize("name", CASES)
def test_a_lane_is_the_same_alone_and_among_others_and_parts_add_up(name, setting, toy, predict):
    kind, config = CASES[name]
    if setting == "regression" and name == "quam":
        config = replace(config, models="best")
    task = toy(0 if setting == "regression" else 3, reference=setting == "given")
    alone, group = predict(kind, config, task, [7]), predict(kind, config, task, [5, 4, 7])
    for field in ("total", "aleatoric", "epistemic", "probs", "mean", "highest", "score"):
        one, among = getattr(alone, field), getattr(group, field)
        assert (one is None) == (among is None)
        if one is not None:
            assert torch.equal(one[0], among[2]), field
            assert one.isfinite().all()
    assert torch.equal(group.total, group.aleatoric + group.epistemic)
    assert (group.epistemic > -1e-12).all()
    assert group.epistemic.shape == (3, 7)
    if setting == "regression":
        assert (group.unit, group.mean.shape) == ("variance", (3, 7))
    else:
        assert group.unit == "nats"
        assert torch.allclose(group.probs.sum(-1), torch.ones(3, 7, dtype=torch.float64))
        if group.highest is not None:
            assert ((group.highest > 0) & (group.highest <= 1 + 1e-12)).all()


def test_in_setting_b_all_report_the_reference_models_entropy_as_aleatoric(toy, predict, points):
    task = toy(reference=True)
    reference = task.reference_model([1]).log_probs(points[None])
    for kind, config in CASES.values():
        said = predict(kind, config, task, [1])
        assert torch.allclose(said.aleatoric, entropy(reference), atol=1e-6)
        assert torch.allclose(said.probs, reference.exp(), atol=1e-6)
    said = predict(ReferenceEntropy, ReferenceEntropyConfig(), task, [1])
    assert torch.equal(said.novelty, entropy(reference))
    assert not said.epistemic.any()
