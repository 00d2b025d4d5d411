"""The Estimator contract: predictive uncertainty for supervised problems, written for lanes.

The problem scores; an estimator cannot. Two settings (Schweighofer et al. 2023, section 2): (a) the
model is to be selected, uncertainty is about which; (b) a given model predicts, uncertainty is
about how far other likely models differ from it.

Shapes: ``L`` lanes, ``n`` training points, ``M`` points asked about, ``C`` classes, ``*x`` one
input, ``S`` networks in a stack.
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
    """A training set a lane: ``inputs`` ``[L, n, *x]`` and ``targets`` ``[L, n]``.

    Targets are classes, int64, or a regression's values, float32.
    """

    inputs: Tensor
    targets: Tensor


@dataclass(frozen=True)
class PredictiveUncertainty:
    """What an estimator states about ``M`` inputs.

    Attributes:
        total: ``[L, M]``, the sum of the next two.
        aleatoric: ``[L, M]``, what no amount of data removes.
        epistemic: ``[L, M]``, what more data removes.
        probs: ``[L, M, C]`` predicted class probabilities, or None for a regression.
        unit: of the first three.
        mean: ``[L, M]`` predicted value of a regression, where it is known.
        highest: ``[L, M, C]`` the largest probability that any single one of the models behind the
            statement gives to a class, where there are such models. What no model reaches cannot
            count in any expectation over them.
    """

    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor
    probs: Tensor | None
    unit: Literal["nats", "variance", "return"]
    mean: Tensor | None = None
    highest: Tensor | None = None


class Reference(Protocol):
    """The given model of setting (b), the same for every estimator."""

    def log_probs(self, inputs: Tensor) -> Tensor:
        """Log-probabilities of the classes ``[L, M, C]`` for ``inputs`` ``[L, M, *x]``."""


@runtime_checkable
class OpenReference(Reference, Protocol):
    """A given model whose weights are open to estimators that search or sample around them."""

    @property
    def network(self) -> Callable[[Mapping[str, Tensor], Tensor], Tensor]:
        """From weights of ``S`` networks and inputs ``[S, B, *x]`` to outputs ``[S, B, C]``.

        A pure function, which stacks of any size share.
        """

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """The given model's, ``[L, ...]`` by name."""


Predict = Callable[[Tensor], PredictiveUncertainty]
"""From inputs ``[L, M, *x]`` to what is stated about them."""


class Dataset(ABC):
    """A supervised problem. Everything is a function of the lane's seed.

    Constructed as ``factory(config)``.

    Attributes:
        inputs: shape ``*x`` of one input.
        n_classes: C; 0 for a regression.
    """

    inputs: tuple[int, ...]
    n_classes: int

    @abstractmethod
    def data(self, seeds: Sequence[int]) -> Data:
        """The training sets."""

    @abstractmethod
    def reference(self, seeds: Sequence[int]) -> Reference | None:
        """The given models of setting (b); None in setting (a)."""

    @abstractmethod
    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """Scores ``[L]`` by the names that the plugin's ``DatasetSpec`` declares."""


class Estimator(ABC):
    """A method that states predictive uncertainty.

    Constructed as ``factory(task, seeds, config, device)`` with a :class:`Dataset` as ``task``.
    """

    @abstractmethod
    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: Any, device: torch.device
    ) -> None: ...

    @abstractmethod
    def fit(self, data: Data, reference: Reference | None, steps: int) -> None:
        """Learn by ``steps`` optimisation steps, as the budget gives them."""

    @abstractmethod
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """State the uncertainty about ``inputs`` ``[L, M, *x]``; changes no state."""
