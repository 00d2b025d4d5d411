"""The reference model as an open network."""

from __future__ import annotations

import pytest
import torch
from uqbench_quam.methods.config import QuamConfig
from uqbench_quam.methods.quam import Quam

CPU = torch.device("cpu")
SMALL = {"hidden": (8,)}


def test_a_reference_model_with_closed_weights_is_rejected_with_an_alternative(toy):
    class Closed:
        def log_probs(self, inputs):
            return inputs.double().log_softmax(-1)

    estimator = Quam(toy(), [1], QuamConfig(**SMALL), CPU)
    with pytest.raises(TypeError, match=r"open weights.*got a Closed; use .* deep-ensemble"):
        estimator.fit(toy().data([1]), Closed(), steps=1)
