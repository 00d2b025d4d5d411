"""A table as a data set in setting (a): split by the seed with groups whole, scaled, in lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from uqbench.contract.errors import UqbenchError
from uqbench.contract.estimator import Data, Dataset, EvaluationSet
from uqbench_predictive.problems.columns import Kind, numbers, target_numbers
from uqbench_predictive.problems.detection import order

Array = NDArray[np.float32]
Rows = NDArray[np.int64]
MOST = 2_000
"""Rows of a table that a split draws from it."""
SHARES = (0.6, 0.2)
"""Shares of a split's rows for training and for validation; the rest are for tests."""
FEWEST = 50
"""Rows of a split: fewer leave ten for validation, of which 90 % sets need nine."""
FEWEST_GROUPS = 10


class TableDataset(Dataset):
    """A table in setting (a): any columns, a target, and perhaps groups of rows.

    A seed orders the groups: those first are trained on, the next are for validation, the last for
    tests, in shares of 60, 20 and 20 %. A group (a person, a firm, a year) is on one side, and so
    are rows whose inputs are equal. So that all splits have the same numbers of rows, those of a
    group beyond a part's number are in no part. Inputs, and a regression's targets, have mean 0 and
    standard deviation 1 over the training rows; a missing number is the training rows' mean.

    Args:
        x: ``[N, D]``: numbers, or a frame, whose columns :func:`columns.numbers` makes numbers.
        y: ``[N]``: classes (text, bools, at most ten whole numbers), or values.
        groups: ``[N]``, of any kind: rows with the same one belong together. None where only rows
            with equal inputs do.
        name: which splits follow from, too.
        kind: ``classification`` or ``regression``; None for what the target looks like.
        most: rows of a split.

    Attributes:
        notes: what was done to the columns and to the target, a sentence each.
        groups: the number of the group of each row, ``[N]``.
        sizes: rows for training, validation and tests.

    Raises:
        UqbenchError: lengths differ, a column or the target cannot be used, or there are too few
            rows or groups; says what was expected.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(100, 3))
        >>> table = TableDataset(x, x[:, 0] > 0, groups=np.arange(100) // 4)
        >>> table.n_classes, table.data([0]).inputs.shape
        (2, torch.Size([1, 56, 3]))
    """

    most_bytes = 6 << 20

    def __init__(
        self,
        x: Any,
        y: Any,
        groups: Any = None,
        *,
        name: str = "table",
        kind: Kind | None = None,
        most: int = MOST,
    ) -> None:
        frame, target = pd.DataFrame(x), pd.Series(np.asarray(y), name=getattr(y, "name", "target"))
        own = None if groups is None else pd.Series(np.asarray(groups))
        if len(target) != len(frame) or (own is not None and len(own) != len(frame)):
            lengths = f"{len(frame)} rows and {len(target)} targets"
            lengths += "" if own is None else f" and {len(own)} groups"
            raise UqbenchError(f"{name}: got {lengths}; expected as many of each.")
        known = target.notna().to_numpy()
        frame, target = frame[known].reset_index(drop=True), target[known].reset_index(drop=True)
        if own is not None:
            own = own[known].reset_index(drop=True)
        lost = int((~known).sum())
        of_rows = [f"{target.name}: {lost} rows without it are left out"] if lost else []
        self.columns = numbers(frame, name)
        self.target = target_numbers(target, kind, name)
        self.notes = (*self.target.notes, *of_rows, *self.columns.notes)
        self.groups = together(self.columns.values, own, name)
        self.inputs, self.n_classes = (self.columns.values.shape[1],), self.target.n_classes
        self._name, self.sizes = name, sizes(self.groups, most, name)

    @property
    def kind(self) -> Kind:
        """What is predicted."""
        return "classification" if self.n_classes else "regression"

    def data(self, seeds: Sequence[int]) -> Data:
        """The training data, and data for validation."""
        train, held, _ = (self._stacked(seeds, part) for part in range(3))
        return Data(*train[:2], Data(*held[:2], groups=held[2]), train[2])

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """``test``."""
        return {"test": EvaluationSet(*self._stacked(seeds, 2))}

    def split(self, seed: int) -> tuple[Rows, Rows, Rows]:
        """The numbers of the rows for training, validation and tests, by a seed."""
        drawn = order("table", self._name, seed, count=int(self.groups.max()) + 1)
        place = np.empty_like(drawn)
        place[drawn] = np.arange(len(drawn))
        rest = np.argsort(place[self.groups], kind="stable")
        parts = []
        for size in self.sizes:
            parts.append(rest[:size])
            last = self.groups[rest[size - 1]]
            rest = rest[size:][self.groups[rest[size:]] != last]
        return parts[0], parts[1], parts[2]

    def _stacked(self, seeds: Sequence[int], part: int) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs, targets and groups of a part, a lane a seed."""
        lanes = []
        for seed in seeds:
            rows = self.split(seed)
            train, own = rows[0], rows[part]
            y = self.target.values
            y = y if self.n_classes else standardized(y, train)
            lanes.append((standardized(self.columns.values, train)[own], y[own], self.groups[own]))
        inputs, targets, groups = (
            torch.from_numpy(np.stack(one)) for one in zip(*lanes, strict=True)
        )
        return inputs, targets, groups


def together(values: NDArray[np.float64], groups: pd.Series | None, name: str) -> Rows:
    """The number of each row's group: rows that share a given one, or all inputs, share it.

    Raises:
        UqbenchError: there are fewer than ten.
    """
    inputs = np.unique(np.nan_to_num(values), axis=0, return_inverse=True)[1].ravel()
    own = inputs.astype(np.int64)
    if groups is not None:
        given = pd.factorize(groups, use_na_sentinel=False)[0]
        links = coo_array((np.ones(len(given)), (given, inputs + given.max() + 1)))
        count = given.max() + inputs.max() + 2
        links.resize((count, count))
        own = connected_components(links, directed=False)[1][given].astype(np.int64)
    numbered = np.unique(own, return_inverse=True)[1].astype(np.int64)
    if (found := int(numbered.max()) + 1) < FEWEST_GROUPS:
        raise UqbenchError(
            f"{name}: {len(numbered)} rows are in {found} groups that share nothing; expected at "
            f"least {FEWEST_GROUPS}, so that training, validation and tests have groups of their "
            f"own. (Rows with the same inputs are in one group.)"
        )
    return numbered


def sizes(groups: Rows, most: int, name: str) -> tuple[int, int, int]:
    """Rows for training, validation and tests, whichever groups come first.

    A part may cut off all but one row of its last group.

    Raises:
        UqbenchError: too few rows are left.
    """
    largest = int(np.bincount(groups).max())
    usable = min(most, len(groups) - 2 * (largest - 1))
    if usable < FEWEST:
        raise UqbenchError(
            f"{name}: {len(groups)} rows, of which a group has {largest}, leave {max(usable, 0)} "
            f"for a split with groups whole; expected at least {FEWEST}: more rows, or groups that "
            f"are smaller."
        )
    train, held = (round(share * usable) for share in SHARES)
    return train, held, usable - train - held


def standardized(array: NDArray[np.generic], train: Rows) -> Array:
    """The array with mean 0 and standard deviation 1 over its training rows, float32.

    A missing number is 0, the mean; a column that does not vary there, too.
    """
    known = array[train].astype(np.float64)
    there = np.isfinite(known)
    count = np.maximum(there.sum(0), 1)
    mean = np.where(there, known, 0).sum(0) / count
    std = np.sqrt(np.where(there, (known - mean) ** 2, 0).sum(0) / count)
    scaled: NDArray[np.float64] = (array.astype(np.float64) - mean) / np.where(std > 0, std, np.inf)
    scaled[~np.isfinite(scaled)] = 0.0
    return scaled.astype(np.float32)
