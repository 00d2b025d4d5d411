"""Real data in setting (a): scikit-learn's and statsmodels' own data sets, nothing to download.

Every method makes its own predictions, so that accuracy, likelihood and calibration differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from statsmodels.datasets import engel, grunfeld, randhie, star98
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import Data, Dataset, EvaluationSet
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.problems.corruptions import altered
from uqbench_predictive.problems.detection import order
from uqbench_predictive.problems.digits import CLASSES, digits, in_distribution
from uqbench_predictive.problems.idx import DataError, File, content
from uqbench_predictive.problems.image_files import data_folder
from uqbench_predictive.problems.table_dataset import standardized

Array = NDArray[np.float32]
Name = Literal[
    "digits", "breast-cancer", "wine", "diabetes", "engel", "grunfeld", "randhie", "star98",
    "letter", "dna", "spam",
]  # fmt: skip
_MLBENCH = "the Debian package r-cran-mlbench 2.1-3 (GPL-2; the data: UCI), mlbench/data"
FILES: Mapping[Name, File] = {
    "letter": File("r/LetterRecognition.rda", "e987247fa4b45c92191efd9322952737", _MLBENCH),
    "dna": File("r/DNA.rda", "cb9ee3f094336cdb4476d824bbac2375", _MLBENCH),
    "spam": File(
        "r/spam.rda",
        "95036049c37adf985595a538bc62ecb2",
        "the Debian package r-cran-kernlab 0.9-32 (GPL-2; the data: UCI), kernlab/data",
    ),
}
"""In the folder UQBENCH_DATA."""
TARGETS: Mapping[Name, str] = {"letter": "lettr", "dna": "Class", "spam": "type"}
REGRESSIONS: tuple[Name, ...] = ("diabetes", "engel", "grunfeld", "randhie", "star98")
CLASSIFICATIONS: Mapping[Name, int] = {
    "digits": CLASSES, "breast-cancer": 2, "wine": 3, "letter": 26, "dna": 3, "spam": 2,
}  # fmt: skip
N_CLASSES: Mapping[Name, int] = {**CLASSIFICATIONS, **dict.fromkeys(REGRESSIONS, 0)}
MOST = 1000
"""Rows of a table that a split draws from it; the others have fewer."""
SHARES = (0.6, 0.8)
"""A table's rows up to the first are for training, up to the second for validation."""
GAP_SHARES = (0.5, 2 / 3)
"""The same where the last third is the middle along an input."""
TRAINED, VALIDATED, TESTED = 300, 100, 300
"""Digits."""
FEW = (1_000, 200, 500)
"""Rows for training, validation and test of the tables of R, which have thousands."""
OUTSIDE = 150
"""Inputs of other classes, and of noise."""


@dataclass(frozen=True, kw_only=True)
class RealConfig:
    """Which data set.

    Attributes:
        name: of scikit-learn's: ``digits`` 0 to 7, ``breast-cancer`` and ``wine`` are
            classifications, ``diabetes`` is a regression. From statsmodels, all regressions:
            ``engel``, what a household spends on food, by its income; ``grunfeld``, a firm's
            investment, by its value, its capital, the year and the firm; ``randhie``, log(1 +
            visits to a doctor), by health and insurance; ``star98``, the share of a district's
            pupils above the national median. Targets of regressions are standardized. From R's
            mlbench and kernlab, in :data:`FILES`, classifications: ``letter``, 26 capitals by 16
            numbers of their images; ``dna``, the three kinds of a splice junction by 180 bits;
            ``spam``, by 57 frequencies of words.
        gap: whether test rows are the middle third along one input, the seed's, and training rows
            the outer thirds (Foong et al. 2019): regressions only.
    """

    name: Name = "digits"
    gap: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        if self.gap and self.name not in REGRESSIONS:
            raise ValueError(
                f"gap: expected one of {', '.join(REGRESSIONS)}, got the classes of {self.name}"
            )


class Real(Dataset):
    """Real data in setting (a), split by the seed: test data, and for digits three further sets.

    These are ``corrupted`` test images, ``near`` (digits 8 and 9) and ``far`` (uniform noise).

    A split has one of the rows with equal inputs, drawn by the seed: a person of ``randhie`` has a
    row a year, and a test row must be of a person who was not trained on. (``engel`` has a few,
    too.)
    """

    members = 50  # all of every method's: joint likelihoods are of all
    most_bytes = 6 << 20

    def __init__(self, config: RealConfig) -> None:
        self.config = config
        self.n_classes = N_CLASSES[config.name]
        self.inputs = (_rows(config.name)[0].shape[1],)

    def data(self, seeds: Sequence[int]) -> Data:
        """The training data, and data for validation."""
        train, validation, _ = (_stacked([self._part(seed, k) for seed in seeds]) for k in range(3))
        return Data(*train, Data(*validation))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """``test``; for digits also ``corrupted``, ``near`` and ``far``."""
        inputs, targets = _stacked([self._part(seed, 2) for seed in seeds])
        sets = {"test": EvaluationSet(inputs, targets)}
        if self.config.name != "digits":
            return sets
        images, labels = digits()
        others = images[labels >= CLASSES]
        near, far, worse = [], [], []
        for seed, own in zip(seeds, inputs.numpy(), strict=True):
            generator = np.random.default_rng(derive_seed("real", "altered", seed))
            worse.append(altered(own, generator))
            near.append(others[generator.permutation(len(others))[:OUTSIDE]])
            far.append(generator.random((OUTSIDE, own.shape[1]), dtype=np.float32))
        return sets | {
            "corrupted": EvaluationSet(torch.from_numpy(np.stack(worse)), targets),
            "near": EvaluationSet(torch.from_numpy(np.stack(near))),
            "far": EvaluationSet(torch.from_numpy(np.stack(far))),
        }

    def _part(self, seed: int, part: int) -> tuple[Array, NDArray[np.generic]]:
        """Training, validation or test data of a lane."""
        inputs, targets = _rows(self.config.name)
        index = order("real", self.config.name, seed, count=len(targets))
        index = _first_of_each(_numbers(self.config.name), index)
        if self.config.name in FILES:
            ends = np.cumsum([0, *FEW]).tolist()
            known, chosen = index[: ends[1]], index[ends[part] : ends[part + 1]]
            return standardized(inputs, known)[chosen], targets[chosen]
        index = index[:MOST]
        if self.config.gap:
            index = around_a_gap(inputs[:, seed % inputs.shape[1]], index)
        if self.config.name == "digits":
            ends = [0, TRAINED, TRAINED + VALIDATED, TRAINED + VALIDATED + TESTED]
            chosen = index[ends[part] : ends[part + 1]]
            return inputs[chosen], targets[chosen]
        shares = GAP_SHARES if self.config.gap else SHARES
        ends = [0, *(round(share * len(index)) for share in shares), len(index)]
        train, chosen = index[: ends[1]], index[ends[part] : ends[part + 1]]
        x = standardized(inputs, train)[chosen]
        y = targets if self.n_classes else standardized(targets, train)
        return x, y[chosen]


def around_a_gap(values: Array, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index with its middle third by value last, in the places of test rows.

    Among rows of equal value, those first in the index are the lower ones.
    """
    ranked = index[np.argsort(values[index], kind="stable")]
    outside = round(GAP_SHARES[1] * len(index))
    low = outside // 2
    inside = np.isin(index, ranked[low : low + len(index) - outside])
    return np.concatenate([index[~inside], index[inside]])


def _first_of_each(numbers: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index without rows whose number stands before them in it."""
    first = np.unique(numbers[index], return_index=True)[1]
    kept: NDArray[np.int64] = index[np.sort(first)]
    return kept


@cache
def _numbers(name: Name) -> NDArray[np.int64]:
    """A number for each row, equal where the inputs are."""
    return np.unique(_rows(name)[0], axis=0, return_inverse=True)[1].ravel()


@cache
def _rows(name: Name) -> tuple[Array, NDArray[np.generic]]:
    if name == "digits":
        return in_distribution()
    if name in FILES:
        return _of_r(name)
    if name in STATSMODELS:
        inputs, targets = STATSMODELS[name]()
        return inputs.to_numpy(np.float32), targets.to_numpy(np.float32)
    load = {"breast-cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}[name]
    loaded = load()
    kind = np.int64 if N_CLASSES[name] else np.float32
    return loaded.data.astype(np.float32), loaded.target.astype(kind)


def _of_r(name: Name) -> tuple[Array, NDArray[np.generic]]:
    """A data frame that R saved; a factor's values are their numbers.

    Raises:
        DataError: rdata is not installed, or the file is missing or another one.
    """
    read = content(data_folder(FILES.values()), FILES[name])
    try:
        import rdata
    except ImportError:
        raise DataError(
            "reading tables of R needs rdata: pip install uqbench-predictive[tables]"
        ) from None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unknown encoding", UserWarning)  # all is ASCII
        (frame,) = rdata.conversion.convert(rdata.parser.parse_data(read)).values()
    codes = frame.apply(lambda x: x.cat.codes if isinstance(x.dtype, pd.CategoricalDtype) else x)
    targets = codes.pop(TARGETS[name])
    return codes.to_numpy(np.float32), targets.to_numpy(np.int64)


def _engel() -> tuple[pd.DataFrame, pd.Series]:
    table = engel.load_pandas().data
    return table[["income"]], table["foodexp"]


def _grunfeld() -> tuple[pd.DataFrame, pd.Series]:
    table = grunfeld.load_pandas().data
    firms = pd.get_dummies(table["firm"])
    return table[["value", "capital", "year"]].join(firms), table["invest"]


def _randhie() -> tuple[pd.DataFrame, pd.Series]:
    table = randhie.load_pandas().data
    return table.drop(columns="mdvis"), np.log1p(table["mdvis"])


def _star98() -> tuple[pd.DataFrame, pd.Series]:
    table = star98.load_pandas().data
    passed, failed = table["NABOVE"], table["NBELOW"]
    return table.loc[:, "LOWINC":"PCTYRRND"], passed / (passed + failed)


STATSMODELS = {"engel": _engel, "grunfeld": _grunfeld, "randhie": _randhie, "star98": _star98}


def _stacked(lanes: Sequence[tuple[Array, NDArray[np.generic]]]) -> tuple[Tensor, Tensor]:
    inputs, targets = zip(*lanes, strict=True)
    return torch.from_numpy(np.stack(inputs)), torch.from_numpy(np.stack(targets))
