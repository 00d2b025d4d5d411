"""The reference model as an open network."""

import pytest
import torch
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig

CPU = torch.device("cpu")
SMALL = {"hidden": (8,)}


def test_a_reference_model_with_closed_weights_is_rejected_with_an_alternative(toy):
    class Closed:
        def log_probs(self, inputs):
            return inputs.double().log_softmax(-1)

    estimator = Laplace(toy().problem, [1], LaplaceConfig(**SMALL), CPU)
    with pytest.raises(TypeError, match=r"open weights.*got a Closed; use .* deep-ensemble"):
        estimator.fit(toy().data([1]), Closed(), steps=1)
