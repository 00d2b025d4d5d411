"""Three normal classes and one point far from two of them (the simplex example, section C.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Predict
from uqbench.seeding import derive_seed
from uqbench_quam.config import TrainingConfig
from uqbench_quam.given import GivenNetwork, architecture, train
from uqbench_quam.truth import ClassTruth, read

WORLDS = 6
"""Data sets on which ground truth is known; a lane has that of its seed modulo this."""
POINTS = 21
"""Of each class."""
CENTRES = ((-4.0, -2.0), (4.0, -2.0), (0.0, 2 * 2**0.5))
DEVIATION = 1.5
"""Of each coordinate: the released code's. The text says that 1.5 is the variance."""
QUERY = (-6.0, 2.0)
"""The test point, between the first and the third class, far from the second."""
REMOTE = 1
"""The class that likely models can give the query, but gradient descent does not."""
REFERENCE_STEPS = 500
REFERENCE = TrainingConfig(hidden=(10, 10), learning_rate=1e-2, weight_decay=1e-2, smoothing=1e-3)


@dataclass(frozen=True, kw_only=True)
class SimplexOptions:
    """The simplex example.

    Attributes:
        setting: ``selected``, Schweighofer et al. 2023's (a), or ``given``, their (b).
    """

    setting: Literal["selected", "given"] = "selected"


class Simplex(Dataset):
    """See :class:`SimplexOptions`. The network has two hidden layers of 10 units, 173 weights."""

    inputs = (2,)
    n_classes = 3

    def __init__(self, options: SimplexOptions) -> None:
        self.options = options

    def data(self, seeds: Sequence[int]) -> Data:
        """63 points a lane, 21 of each class."""
        inputs = []
        for seed in seeds:
            noise = np.random.default_rng(derive_seed("simplex", world(seed))).normal(
                0, DEVIATION, (3 * POINTS, 2)
            )
            centres = np.repeat(np.array(CENTRES), POINTS, axis=0)
            inputs.append(torch.from_numpy(centres + noise).float())
        targets = torch.arange(3).repeat_interleave(POINTS).expand(len(seeds), -1)
        return Data(torch.stack(inputs), targets.contiguous())

    def reference_model(self, seeds: Sequence[int]) -> GivenNetwork | None:
        """A network trained on the lane's data, a function of the data set alone."""
        if self.options.setting == "selected":
            return None
        network = architecture(self, REFERENCE)
        own = [derive_seed("simplex", "reference", world(seed)) for seed in seeds]
        return GivenNetwork(
            network, train(network, self.data(seeds), own, REFERENCE_STEPS, REFERENCE)
        )

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """What is said about the query, against the ground truth.

        ``remote_highest``, the largest probability that any model gives the remote class;
        ``remote``, the prediction's; ``epistemic_error`` (nats), and ``total_variation`` of the
        prediction from the ground truth's. The last two are about setting (a) where it is (a), else
        the prediction is the given model's.

        Raises:
            ValueError: the estimator does not say what single models reach.
        """
        truth = ground_truth().of([world(seed) for seed in seeds])
        stated = predict(query().expand(len(seeds), -1, -1))
        if stated.probs is None or stated.highest is None:
            raise ValueError(
                "expected class probabilities, and the highest of any model, from an estimator of "
                "the simplex example (PredictiveUncertainty.highest)"
            )
        reference = self.reference_model(seeds)
        epistemic = (
            truth.selected()
            if reference is None
            else truth.given(reference.log_probs(query().expand(len(seeds), -1, -1)))
        )
        return {
            "remote_highest": stated.highest[:, 0, REMOTE],
            "remote": stated.probs[:, 0, REMOTE],
            "epistemic_error": (stated.epistemic - epistemic).abs().squeeze(-1),
            "total_variation": 0.5 * (stated.probs - truth.probs).abs().sum(-1).squeeze(-1),
        }


def world(seed: int) -> int:
    """Which data set a lane has."""
    return seed % WORLDS


def query() -> Tensor:
    """The test point, ``[1, 2]``."""
    return torch.tensor([QUERY])


def ground_truth() -> ClassTruth:
    """What Hamiltonian Monte Carlo says about the query, for each of the data sets."""
    return ClassTruth(read("simplex"))
