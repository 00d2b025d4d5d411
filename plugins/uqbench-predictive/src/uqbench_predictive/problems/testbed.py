"""Problems drawn from a model whose posterior is known: the exact divergence of a method from it.

The idea is the neural testbed's (Osband et al. 2022): draw the truth from a prior, and score a
method by the Kullback-Leibler divergence of its predictions from what the prior and the data imply.
There the truth is the function drawn, and the best possible score depends on the draw. Here it is
the posterior predictive, which is known, so that the best possible score is zero.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.estimator import (
    Data,
    Dataset,
    EvaluationSet,
    Predictions,
    PredictiveUncertainty,
)
from uqbench.contract.seeding import derive_seed

TEST = "test"
TOGETHER = 10
"""τ, points that are predicted together."""
GROUPS = 6
"""Of so many points, for each problem."""
NEAR = 0.1
"""Standard deviation of points around the two that a group is about."""

Inputs = NDArray[np.float64]


class Posterior(Protocol):
    """What the prior and one lane's data imply at any inputs."""

    def predict(self, inputs: Tensor, generator: torch.Generator) -> PredictiveUncertainty:
        """The posterior predictive at ``[M, D]``, with members, as a prediction of one lane."""

    def divergences(self, inputs: Tensor, said: PredictiveUncertainty) -> tuple[Tensor, Tensor]:
        """Of what a method said for ``inputs`` ``[M, D]``, one lane, in nats.

        Returns:
            That of each point ``[M]``, and that of each group of ten together ``[M / 10]``.
        """


Known = TypeVar("Known", bound=Posterior)


class Testbed(Dataset, Generic[Known]):
    """Problems whose posterior is known: normal inputs, a truth drawn from the prior, its targets.

    Test points come in groups of ten, five around each of two inputs, so that a method that knows
    which points go together does better than one that does not: at independent inputs of many
    dimensions joint predictions say hardly more than marginal ones (the neural testbed's "dyadic
    sampling").

    Source: after Osband et al. 2022, "The neural testbed"
    """

    members = 1_000  # all of every method's: joint likelihoods are of all

    @property
    @abstractmethod
    def name(self) -> str:
        """What the random numbers follow from, with the seed."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, int]:
        """Points for training and for validation."""

    @abstractmethod
    def targets(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Targets ``[N]`` at ``[N, D]``, float64, of one truth drawn from the prior."""

    @abstractmethod
    def posterior(self, inputs: Tensor, targets: Tensor) -> Known:
        """Given ``[n, D]`` and ``[n]``; without points, the prior."""

    def data(self, seeds: Sequence[int]) -> Data:
        """The training data, and data for validation."""
        lanes = [self._drawn(seed) for seed in seeds]
        inputs, targets = (torch.stack(part) for part in zip(*lanes, strict=True))
        train, last = self.sizes[0], sum(self.sizes)
        further = Data(inputs[:, train:last], targets[:, train:last])
        return Data(inputs[:, :train], targets[:, :train], further)

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """``test``: sixty points in groups of ten."""
        lanes = [self._drawn(seed) for seed in seeds]
        inputs, targets = (torch.stack(part) for part in zip(*lanes, strict=True))
        first = sum(self.sizes)
        return {TEST: EvaluationSet(inputs[:, first:], targets[:, first:])}

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """``kl`` of a point and ``joint_kl`` of ten together, over ten, in nats.

        They are means over test points of the divergence of the method's predictive distribution
        from the exact one. A method whose prediction has no members predicts points independently.
        """
        data, inputs = self.data(seeds), self.evaluation_sets(seeds)[TEST].inputs
        each, together = [], []
        for lane in range(len(seeds)):
            known = self.posterior(data.inputs[lane], data.targets[lane])
            said = lane_of(predictions[TEST].predicted, lane)
            single, joint = known.divergences(inputs[lane], said)
            each.append(single.mean())
            together.append(joint.mean() / TOGETHER)
        return {"kl": torch.stack(each), "joint_kl": torch.stack(together)}

    def _drawn(self, seed: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a lane: for training, validation and test, in this order."""
        generator = np.random.default_rng(derive_seed(self.name, seed))
        width = self.inputs[0]
        known = generator.standard_normal((sum(self.sizes), width))
        centers = generator.standard_normal((GROUPS, 2, 1, width))
        around = NEAR * generator.standard_normal((GROUPS, 2, TOGETHER // 2, width))
        inputs = np.concatenate([known, (centers + around).reshape(-1, width)])
        given = torch.from_numpy(inputs).float()  # as methods see them
        own = torch.Generator().manual_seed(derive_seed(self.name, "targets", seed))
        targets = self.targets(given.double(), own)
        return given, targets.float() if self.n_classes == 0 else targets.long()


def lane_of(said: PredictiveUncertainty, lane: int) -> PredictiveUncertainty:
    """The part of one lane, float64, without its dimension."""

    def part(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[lane].double()

    return PredictiveUncertainty(
        said.total[lane].double(),
        said.aleatoric[lane].double(),
        said.epistemic[lane].double(),
        part(said.probs),
        said.unit,
        mean=part(said.mean),
        members=None if said.members is None else said.members[:, lane].double(),
    )
