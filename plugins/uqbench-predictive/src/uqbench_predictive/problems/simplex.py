"""The simplex example (section C.2): three normal classes and one point far from one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.estimator import Data, Dataset, EvaluationSet, Predictions
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.networks.training import TrainingConfig, trained_reference
from uqbench_predictive.problems.ground_truth import ClassTruth, read

DATASETS = 24
"""With ground truth; a run's number is its data set's."""
POINTS = 21
"""Per class."""
CENTERS = ((-4.0, -2.0), (4.0, -2.0), (0.0, 2 * 2**0.5))
DEVIATION = 1.5
"""Deviation of each coordinate, as in the released code. The text says that 1.5 is the variance."""
QUERY = (-6.0, 2.0)
"""The test point, between the first and the third class, far from the second."""
REMOTE = 1
"""The class to which likely models can assign the query, but gradient descent does not."""
REFERENCE_STEPS = 500
REFERENCE = TrainingConfig(hidden=(10, 10), learning_rate=1e-2, weight_decay=1e-2, smoothing=1e-3)


@dataclass(frozen=True, kw_only=True)
class SimplexConfig:
    """Which setting.

    Attributes:
        setting: ``selected``, Schweighofer et al. 2023's (a), or ``given``, their (b), with a
            reference model.
    """

    setting: Literal["selected", "given"] = "selected"


class Simplex(Dataset):
    """Three normal classes; which of them models can assign to a far point.

    The network has two hidden layers of 10 units, 173 weights.

    Source: Schweighofer et al. 2023, Figures 2 and C.2
    """

    inputs = (2,)
    n_classes = 3
    n_datasets = DATASETS

    def __init__(self, config: SimplexConfig) -> None:
        self.config = config

    def data(self, seeds: Sequence[int]) -> Data:
        """63 points per lane, 21 of each class."""
        inputs = []
        for seed in seeds:
            noise = np.random.default_rng(derive_seed("simplex", seed)).normal(
                0, DEVIATION, (3 * POINTS, 2)
            )
            centers = np.repeat(np.array(CENTERS), POINTS, axis=0)
            inputs.append(torch.from_numpy(centers + noise).float())
        targets = torch.arange(3).repeat_interleave(POINTS).expand(len(seeds), -1)
        return Data(torch.stack(inputs), targets.contiguous())

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork | None:
        """A network trained on the lane's data, a function of the data set alone."""
        if self.config.setting == "selected":
            return None
        return trained_reference(self, "simplex", seeds, REFERENCE, REFERENCE_STEPS)

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """The query."""
        return {"query": EvaluationSet(query().expand(len(seeds), -1, -1))}

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """The prediction at the query, against the ground truth.

        ``remote_highest``, the largest probability that any model gives to the remote class;
        ``remote``, the predicted one; ``epistemic_error`` (nats), in the setting of the config; and
        ``total_variation`` of the predicted probabilities from the ground truth's. In setting (b)
        those are the reference model's.

        Raises:
            ValueError: the estimator does not report what single models reach.
        """
        truth, predicted = ground_truth().of(seeds), predictions["query"].predicted
        if predicted.probs is None or predicted.highest is None:
            raise ValueError(
                "expected class probabilities, and the highest of any model, from an estimator of "
                "the simplex example (PredictiveUncertainty.highest)"
            )
        epistemic = truth.epistemic(predictions["query"].reference)
        return {
            "remote_highest": predicted.highest[:, 0, REMOTE],
            "remote": predicted.probs[:, 0, REMOTE],
            "epistemic_error": (predicted.epistemic - epistemic).abs().squeeze(-1),
            "total_variation": 0.5 * (predicted.probs - truth.probs).abs().sum(-1).squeeze(-1),
        }


def query() -> Tensor:
    """The test point, ``[1, 2]``."""
    return torch.tensor([QUERY])


def ground_truth() -> ClassTruth:
    """Hamiltonian Monte Carlo's prediction at the query, for each data set."""
    return ClassTruth(read("simplex"))
