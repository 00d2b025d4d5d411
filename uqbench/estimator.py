"""The Estimator contract: predictive uncertainty for supervised problems, written for lanes.

The problem computes the scores; an estimator cannot. Two settings (Schweighofer et al. 2023,
section 2): (a) a model is yet to be selected, and uncertainty is about which one; (b) a reference
model makes the predictions, and uncertainty is about how far other likely models differ from it.

Shapes: ``L`` lanes, ``n`` training points, ``M`` query points, ``C`` classes, ``*x`` one input,
``S`` networks in a stack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor


@dataclass(frozen=True)
class Data:
    """One training set per lane: ``inputs`` ``[L, n, *x]`` and ``targets`` ``[L, n]``.

    Targets are int64 classes, or float32 values for a regression.

    Attributes:
        validation: further data of the same kind, for choosing a method's settings; None where the
            problem has none.
    """

    inputs: Tensor
    targets: Tensor
    validation: Data | None = None


@dataclass(frozen=True)
class PredictiveUncertainty:
    """What an estimator predicts for ``M`` inputs.

    Attributes:
        total: ``[L, M]``, the sum of the next two.
        aleatoric: ``[L, M]``, the part that no amount of data removes.
        epistemic: ``[L, M]``, the part that more data removes.
        probs: ``[L, M, C]`` predicted class probabilities, or None for a regression.
        unit: of the first three.
        mean: ``[L, M]`` predicted value of a regression, where it is known.
        highest: ``[L, M, C]`` the largest probability that any single model behind the prediction
            assigns to a class, where there are such models. A probability that no model reaches
            cannot enter an expectation over them.
    """

    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor
    probs: Tensor | None
    unit: Literal["nats", "variance", "return"]
    mean: Tensor | None = None
    highest: Tensor | None = None


class ReferenceModel(Protocol):
    """The reference model of setting (b), the same for every estimator."""

    def log_probs(self, inputs: Tensor) -> Tensor:
        """Log-probabilities of the classes ``[L, M, C]`` for ``inputs`` ``[L, M, *x]``."""


@runtime_checkable
class OpenReferenceModel(ReferenceModel, Protocol):
    """A reference model with open weights, for estimators that search or sample around them."""

    @property
    def network(self) -> Callable[[Mapping[str, Tensor], Tensor], Tensor]:
        """From the weights of ``S`` networks and inputs ``[S, B, *x]`` to outputs ``[S, B, C]``.

        A pure function, shared by stacks of any size.
        """

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """The reference model's weights, ``[L, ...]`` by name."""


Predict = Callable[[Tensor], PredictiveUncertainty]
"""From inputs ``[L, M, *x]`` to the prediction for them."""


class Dataset(ABC):
    """A supervised problem. Everything is a function of the lane's seed.

    Constructed as ``factory(config)``.

    Attributes:
        inputs: shape ``*x`` of one input.
        n_classes: C; 0 for a regression.
        n_datasets: how many data sets there are, where they are numbered (only so many have a
            ground truth, say). A run has the data set of its own number, 0 to ``n_datasets - 1``,
            and that number is the lane's seed. None where any seed makes a data set of its own.
    """

    inputs: tuple[int, ...]
    n_classes: int
    n_datasets: int | None = None

    @abstractmethod
    def data(self, seeds: Sequence[int]) -> Data:
        """The training sets."""

    @abstractmethod
    def reference_model(self, seeds: Sequence[int]) -> ReferenceModel | None:
        """The reference models of setting (b); None in setting (a)."""

    @abstractmethod
    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """Scores ``[L]`` by the names that the plugin's ``DatasetSpec`` declares."""


class Estimator(ABC):
    """A method that predicts, and quantifies its predictions' uncertainty.

    Constructed as ``factory(task, seeds, config, device)`` with a :class:`Dataset` as ``task``.
    """

    @abstractmethod
    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: Any, device: torch.device
    ) -> None: ...

    @abstractmethod
    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Learn for ``steps`` optimization steps, the budget's."""

    @abstractmethod
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Predict for ``inputs`` ``[L, M, *x]``; changes no state."""
