"""Last layers over a real encoder: what ImageNet's features tell of emoji of two vendors.

A head learns six categories from one vendor's drawings. The same emoji drawn by another vendor are
a natural shift, as cameras and hospitals are in WILDS (Koh et al. 2021); fifteen corruptions of
drawings are a made one; categories that were not learned are foreign. Features are computed once,
from packages that the user has (:mod:`uqbench_predictive.make_features`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import Data, Dataset, EvaluationSet
from uqbench_predictive.problems.corruptions import STRENGTHS
from uqbench_predictive.problems.detection import order
from uqbench_predictive.problems.idx import DataError, File, MissingError
from uqbench_predictive.problems.image_files import data_folder

_NPM = "npm pack emoji-datasource-{}@16.0.0"
FILES: Mapping[str, File] = {
    # drawings of Google's Noto Emoji (Apache-2.0) and of Twemoji (CC-BY 4.0)
    "google": File(
        "emoji/emoji-datasource-google-16.0.0.tgz",
        "afdb2b1eb6e038ffd8c59dd6f654720f",
        _NPM.format("google"),
        "334f58688e07d8f886f58760d1d927d322416944c498573f88e6cd648264b2ee",
    ),
    "twitter": File(
        "emoji/emoji-datasource-twitter-16.0.0.tgz",
        "19fb55ef34e83997e985f687762798eb",
        _NPM.format("twitter"),
        "59f15dd583fe2fdedc4a868a6551d3c8750549ff3e2f688ef4df2e32dd9816de",
    ),
}
ENCODERS = 3
"""EfficientNet-Lite0, 1 and 2."""
FEATURES = "emoji/efficientnet-lite{}.npz"
"""An encoder's file of features, beside the packages."""
WIDTH = 1_280
"""Features of a drawing."""
KNOWN = (
    "Activities", "Animals & Nature", "Objects", "People & Body", "Smileys & Emotion",
    "Travel & Places",
)  # fmt: skip
NEAR, FAR = "Food & Drink", "Flags"
SHIFTED = tuple(f"strength-{strength}" for strength in range(1, STRENGTHS + 1))
PER_BASE = 3
"""Most emoji of a base that take part, the first of them: of families there are 37, which would
decide the scores of the splits that ask about them."""
TRAINED, VALIDATED, TESTED = 430, 100, 200
"""Numbers of emoji, of the 756 of the learned categories with which methods are compared."""
CHOOSING = 3
"""The part of these categories' 1,134 emoji with which settings are chosen is one third: 378."""


@dataclass(frozen=True, kw_only=True)
class FrozenConfig:
    """Whose features.

    Attributes:
        encoders: features are of EfficientNet-Lite0, or of the first two or three of Lite0, 1 and
            2, one after the other.
        choosing: whether settings are chosen: splits are of the third of the emoji that no
            comparison sees, half as many in each part, and ``test`` is the only set.
        apart: what is on one side of a split: all emoji of a ``base`` (man, woman and person with
            one role; clocks; hearts), or each ``emoji`` by itself, which is how splits were before
            and lets a head learn a man and be asked about the woman.
    """

    encoders: int = 1
    choosing: bool = field(default=False, metadata=LATER)
    apart: Literal["base", "emoji"] = field(default="base", metadata=LATER)

    def __post_init__(self) -> None:
        if not 1 <= self.encoders <= ENCODERS:
            raise ValueError(f"encoders must be 1 to {ENCODERS}, got {self.encoders}")


class Frozen(Dataset):
    """Six categories of emoji from features of 430 of one vendor's drawings, 1,280 an encoder.

    Features are scaled to the mean and deviation that they have in the lane's training data. There
    are 100 more for validation, and these sets:

    - ``test``: 200 more;
    - ``corrupted``: the same 200 emoji, drawn by another vendor;
    - ``strength-1`` to ``strength-5``: the same drawings by one of fifteen corruptions each;
    - ``near``: the 131 of food and drink, which are not learned;
    - ``far``: 200 of 261 flags.

    Emoji of one base are on one side of a split, and so are those with which settings are chosen.
    Lanes split one pool: what differs between them is the split and the training, not the emoji, so
    that an interval over seeds says nothing about emoji of another pool.
    """

    n_classes = len(KNOWN)
    members = 50
    most_bytes = 6 << 20

    def __init__(self, config: FrozenConfig) -> None:
        self.config = config
        self.inputs = (config.encoders * WIDTH,)

    @property
    def folder(self) -> Path:
        """Where the user's files are."""
        return data_folder(FILES.values())

    def data(self, seeds: Sequence[int]) -> Data:
        """The training data, and data for validation: ``[L, n, x]``."""
        known, held = (self._drawn(seeds, part, "google") for part in (2, 1))
        return replace(known, validation=held)

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """As the class says."""
        versions = {"test": "google", "corrupted": "twitter"} | {name: name for name in SHIFTED}
        sets = {}
        for name, version in versions.items():
            one = self._drawn(seeds, 0, version)
            sets[name] = EvaluationSet(one.inputs, one.targets, one.groups)
            if self.config.choosing:
                return sets  # settings are chosen by test emoji alone
        found = self._features()
        for name, own in (("near", NEAR), ("far", FAR)):
            offered = np.flatnonzero(found.category == own)
            index = [order("frozen", name, s, count=len(offered))[:TESTED] for s in seeds]
            chosen = offered[np.stack(index)]
            x = self._scaled(found.drawings["google"][chosen], seeds)
            sets[name] = EvaluationSet(x, groups=torch.from_numpy(found.group[chosen]))
        return sets

    def _features(self) -> Features:
        return features_of(self.folder, self.config.encoders)

    def _drawn(self, seeds: Sequence[int], part: int, version: str) -> Data:
        """A part of each lane's emoji: 0 for tests, 1 for validation, 2 for training."""
        found = self._features()
        index = np.stack([self._split(seed)[part] for seed in seeds])
        y = torch.from_numpy(np.searchsorted(KNOWN, found.category[index]))
        x = self._scaled(found.drawings[version][index], seeds)
        return Data(x, y, groups=torch.from_numpy(found.group[index]))

    def _scaled(self, x: NDArray[np.float32], seeds: Sequence[int]) -> Tensor:
        google, lanes = self._features().drawings["google"], []
        for one, seed in zip(x, seeds, strict=True):
            known = google[self._split(seed)[2]]
            lanes.append((one - known.mean(0)) / (known.std(0) + 1e-3))
        return torch.from_numpy(np.stack(lanes).astype(np.float32))

    def _split(self, seed: int) -> list[NDArray[np.int64]]:
        """A lane's emoji for tests, validation and training."""
        found = self._features()
        known = few_a_group(np.flatnonzero(np.isin(found.category, KNOWN)), found.group, PER_BASE)
        chosen, compared = by_group(known, found.group, [len(known) // CHOOSING], "choosing")
        offered, parts = compared, [TESTED, VALIDATED, TRAINED]
        if self.config.choosing:
            offered, parts = chosen, [count // 2 for count in parts]
        group = found.group if self.config.apart == "base" else np.arange(len(found.group))
        *held, rest = by_group(offered, group, parts[:2], "split", seed)
        return [*held, rest[: parts[2]]]


def few_a_group(rows: NDArray[np.int64], group: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The first rows of each group, at most so many; ``group`` is of every row, also of others."""
    seen: Counter[int] = Counter()
    kept = []
    for row in rows:
        seen[group[row]] += 1
        kept += [row] if seen[group[row]] <= most else []
    return np.array(kept)


def by_group(
    rows: NDArray[np.int64], group: NDArray[np.int64], sizes: Sequence[int], *names: str | int
) -> list[NDArray[np.int64]]:
    """Rows of each size, and the rest, so that no group is in two of them.

    Groups come in an order that follows from the names; each goes into the first part that has
    room for it.

    Args:
        rows: which are split.
        group: of every row, also of others.
        sizes: of the parts.
        names: of the split.

    Raises:
        ValueError: groups do not fill a part.
    """
    own = group[rows]
    labels = np.unique(own)
    left = [rows[own == labels[k]] for k in order("frozen", *names, count=len(labels))]
    parts = []
    for size in sizes:
        part, room = [rows[:0]], size
        others: list[NDArray[np.int64]] = []
        for members in left:
            fits = len(members) <= room
            (part if fits else others).append(members)
            room -= fits * len(members)
        if room:
            raise ValueError(
                f"expected groups that fill {size} of {len(rows)} rows, {room} are left"
            )
        parts.append(np.concatenate(part))
        left = others
    return [*parts, np.concatenate([rows[:0], *left])]


class Features(NamedTuple):
    """What was computed.

    Attributes:
        drawings: ``[N, x]`` of ``google``, ``twitter`` and ``strength-1`` to ``strength-5``.
        category: ``[N]``.
        group: number of the base, ``[N]``.
    """

    drawings: Mapping[str, NDArray[np.float32]]
    category: NDArray[np.str_]
    group: NDArray[np.int64]


@cache
def features_of(folder: Path, encoders: int = 1) -> Features:
    """Features by the first encoders, one after the other, of all drawings.

    Raises:
        DataError: a file is missing, or has other arrays.
    """
    parts = [_read(folder, encoder) for encoder in range(encoders)]
    drawings = {
        name: np.concatenate([part.drawings[name] for part in parts], -1)
        for name in parts[0].drawings
    }
    return Features(drawings, parts[0].category, parts[0].group)


def _read(folder: Path, encoder: int) -> Features:
    path, again = folder / FEATURES.format(encoder), "python -m uqbench_predictive.make_features"
    if not path.is_file():
        packages = " and ".join(f"{f.path} ({f.where})" for f in FILES.values())
        raise MissingError(f"there is no {path}: put {packages} into {folder}, and run {again}")
    names = ("google", "twitter", *SHIFTED)
    with np.load(path, allow_pickle=False) as arrays:
        if missing := [name for name in (*names, "category", "group") if name not in arrays]:
            raise DataError(f"{path} has no {', '.join(missing)}; make it again: {again}")
        category, group = arrays["category"], arrays["group"].astype(np.int64)
        drawings = {name: arrays[name] for name in names}
    if any(one.shape != (len(category), WIDTH) for one in drawings.values()):
        shapes = ", ".join(str(one.shape) for one in drawings.values())
        raise DataError(
            f"{path}: expected features [N, {WIDTH}] of {', '.join(names)} and N = {len(category)} "
            f"categories, got {shapes}; make it again: {again}"
        )
    return Features(drawings, category, group)
