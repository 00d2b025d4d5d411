"""Last layers over a real encoder: what ImageNet's features tell of emoji of two vendors.

A head learns six categories from one vendor's drawings. The same emoji drawn by another vendor are
a natural shift, as cameras and hospitals are in WILDS (Koh et al. 2021); categories that were not
learned are foreign. Features are computed once, from packages that the user has
(:mod:`uqbench_predictive.make_features`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.estimator import Data, Dataset, EvaluationSet
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
FEATURES = "emoji/efficientnet-lite0.npz"
"""The file of features, beside the packages."""
KNOWN = (
    "Activities", "Animals & Nature", "Objects", "People & Body", "Smileys & Emotion",
    "Travel & Places",
)  # fmt: skip
NEAR, FAR = "Food & Drink", "Flags"
TRAINED, VALIDATED, TESTED = 800, 150, 250
"""Of the 1,276 emoji of the learned categories."""


@dataclass(frozen=True, kw_only=True)
class FrozenConfig:
    """Nothing is to be chosen."""


class Frozen(Dataset):
    """Six categories of emoji from 1,280 features of 800 of one vendor's drawings.

    Features are scaled to the mean and deviation that they have in the lane's training data. There
    are 150 more for validation, and these sets:

    - ``test``: 250 more;
    - ``corrupted``: the same 250 emoji, drawn by another vendor;
    - ``near``: the 131 of food and drink, which are not learned;
    - ``far``: 250 of 261 flags.
    """

    inputs = (1_280,)
    n_classes = len(KNOWN)
    members = 50
    most_bytes = 6 << 20

    def __init__(self, config: FrozenConfig) -> None:
        self.config = config

    @property
    def folder(self) -> Path:
        """Where the user's files are."""
        return data_folder(FILES.values())

    def data(self, seeds: Sequence[int]) -> Data:
        """The training data, and data for validation: ``[L, n, 1280]``."""
        x, _, y = self._drawn(seeds)
        known, held = slice(0, TRAINED), slice(TRAINED, TRAINED + VALIDATED)
        return Data(x[:, known], y[:, known], Data(x[:, held], y[:, held]))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """As the class says."""
        x, other, y = self._drawn(seeds)
        targets = y[:, -TESTED:]
        sets = {
            "test": EvaluationSet(x[:, -TESTED:], targets),
            "corrupted": EvaluationSet(other[:, -TESTED:], targets),
        }
        google, _, category = features_of(self.folder)
        for name, own in (("near", NEAR), ("far", FAR)):
            offered = np.flatnonzero(category == own)
            index = [order("frozen", name, s, count=len(offered))[:TESTED] for s in seeds]
            sets[name] = EvaluationSet(self._scaled(google[offered[np.stack(index)]], seeds))
        return sets

    def _drawn(self, seeds: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Each lane's emoji in its own order: of both vendors, and their categories."""
        google, twitter, category = features_of(self.folder)
        offered = self._offered(category)
        index = np.stack([offered[order("frozen", "split", s, count=len(offered))] for s in seeds])
        y = np.searchsorted(KNOWN, category[index])
        x, other = (self._scaled(one[index], seeds) for one in (google, twitter))
        return x, other, torch.from_numpy(y)

    def _scaled(self, x: NDArray[np.float32], seeds: Sequence[int]) -> Tensor:
        google, _, category = features_of(self.folder)
        offered = self._offered(category)
        lanes = []
        for one, seed in zip(x, seeds, strict=True):
            index = order("frozen", "split", seed, count=len(offered))[:TRAINED]
            known = google[offered[index]]
            lanes.append((one - known.mean(0)) / (known.std(0) + 1e-3))
        return torch.from_numpy(np.stack(lanes).astype(np.float32))

    def _offered(self, category: NDArray[np.str_]) -> NDArray[np.int64]:
        return np.flatnonzero(np.isin(category, KNOWN))


@cache
def features_of(folder: Path) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.str_]]:
    """Features of both vendors' drawings, ``[N, 1280]``, and the categories.

    Raises:
        DataError: there is no such file, or it has other arrays.
    """
    path = folder / FEATURES
    if not path.is_file():
        packages = " and ".join(f"{f.path} ({f.where})" for f in FILES.values())
        raise MissingError(
            f"there is no {path}: put {packages} into {folder}, and run "
            f"python -m uqbench_predictive.make_features"
        )
    with np.load(path, allow_pickle=False) as arrays:
        google, twitter, category = (arrays[name] for name in ("google", "twitter", "category"))
    if not google.shape == twitter.shape == (len(category), 1_280):
        raise DataError(
            f"{path}: expected features [N, 1280] of both vendors and N categories, got "
            f"{google.shape}, {twitter.shape} and {category.shape}; make it again"
        )
    return google, twitter, category
