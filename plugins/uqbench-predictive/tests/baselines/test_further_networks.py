"""The ensemble of further networks, on small files made here."""

import pytest
import torch
from uqbench_predictive.baselines.further_networks import FurtherNetworks, FurtherNetworksConfig
from uqbench_predictive.problems.idx import DataError
from uqbench_predictive.problems.imagenet import ImageNet, ImageNetConfig

CPU = torch.device("cpu")


def test_further_networks_are_found_by_the_images_features(features_file, features):
    held = features
    features_file(held)
    task = ImageNet(ImageNetConfig())
    estimator = FurtherNetworks(task.problem, [0], FurtherNetworksConfig(), CPU)
    estimator.fit(task.data([0]), None, steps=1)
    said = estimator.predict(torch.from_numpy(held["ood_features"][[4, 2]])[None])
    members = torch.from_numpy(held["networks_ood"]).double().softmax(-1).mean(0)[[4, 2]]
    assert torch.allclose(said.probs[0], members)


def test_a_file_without_further_networks_is_rejected(features_file, features_alone):
    features_file(features_alone)
    with pytest.raises(DataError, match="no logits of further networks"):
        FurtherNetworks(ImageNet(ImageNetConfig()), [0], FurtherNetworksConfig(), CPU)
