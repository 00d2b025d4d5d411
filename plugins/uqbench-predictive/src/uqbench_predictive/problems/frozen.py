"""Last layers over a real encoder: what ImageNet's features tell of emoji of two vendors.

A head learns six categories from one vendor's drawings. The same emoji drawn by another vendor are
a natural shift, as cameras and hospitals are in WILDS (Koh et al. 2021); fifteen corruptions of
drawings are a made one; categories that were not learned are foreign. Features are computed once,
from packages that the user has (:mod:`uqbench_predictive.make_features`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

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
TRAINED, VALIDATED, TESTED = 800, 150, 250
"""Numbers of emoji, of the 1,276 emoji of the learned categories."""


@dataclass(frozen=True, kw_only=True)
class FrozenConfig:
    """Whose features.

    Attributes:
        encoders: features are of EfficientNet-Lite0, or of the first two or three of Lite0, 1 and
            2, one after the other.
    """

    encoders: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.encoders <= ENCODERS:
            raise ValueError(f"encoders must be 1 to {ENCODERS}, got {self.encoders}")


class Frozen(Dataset):
    """Six categories of emoji from features of 800 of one vendor's drawings, 1,280 an encoder.

    Features are scaled to the mean and deviation that they have in the lane's training data. There
    are 150 more for validation, and these sets:

    - ``test``: 250 more;
    - ``corrupted``: the same 250 emoji, drawn by another vendor;
    - ``strength-1`` to ``strength-5``: the same drawings by one of fifteen corruptions each;
    - ``near``: the 131 of food and drink, which are not learned;
    - ``far``: 250 of 261 flags.
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
        x, y = self._drawn(seeds, slice(None), "google")
        known, held = slice(0, TRAINED), slice(TRAINED, TRAINED + VALIDATED)
        return Data(x[:, known], y[:, known], Data(x[:, held], y[:, held]))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """As the class says."""
        tested = slice(-TESTED, None)
        versions = {"test": "google", "corrupted": "twitter"} | {name: name for name in SHIFTED}
        sets = {}
        for name, version in versions.items():
            x, targets = self._drawn(seeds, tested, version)
            sets[name] = EvaluationSet(x, targets)
        found = self._features()
        for name, own in (("near", NEAR), ("far", FAR)):
            offered = np.flatnonzero(found.category == own)
            index = [order("frozen", name, s, count=len(offered))[:TESTED] for s in seeds]
            drawn = found.drawings["google"][offered[np.stack(index)]]
            sets[name] = EvaluationSet(self._scaled(drawn, seeds))
        return sets

    def _features(self) -> Features:
        return features_of(self.folder, self.config.encoders)

    def _drawn(self, seeds: Sequence[int], part: slice, version: str) -> tuple[Tensor, Tensor]:
        """Some of each lane's emoji in its own order, and their categories."""
        found = self._features()
        index = np.stack([self._split(seed)[part] for seed in seeds])
        y = np.searchsorted(KNOWN, found.category[index])
        return self._scaled(found.drawings[version][index], seeds), torch.from_numpy(y)

    def _scaled(self, x: NDArray[np.float32], seeds: Sequence[int]) -> Tensor:
        google, lanes = self._features().drawings["google"], []
        for one, seed in zip(x, seeds, strict=True):
            known = google[self._split(seed)[:TRAINED]]
            lanes.append((one - known.mean(0)) / (known.std(0) + 1e-3))
        return torch.from_numpy(np.stack(lanes).astype(np.float32))

    def _split(self, seed: int) -> NDArray[np.int64]:
        """A lane's order of the emoji of categories that are learned."""
        offered = np.flatnonzero(np.isin(self._features().category, KNOWN))
        return offered[order("frozen", "split", seed, count=len(offered))]


class Features(NamedTuple):
    """What was computed.

    Attributes:
        drawings: ``[N, x]`` of ``google``, ``twitter`` and ``strength-1`` to ``strength-5``.
        category: ``[N]``.
    """

    drawings: Mapping[str, NDArray[np.float32]]
    category: NDArray[np.str_]


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
    return Features(drawings, parts[0].category)


def _read(folder: Path, encoder: int) -> Features:
    path, again = folder / FEATURES.format(encoder), "python -m uqbench_predictive.make_features"
    if not path.is_file():
        packages = " and ".join(f"{f.path} ({f.where})" for f in FILES.values())
        raise MissingError(f"there is no {path}: put {packages} into {folder}, and run {again}")
    names = ("google", "twitter", *SHIFTED)
    with np.load(path, allow_pickle=False) as arrays:
        if missing := [name for name in (*names, "category") if name not in arrays]:
            raise DataError(f"{path} has no {', '.join(missing)}; make it again: {again}")
        category = arrays["category"]
        drawings = {name: arrays[name] for name in names}
    if any(one.shape != (len(category), WIDTH) for one in drawings.values()):
        shapes = ", ".join(str(one.shape) for one in drawings.values())
        raise DataError(
            f"{path}: expected features [N, {WIDTH}] of {', '.join(names)} and N = {len(category)} "
            f"categories, got {shapes}; make it again: {again}"
        )
    return Features(drawings, category)
