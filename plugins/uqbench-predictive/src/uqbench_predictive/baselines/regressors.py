"""Regressors of scikit-learn, each with the variance of its targets: one lane's model at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.neighbors import NearestNeighbors

if TYPE_CHECKING:
    from uqbench_predictive.baselines.scikit_learn import ScikitLearnConfig

Array = NDArray[np.float64]
TREES, NEIGHBORS = 500, 10
LEAF = 5
"""Least rows of a leaf of a forest for regression (Breiman 2001)."""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are boosted; the outer ones are the ends of a 90 % interval."""
LEAST = 1e-6
"""A variance, of targets whose variance is one, that is stated at least."""


@dataclass(frozen=True)
class Stated:
    """Predictions at M inputs.

    Attributes:
        mean: ``[M]``.
        aleatoric: the variance that stays, ``[M]``.
        epistemic: the variance of the mean, ``[M]``; zero where nothing is said of it.
        interval: ``[M, 2]``, where it is not a normal's.
    """

    mean: Array
    aleatoric: Array
    epistemic: Array
    interval: Array | None = None


Predict = Callable[[Array], Stated]
"""From inputs ``[M, D]``."""


def forest(_: ScikitLearnConfig, seed: int, x: Array, y: Array) -> Predict:
    """500 trees with at least five rows a leaf; the variance is that of a leaf's targets.

    A target's law is the mean over trees of that in the leaf of its input (Meinshausen 2006): its
    variance is the mean of the leaves' own, and the variance of their means over trees.
    """
    model = RandomForestRegressor(TREES, min_samples_leaf=LEAF, random_state=seed).fit(x, y)

    def predict(inputs: Array) -> Stated:
        leaves = model.apply(inputs).T
        trees = [tree.tree_ for tree in model.estimators_]
        means = np.stack([tree.value[own, 0, 0] for tree, own in zip(trees, leaves, strict=True)])
        within = np.mean(
            [tree.impurity[own] for tree, own in zip(trees, leaves, strict=True)], axis=0
        )
        return Stated(means.mean(0), within, means.var(0))

    return predict


def neighbors(_: ScikitLearnConfig, __: int, x: Array, y: Array) -> Predict:
    """The mean and the variance of the targets of the ten nearest points."""
    found = NearestNeighbors(n_neighbors=min(NEIGHBORS, len(x))).fit(x)

    def predict(inputs: Array) -> Stated:
        near = y[found.kneighbors(inputs, return_distance=False)]
        return Stated(near.mean(1), near.var(1, ddof=1), np.zeros(len(inputs)))

    return predict


def process(_: ScikitLearnConfig, seed: int, x: Array, y: Array) -> Predict:
    """A Gaussian kernel and noise, both by the evidence."""
    length = float(np.sqrt(2 * x.var(0).sum()))  # root mean square distance of two points
    kernel = 1.0 * RBF(length) + WhiteKernel(0.5)
    model = GaussianProcessRegressor(kernel, random_state=seed).fit(x, y)
    noise = float(model.kernel_.k2.noise_level)

    def predict(inputs: Array) -> Stated:
        mean, std = model.predict(inputs, return_std=True)
        return Stated(mean, np.full(len(mean), noise), np.maximum(std**2 - noise, 0))

    return predict


def boosted_quantiles(config: ScikitLearnConfig, seed: int, x: Array, y: Array) -> Predict:
    """Five quantiles, boosted one by one; their normal by least squares, their outer two as ends.

    ``q_k ≈ μ + σ z_k``, z being a normal's quantiles of these levels: they are symmetric, so μ is
    the mean of the quantiles and ``σ = Σ z_k q_k / Σ z_k²``. Quantiles that cross are sorted.

    Source: Friedman 2001; Koenker & Bassett 1978
    """
    models = [
        HistGradientBoostingRegressor(
            loss="quantile",
            quantile=level,
            learning_rate=config.learning_rate,
            max_leaf_nodes=config.leaves,
            early_stopping=True,
            random_state=seed,
        ).fit(x, y)
        for level in LEVELS
    ]
    z = norm.ppf(LEVELS)

    def predict(inputs: Array) -> Stated:
        found = np.sort([model.predict(inputs) for model in models], axis=0)
        std = z @ found / (z @ z)
        return Stated(found.mean(0), std**2, np.zeros(len(inputs)), found[[0, -1]].T)

    return predict


REGRESSORS: Mapping[str, Callable[[ScikitLearnConfig, int, Array, Array], Predict]] = {
    "random-forest": forest,
    "gradient-boosting": boosted_quantiles,
    "k-neighbors": neighbors,
    "gaussian-process": process,
}
"""By name, from a config, a seed, training inputs ``[n, D]`` and targets ``[n]``."""


def law(stated: Stated) -> dict[str, Any]:
    """The predictions with a variance that is not zero."""
    return {**vars(stated), "aleatoric": np.maximum(stated.aleatoric, LEAST)}
