"""The Estimator contract: predictive uncertainty for supervised problems, written for lanes.

The problem computes the scores; an estimator holds neither evaluation targets nor the data set:
only a :class:`Problem`, training data, and, once, the inputs of all evaluation sets, shuffled.
(Splits of one pool by public seeds hide no target from somebody who brings the pool along.)

Two settings (Schweighofer et al. 2023, section 2): (a) a model is yet to be selected, and
uncertainty is about which one; (b) a reference model makes the predictions, and uncertainty is
about how far other likely models differ from it.

What was predicted is stored with the run, point by point. Scores are functions of it: those that a
problem computes itself, which may need its truth, and those that plugins register
(:class:`uqbench.contract.specs.ScoreSpec`), which anybody may add later.

Shapes: ``L`` lanes, ``n`` training points, ``M`` points of an evaluation set, ``C`` classes, ``*x``
one input, ``S`` networks in a stack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, runtime_checkable

from typing_extensions import TypeVar

if TYPE_CHECKING:  # scores are of arrays, and need no torch
    import torch
    from torch import Tensor

Array = TypeVar("Array", default="Tensor")
"""A tensor, as estimators predict; a NumPy array where predictions are scored."""


@dataclass(frozen=True)
class Data:
    """One training set per lane: ``inputs`` ``[L, n, *x]`` and ``targets`` ``[L, n]``.

    Targets are int64 classes, or float32 values for a regression.

    Attributes:
        validation: further data of the same kind, for choosing a method's settings; None where the
            problem has none.
        groups: int64 ``[L, n]``: points of one number share a drawing, a person or a source, and
            are in training data, validation data or evaluation sets, not in two of them. None where
            no two points share anything. Methods are not told.
    """

    inputs: Tensor
    targets: Tensor
    validation: Data | None = None
    groups: Tensor | None = None


@dataclass(frozen=True)
class PredictiveUncertainty(Generic[Array]):
    """Predictions of an estimator for ``M`` inputs: tensors, or NumPy arrays where they are scored.

    Whatever is stated is finite when it is rounded to float32, and is checked before it is scored
    (:mod:`uqbench.uncertainty.validity`).

    Attributes:
        total: ``[L, M]``, the sum of the next two.
        aleatoric: ``[L, M]``, the part that no amount of data removes.
        epistemic: ``[L, M]``, the part that more data removes.
        probs: ``[L, M, C]`` predicted class probabilities, or None for a regression.
        unit: of the first three; ``nats`` of classes. Those and variances are not negative, but
            for the entropy of a density.
        mean: ``[L, M]`` predicted value of a regression, where it is known.
        highest: ``[L, M, C]`` the largest probability that any single model behind the prediction
            assigns to a class, where there are such models. A probability that no model reaches
            cannot enter an expectation over them.
        score: ``[L, M]`` how unlike the training data an input is, in any unit, of a method that
            orders inputs by something else than its epistemic uncertainty.
        energy: ``[L, M]``, minus the logarithm of the sum of the exponentials of a classifier's
            logits (Weitang Liu et al. 2020), the mean over its models; None of a method without
            logits.
        members: ``[S, L, M, C]`` class probabilities of equally likely models, each of which
            predicts all inputs; of a regression ``[S, L, M, 1]``, their means. Joint scores need
            them. All of them, or draws of them: in setting (a) their mean is ``probs``, up to what
            that many draws leave open. None where there are none, or where every input has models
            of its own.
        interval: ``[L, M, 2]`` the ends of a 90 % interval, where that is not a normal's.
        classes: ``[L, M, C]`` which classes are in a 90 % set, where these are not the most
            probable ones.
        weights: ``[L, M, K]`` of the K models of a belief that an input is.
    """

    total: Array
    aleatoric: Array
    epistemic: Array
    probs: Array | None
    unit: Literal["nats", "variance", "return"]
    mean: Array | None = None
    highest: Array | None = None
    score: Array | None = None
    energy: Array | None = None
    members: Array | None = None
    interval: Array | None = None
    classes: Array | None = None
    weights: Array | None = None

    @property
    def novelty(self) -> Array:
        """The order of inputs by novelty, ``[L, M]``: ``score``, or else the epistemic part."""
        return self.epistemic if self.score is None else self.score


@dataclass(frozen=True)
class EvaluationSet:
    """Points at which estimators are evaluated.

    Attributes:
        inputs: ``[L, M, *x]``.
        targets: ``[L, M]``, classes or values; None where there are none.
        groups: ``[L, M]``, numbers as in :class:`Data`.
    """

    inputs: Tensor
    targets: Tensor | None = None
    groups: Tensor | None = None


@dataclass(frozen=True)
class Predictions(Generic[Array]):
    """Predictions for an evaluation set, with the targets and the reference.

    Attributes:
        predicted: by the estimator.
        targets: of the set, ``[L, M]``.
        reference: log-probabilities of the reference model, ``[L, M, C]``; None in setting (a).
    """

    predicted: PredictiveUncertainty[Array]
    targets: Array | None = None
    reference: Array | None = None


class ReferenceModel(Protocol):
    """The reference model of setting (b), the same for every estimator."""

    def log_probs(self, inputs: Tensor) -> Tensor:
        """Log-probabilities of the classes ``[L, M, C]`` for ``inputs`` ``[L, M, *x]``."""


@runtime_checkable
class OpenReferenceModel(ReferenceModel, Protocol):
    """A reference model with open weights, for estimators that search or sample around them."""

    @property
    def network(self) -> Callable[[Mapping[str, Tensor], Tensor], Tensor]:
        """The function of the weights of ``S`` networks and inputs ``[S, B, *x]``: ``[S, B, C]``.

        A pure function, shared by stacks of any size.
        """

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """The reference model's weights, ``[L, ...]`` by name."""

    def features_and_outputs(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs of its last layer and logits, for ``[L, M, *x]``: ``[L, M, H]``, ``[L, M, C]``."""


Predict = Callable[["Tensor"], PredictiveUncertainty]
"""From inputs ``[L, M, *x]`` to the prediction for them."""


@dataclass(frozen=True)
class Problem:
    """A supervised problem as a method may know it before it sees data: plain values.

    Attributes:
        inputs: shape ``*x`` of one input.
        n_classes: C; 0 for a regression.
        noise_var: σ² of a regression's targets, where it is prior knowledge.
        members: how many models of a prediction are stored.
        law: name of the law that the data are drawn from, where it is prior knowledge.
    """

    inputs: tuple[int, ...]
    n_classes: int
    noise_var: float | None = None
    members: int = 0
    law: str | None = None


class Dataset(ABC):
    """A supervised problem. Everything is a function of the lane's seed.

    Constructed as ``factory(config)``.

    Attributes:
        inputs: shape ``*x`` of one input.
        n_classes: C; 0 for a regression.
        noise_var: σ² of a regression's targets, where methods are given it as prior knowledge.
        law: name of the law that the data are drawn from, where methods are given it.
        n_datasets: how many data sets there are, where they are numbered (only so many have a
            ground truth, say). A run has the data set of its own number, 0 to ``n_datasets - 1``,
            and that number is the lane's seed. None where any seed makes a data set of its own.
            The class has it: ``uqbench verify`` reads it without making the data set.
        members: how many models of a prediction are stored, for joint scores: at least as many as
            any method has, since of the first ones alone a joint score has no value.
        most_bytes: of a run's stored predictions; a set that would need more is refused before
            anything is learned.
    """

    inputs: tuple[int, ...]
    n_classes: int
    noise_var: float | None = None
    law: str | None = None
    n_datasets: int | None = None
    members: int = 0
    most_bytes: int = 4 << 20

    @abstractmethod
    def data(self, seeds: Sequence[int]) -> Data:
        """The training sets."""

    @abstractmethod
    def reference_model(self, seeds: Sequence[int]) -> ReferenceModel | None:
        """The reference models of setting (b); None in setting (a)."""

    @abstractmethod
    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """The points at which estimators are evaluated, by name."""

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """The problem's own scores ``[L]`` by the names that its ``DatasetSpec`` declares."""
        return {}

    @property
    def problem(self) -> Problem:
        """The plain values that an estimator is told."""
        return Problem(tuple(self.inputs), self.n_classes, self.noise_var, self.members, self.law)


class Estimator(ABC):
    """A method that predicts, and quantifies its predictions' uncertainty.

    Constructed as ``factory(problem, seeds, config, device)``. It may do with what it is
    given as it likes: each is a copy that nobody else reads.
    """

    @abstractmethod
    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: Any, device: torch.device
    ) -> None: ...

    @abstractmethod
    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Learn for ``steps`` optimization steps, the budget's."""

    @abstractmethod
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Predict for ``inputs`` ``[L, M, *x]``.

        A run asks once, after ``fit``: the points of all evaluation sets, in a random order of each
        lane. ``fit`` may ask for training or validation inputs.
        """
