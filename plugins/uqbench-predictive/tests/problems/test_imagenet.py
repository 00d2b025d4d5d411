"""ImageNet by its features, on small files made here."""

import numpy as np
import pytest
import torch
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig
from uqbench_predictive.baselines.further_networks import FurtherNetworks, FurtherNetworksConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig
from uqbench_predictive.networks.learning import Dropout
from uqbench_predictive.problems import imagenet
from uqbench_predictive.problems.idx import DataError
from uqbench_predictive.problems.imagenet import ImageNet, ImageNetConfig
from uqbench_predictive.uncertainty import setting_b

from uqbench.estimator import PredictiveUncertainty
from uqbench.testing.worlds import asked_once

CPU = torch.device("cpu")


@pytest.mark.parametrize("against", ["ood", "adversarial", "errors"])
def test_estimators_go_through_imagenets_features(features, against):
    held = features()
    task = ImageNet(ImageNetConfig(against=against, points=12))
    seeds = [0, 1]
    logits = held["test_features"] @ held["weight"] + held["bias"]
    inputs = torch.from_numpy(held["test_features"])[None].expand(2, -1, -1)
    predicted = task.reference_model(seeds).log_probs(inputs)
    expected = torch.from_numpy(logits).double().log_softmax(-1)
    assert torch.allclose(predicted[1], expected, atol=1e-5)
    for kind, config in (
        (DeepEnsemble, DeepEnsembleConfig(hidden=(), members=2, batch_size=10)),
        (FurtherNetworks, FurtherNetworksConfig()),
        (MCDropout, MCDropoutConfig(passes=8, trains=False)),
    ):
        estimator = kind(task.problem, seeds, config, CPU)
        estimator.fit(task.data(seeds), task.reference_model(seeds), steps=2)
        scores = task.score(seeds, asked_once(task, seeds, estimator.predict))
        assert all(score.shape == (2,) and score.isfinite().all() for score in scores.values())


def test_dropping_stored_features_is_dropout_before_the_last_layer(features):
    held = features(networks=False)
    task = ImageNet(ImageNetConfig(points=12))
    config = MCDropoutConfig(passes=3, probability=0.5, trains=False)
    estimator = MCDropout(task.problem, [4], config, CPU)
    reference = task.reference_model([4])
    estimator.fit(task.data([4]), reference, steps=1)
    inputs = torch.from_numpy(held["test_features"])[None]
    drop = Dropout(0.5, estimator.trainer.generators("passes"))
    weight, bias = (torch.from_numpy(held[name]) for name in ("weight", "bias"))
    passes = torch.stack([drop(inputs) @ weight + bias for _ in range(3)]).double().log_softmax(-1)
    expected = setting_b(reference.log_probs(inputs), passes).epistemic
    assert torch.allclose(estimator.predict(inputs).epistemic, expected, atol=1e-5)


def test_errors_are_those_of_the_reference_model(features):
    held = features(networks=False)
    task = ImageNet(ImageNetConfig(against="errors", points=12))
    wrong = (held["test_features"] @ held["weight"] + held["bias"]).argmax(1) != held["test_labels"]
    by_features = dict(zip(map(bytes, held["test_features"]), wrong, strict=True))

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        each = [[float(by_features[bytes(r.numpy())]) for r in rows] for rows in inputs]
        predicted = torch.tensor(each)
        probs = torch.full((*predicted.shape, 4), 1 / 4)
        return PredictiveUncertainty(predicted, 0 * predicted, predicted, probs, "nats")

    assert task.score([0], asked_once(task, [0], oracle))["auroc"].tolist() == [1.0]


WRONG = [
    ({"bias": None}, "has no array 'bias'; expected weight, bias"),
    ({"bias": np.zeros(5)}, r"bias has shape \(5,\), expected \[C\] with C = 4"),
    ({"test_labels": np.zeros((12, 1))}, r"expected \[m\]"),
    ({"networks_adv": None}, "has no array 'networks_adv'"),
    ({"ood_features": np.zeros((9, 6))}, r"expected \[k, H\] with H = 5"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_errors_name_what_is_wrong_with_the_features(features, change, message):
    features(**change)
    with pytest.raises(DataError, match=message):
        ImageNet(ImageNetConfig())


def test_without_the_features_the_error_says_how_to_name_them(monkeypatch):
    monkeypatch.delenv(imagenet.VARIABLE, raising=False)
    with pytest.raises(DataError, match=r"UQBENCH_IMAGENET to a \.npz file"):
        ImageNet(ImageNetConfig())


def test_further_networks_are_found_by_the_images_features(features):
    held = features()
    task = ImageNet(ImageNetConfig())
    estimator = FurtherNetworks(task.problem, [0], FurtherNetworksConfig(), CPU)
    estimator.fit(task.data([0]), None, steps=1)
    said = estimator.predict(torch.from_numpy(held["ood_features"][[4, 2]])[None])
    members = torch.from_numpy(held["networks_ood"]).double().softmax(-1).mean(0)[[4, 2]]
    assert torch.allclose(said.probs[0], members)


def test_a_file_without_further_networks_is_rejected(features):
    features(networks=False)
    with pytest.raises(DataError, match="no logits of further networks"):
        FurtherNetworks(ImageNet(ImageNetConfig()), [0], FurtherNetworksConfig(), CPU)
