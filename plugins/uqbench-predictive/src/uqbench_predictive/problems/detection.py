"""Detection: inputs of another distribution, or the reference model's errors, among test inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from uqbench_compare.predictions.detection import detection, retention_auc

from uqbench.contract.estimator import Dataset, EvaluationSet, Predictions
from uqbench.contract.seeding import derive_seed

INSIDE, OUTSIDE = "test", "outside"
"""Names of the evaluation sets."""
SCORES = ("auroc", "aupr", "fpr95", "retention_auc")


class Detection(Dataset):
    """Test inputs and what is to be told from them, in setting (b).

    A further data set for out-of-distribution detection provides its data, its reference model, and
    :meth:`inside` and :meth:`outside`.
    """

    @abstractmethod
    def inside(self, seeds: Sequence[int]) -> EvaluationSet:
        """The test inputs and their classes."""

    @abstractmethod
    def outside(self, seeds: Sequence[int]) -> Tensor | None:
        """Inputs of another distribution, ``[L, P, *x]``; None: the errors are to be detected."""

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """The test inputs, and those of another distribution."""
        others = self.outside(seeds)
        further = {} if others is None else {OUTSIDE: EvaluationSet(others)}
        return {INSIDE: self.inside(seeds), **further}

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """``auroc``, ``aupr`` and ``fpr95`` of the detection, ``retention_auc`` of test inputs.

        The last is the area under the reference model's accuracy on the most certain test inputs
        (selective prediction).

        Raises:
            ValueError: errors are to be detected, and there are none, or nothing else.
        """
        test = predictions[INSIDE]
        known = test.predicted.novelty
        if test.reference is None or test.targets is None:
            raise ValueError("expected a reference model, setting (b), and the classes of inputs")
        correct = test.reference.argmax(-1) == test.targets
        told = {"retention_auc": retention_auc(known, correct)}
        if OUTSIDE in predictions:
            told |= detection(predictions[OUTSIDE].predicted.novelty, known)
            return {name: torch.from_numpy(value) for name, value in told.items()}
        if (correct.all(-1) | ~correct.any(-1)).any():
            raise ValueError(
                f"the reference model classifies all, or none, of {correct.shape[1]} test inputs "
                f"correctly, so that there is nothing to detect; use other seeds, or more inputs"
            )
        lanes = [detection(s[None, ~c], s[None, c]) for s, c in zip(known, correct, strict=True)]
        told |= {name: np.concatenate([lane[name] for lane in lanes]) for name in lanes[0]}
        return {name: torch.from_numpy(value) for name, value in told.items()}


def order(*names: str | int, count: int) -> NDArray[np.int64]:
    """The numbers below ``count`` in an order that follows from the names."""
    return np.random.default_rng(derive_seed(*names)).permutation(count)
