"""An ensemble of networks trained elsewhere, by their logits (the paper's column "DE (all)")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.problems.idx import DataError
from uqbench_predictive.problems.imagenet import data_file, features
from uqbench_predictive.uncertainty import classification


@dataclass(frozen=True)
class FurtherNetworksConfig:
    """Nothing to configure."""


class FurtherNetworks(Estimator):
    """An ensemble of networks that were trained elsewhere, by their logits.

    The file of the dataset ood-imagenet holds them. An input is identified by its features, so
    predictions exist only for the images in that file.

    Source: Schweighofer et al. 2023, Table 2, column DE (all)
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: FurtherNetworksConfig,
        device: torch.device,
    ) -> None:
        arrays = features(data_file())
        if problem.inputs != arrays["weight"].shape[:1]:
            expected = f"expected features of ood-imagenet, {arrays['weight'].shape[:1]}"
            raise ValueError(f"{expected}, got inputs {problem.inputs}")
        if "networks_test" not in arrays:
            raise DataError(f"{data_file()} has no logits of further networks (networks_test)")
        self.logits: dict[bytes, NDArray[np.float64]] = {}
        for images, logits in (
            ("test_features", "networks_test"),
            ("ood_features", "networks_ood"),
            ("adv_features", "networks_adv"),
        ):
            rows = arrays[images].astype(np.float32)
            members = arrays[logits].astype(np.float64)
            self.logits |= {row.tobytes(): members[:, i] for i, row in enumerate(rows)}

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Take the reference model; the networks were trained elsewhere."""
        self.reference_model = reference_model

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The networks' divergence from the reference model."""
        rows = inputs.numpy().reshape(-1, inputs.shape[-1])
        members = np.stack([self.logits[row.tobytes()] for row in rows], axis=1)
        logits = torch.from_numpy(members).unflatten(1, tuple(inputs.shape[:2]))
        return classification(self.reference_model, inputs, logits.log_softmax(-1))
