"""``python -m uqbench_quam.make_truth two-moons|simplex|sine [FILE]``: ground truth, from scratch.

Writes the arrays that :mod:`uqbench_quam.problems.ground_truth` reads; prints their digest, the
chains' acceptance and how far chains on one data set differ. Takes minutes on one core.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.estimator import Dataset
from uqbench_quam.baselines.hmc import HMC, HMCConfig
from uqbench_quam.problems import simplex, sine, two_moons
from uqbench_quam.uncertainty import entropy

CONFIGS = {
    "two-moons": HMCConfig(
        hidden=(100, 100), chains=4, burn_in=50, iterations=150, leapfrog=150, step_size=6e-3
    ),
    "simplex": HMCConfig(
        hidden=(10, 10), chains=8, burn_in=100, iterations=500, leapfrog=100, step_size=1e-2
    ),
    "sine": HMCConfig(
        hidden=(200, 200, 200),
        chains=4,
        burn_in=80,
        iterations=150,
        leapfrog=100,
        step_size=1.5e-3,
        prior="scaled",
    ),
}
Arrays = dict[str, NDArray[np.float32]]


def make(name: str) -> Arrays:
    """The arrays of a problem, for all its data sets at once."""
    problems: dict[str, tuple[Dataset, int, Tensor]] = {
        "two-moons": (
            two_moons.TwoMoons(two_moons.TwoMoonsConfig(setting="selected")),
            two_moons.DATASETS,
            two_moons.grid(),
        ),
        "simplex": (simplex.Simplex(simplex.SimplexConfig()), simplex.DATASETS, simplex.query()),
        "sine": (sine.Sine(sine.SineConfig()), sine.DATASETS, sine.grid()[:, None]),
    }
    task, datasets, points = problems[name]
    config = CONFIGS[name]
    chains = HMC(task, range(datasets), config, torch.device("cpu"))
    chains.fit(task.data(range(datasets)), None, steps=1)
    outputs = chains.sample.outputs(points.expand(datasets, *points.shape))  # [E, D, M, C]
    by_chain = outputs.unflatten(0, (config.chains, config.iterations))
    rows = f"acceptance {chains.acceptance.min():.2f} to {chains.acceptance.max():.2f}"
    if task.n_classes == 0:
        values = outputs.squeeze(-1)
        differs = by_chain.squeeze(-1).std(1).std(0).mean() / values.std(0).mean()
        _say(f"{rows}; standard deviations differ between chains by {differs:.1%}")
        return {"std": _small(values.std(0)), "mean": _small(values.mean(0))}
    members = outputs.log_softmax(-1)
    differs = by_chain.softmax(-1).mean(1).std(0).mean()
    _say(f"{rows}; probabilities differ between chains by {differs:.3f} (standard deviation)")
    return {
        "probs": _small(members.exp().mean(0)),
        "entropy": _small(entropy(members).mean(0)),
        "log_probs": _small(members.mean(0)),
    }


def main(arguments: Sequence[str]) -> None:
    """Make a problem's ground truth and write it."""
    name = arguments[0] if arguments else ""
    if name not in CONFIGS:
        raise SystemExit(f"expected one of {', '.join(CONFIGS)}, got {name!r}")
    default = Path(__file__).parent / "problems" / "truths" / f"{name}.npz"
    path = Path(arguments[1]) if len(arguments) > 1 else default
    torch.set_num_threads(1)
    began = time.monotonic()
    arrays = make(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    save: Callable[..., None] = np.savez_compressed
    save(path, **arrays)
    _say(f"{time.monotonic() - began:.0f} s")
    print(path, sha256(path.read_bytes()).hexdigest())


def _small(values: Tensor) -> NDArray[np.float32]:
    return values.numpy().astype(np.float32)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
