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
TOGETHER = (10, 100)
"""τ, targets that are predicted together, half of them at each of two inputs."""
PAIRS = 20
"""Pairs of inputs, for each problem."""

SCORES = ("kl", "joint_kl", "joint_kl_100")
"""Scores of a target, and of each τ."""

Inputs = NDArray[np.float64]


class Posterior(Protocol):
    """What the prior and one lane's data imply at any inputs."""

    def predict(self, inputs: Tensor, generator: torch.Generator) -> PredictiveUncertainty:
        """The posterior predictive at ``[M, D]``, with members, as a prediction of one lane."""

    def divergences(self, inputs: Tensor, said: PredictiveUncertainty) -> tuple[Tensor, ...]:
        """Divergences of what a method said for ``inputs`` ``[M, D]``, one lane, in nats.

        Returns:
            That of a target at each input ``[M]``, and for each τ of :data:`TOGETHER` that of τ
            targets, half of them at either input of a pair, ``[M / 2]``.
        """


Known = TypeVar("Known", bound=Posterior)


class Testbed(Dataset, Generic[Known]):
    """Problems whose posterior is known: normal inputs, a truth drawn from the prior, its targets.

    Test inputs come in pairs, and τ targets are predicted together, half at either input of a pair
    (the neural testbed's "dyadic sampling"): at independent inputs of many dimensions joint
    predictions say hardly more than marginal ones. Only how often each class came at each of the
    two inputs matters, or the mean target at each, so that the divergence of 100 targets is exact,
    too. Methods are told the noise of a regression, as they are told the number of points and
    inputs.

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
        """``test``: forty inputs in pairs."""
        lanes = [self._drawn(seed) for seed in seeds]
        inputs, targets = (torch.stack(part) for part in zip(*lanes, strict=True))
        first = sum(self.sizes)
        return {TEST: EvaluationSet(inputs[:, first:], targets[:, first:])}

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """``kl`` of a target, ``joint_kl`` of 10 and ``joint_kl_100`` of 100, over τ, in nats.

        They are means over test inputs or pairs of the divergence of the method's predictive
        distribution from the exact one. A method whose prediction has no members predicts targets
        independently.
        """
        data, inputs = self.data(seeds), self.evaluation_sets(seeds)[TEST].inputs
        lanes = []
        for lane in range(len(seeds)):
            known = self.posterior(data.inputs[lane], data.targets[lane])
            said = lane_of(predictions[TEST].predicted, lane)
            found = known.divergences(inputs[lane], said)
            lanes.append([kl.mean() / τ for kl, τ in zip(found, (1, *TOGETHER), strict=True)])
        scores = (torch.stack(of) for of in zip(*lanes, strict=True))
        return dict(zip(SCORES, scores, strict=True))

    def _drawn(self, seed: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a lane: for training, validation and test, in this order."""
        generator = np.random.default_rng(derive_seed(self.name, seed))
        width = self.inputs[0]
        known = generator.standard_normal((sum(self.sizes), width))
        inputs = np.concatenate([known, generator.standard_normal((2 * PAIRS, width))])
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
