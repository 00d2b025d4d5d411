"""Classifiers and regressors of scikit-learn: what a practitioner tries before a network."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.baselines.regressors import REGRESSORS, law
from uqbench_predictive.uncertainty import entropy, setting_a, values

VOTERS = {"random-forest": 500, "k-neighbors": 10}
"""Trees, and neighbors: models whose probabilities are shares of votes, which may be zero."""
LEAST = 1e-12
"""A probability whose logarithm is taken."""


def _gaussian_process(seed: int, inputs: np.ndarray[Any, Any]) -> GaussianProcessClassifier:
    """One against the rest, a Gaussian kernel; its variance and length maximize the evidence."""
    length = float(np.sqrt(2 * inputs.var(0).sum()))  # root mean square distance of two points
    return GaussianProcessClassifier(1.0 * RBF(length), random_state=seed)


def _vector_machine(weight_decay: float, seed: int, count: int) -> SVC:
    """A Gaussian kernel's, each class against each other; Platt's sigmoids, coupled (Wu 2004)."""
    return SVC(C=1 / (weight_decay * count), probability=True, random_state=seed)


Make = Callable[["ScikitLearnConfig", int, np.ndarray[Any, Any]], Any]
MODELS: Mapping[str, Make] = {
    "random-forest": lambda _, seed, __: RandomForestClassifier(
        VOTERS["random-forest"], random_state=seed
    ),
    "gradient-boosting": lambda config, seed, _: HistGradientBoostingClassifier(
        learning_rate=config.learning_rate,
        max_leaf_nodes=config.leaves,
        early_stopping=True,
        random_state=seed,
    ),
    "k-neighbors": lambda _, __, ___: KNeighborsClassifier(VOTERS["k-neighbors"]),
    "gaussian-process": lambda _, seed, inputs: _gaussian_process(seed, inputs),
    "svm": lambda config, seed, inputs: _vector_machine(config.weight_decay, seed, len(inputs)),
}
"""By name, from a config, a seed and training inputs ``[n, D]``; else scikit-learn's defaults."""


@dataclass(frozen=True, kw_only=True)
class ScikitLearnConfig:
    """Which model.

    Attributes:
        model: a ``random-forest`` of 500 trees; ``gradient-boosting`` of trees on histograms, which
            stops when a tenth of the training data no longer become more likely, of values one for
            each of five quantiles; the ten nearest points (``k-neighbors``); a
            ``gaussian-process``, one per class; or a support vector machine with Platt's sigmoids
            (``svm``), of classes alone. Those of values: :mod:`baselines.regressors`.
        points: training points, the first; None for all. A Gaussian process takes a time that grows
            with their cube.
        learning_rate: of gradient boosting; a budget's is of networks, so that a suite says it
            where boosting is not tuned.
        leaves: of a tree of gradient boosting, at most.
        weight_decay: of a support vector machine, ``1/(C n)``: half of it times the squared norm is
            added to the mean hinge loss of n points.
    """

    model: Literal["random-forest", "gradient-boosting", "k-neighbors", "gaussian-process", "svm"]
    points: int | None = None
    learning_rate: float = field(default=0.1, metadata=LATER)
    leaves: int = field(default=31, metadata=LATER)
    weight_decay: float = field(default=1e-3, metadata=LATER)

    def __post_init__(self) -> None:
        if min(self.learning_rate, self.weight_decay) <= 0 or self.leaves < 2:
            raise ValueError(
                "expected learning_rate and weight_decay above 0 and at least 2 leaves, got "
                f"{self.learning_rate}, {self.weight_decay} and {self.leaves}"
            )


class ScikitLearn(Estimator):
    """A classifier or regressor of scikit-learn, in setting (a).

    A classifier's probabilities are its prediction. The trees of a forest are its models, which
    count equally: they state how much is epistemic, and the first are its members where a problem
    keeps fewer; other classifiers state nothing epistemic. One vote shared by all classes is added
    to those of trees and of neighbors (Perks 1947): no finite number of votes makes a class
    impossible.
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: ScikitLearnConfig,
        device: torch.device,
    ) -> None:
        self.n_classes, self.seeds, self.config = problem.n_classes, seeds, config
        self.kept = problem.members or VOTERS["random-forest"]

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Fit one model per lane, however many steps there are.

        Raises:
            ValueError: the task has a reference model, or values that the model cannot predict.
        """
        able = self.n_classes or self.config.model in REGRESSORS
        if not able or reference_model is not None:
            raise ValueError(
                f"{self.config.model} predicts classes{', and values' * bool(able)}, without a "
                f"reference model: expected a {'task' if able else 'classification'} in setting (a)"
            )
        self.models: list[Any] = []
        for seed, inputs, targets in zip(self.seeds, data.inputs, data.targets, strict=True):
            rows = inputs[: self.config.points].flatten(1).double().numpy()
            known = targets[: self.config.points].numpy()
            own = derive_seed("scikit-learn", seed) % 2**32
            if self.n_classes == 0:
                fitted = REGRESSORS[self.config.model](self.config, own, rows, known.astype(float))
                self.models.append(fitted)
                continue
            model = MODELS[self.config.model](self.config, own, rows)
            with warnings.catch_warnings():  # scikit-learn 1.11 will be without Platt's sigmoids
                warnings.filterwarnings("ignore", "The `probability`", FutureWarning)
                self.models.append(model.fit(rows, known))

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """A classifier's probabilities, zero for classes that its lane has not seen; or values."""
        if self.n_classes == 0:
            return self._values(inputs)
        if self.config.model == "random-forest":
            lanes = [self._forest(*pair) for pair in zip(self.models, inputs, strict=True)]
            parts = {
                name: torch.cat([getattr(lane, name) for lane in lanes], int(name == "members"))
                for name in ("total", "aleatoric", "epistemic", "probs", "highest", "members")
            }
            return PredictiveUncertainty(unit="nats", **parts)
        probs = torch.stack(
            [
                self._classes(model, model.predict_proba(rows.flatten(1).double().numpy()))
                for model, rows in zip(self.models, inputs, strict=True)
            ]
        )
        probs = self._with_votes(probs)
        own = entropy(probs.clamp(min=LEAST).log())
        return PredictiveUncertainty(own, own, torch.zeros_like(own), probs, "nats")

    def _forest(self, forest: RandomForestClassifier, inputs: Tensor) -> PredictiveUncertainty:
        """The prediction of one lane's forest by its trees, ``[1, M]``."""
        rows = inputs.flatten(1).numpy()
        each = [self._classes(forest, tree.predict_proba(rows)) for tree in forest.estimators_]
        said = setting_a(self._with_votes(torch.stack(each))[:, None].log())
        assert said.members is not None
        return replace(said, members=said.members[: self.kept])

    def _classes(self, model: Any, found: np.ndarray[Any, Any]) -> Tensor:
        """Probabilities of all classes ``[M, C]`` from those of the classes that it has seen."""
        probs = torch.zeros(len(found), self.n_classes, dtype=torch.float64)
        probs[:, model.classes_] = torch.from_numpy(found)
        return probs

    def _with_votes(self, probs: Tensor) -> Tensor:
        """Probabilities with one vote more, shared by all classes, where there are votes."""
        votes = VOTERS.get(self.config.model)
        return probs if votes is None else (votes * probs + 1 / self.n_classes) / (votes + 1)

    def _values(self, inputs: Tensor) -> PredictiveUncertainty:
        """A regressor's means, variances and intervals."""
        lanes = [
            law(predict(rows.flatten(1).double().numpy()))
            for predict, rows in zip(self.models, inputs, strict=True)
        ]
        parts = ("mean", "epistemic", "aleatoric", "interval")
        mean, epistemic, aleatoric, interval = (
            None if lanes[0][part] is None else torch.from_numpy(np.stack([x[part] for x in lanes]))
            for part in parts
        )
        assert mean is not None
        assert epistemic is not None
        assert aleatoric is not None
        return replace(values(mean, epistemic, aleatoric), interval=interval)
