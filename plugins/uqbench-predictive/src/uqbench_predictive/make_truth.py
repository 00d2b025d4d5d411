"""``python -m uqbench_predictive.make_truth NAME [FILE]``: ground truth, from scratch.

NAME is ``two-moons``, ``simplex``, ``sine`` or ``sine-hmc``, which checks the sine's closed form by
chains. Writes the arrays that :mod:`uqbench_predictive.problems.ground_truth` reads, and prints
their digest.
Those of Hamiltonian Monte Carlo come with the chains' split-R̂ and effective sample sizes
(:mod:`uqbench_predictive.problems.diagnostics`). Takes a quarter of an hour on one core at most.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.estimator import Dataset
from uqbench_predictive.baselines.hmc import HMC, HMCConfig
from uqbench_predictive.problems import simplex, sine, two_moons
from uqbench_predictive.problems.diagnostics import bulk_ess, r_hat, tail_ess
from uqbench_predictive.problems.infinite_width import posterior
from uqbench_predictive.uncertainty import entropy

of_one_length = partial(HMCConfig, jitter=0.0)
"""Trajectories as they were when the files were made."""
CONFIGS = {
    "two-moons": of_one_length(
        hidden=(100, 100), chains=4, burn_in=50, iterations=150, leapfrog=150, step_size=6e-3
    ),
    "simplex": of_one_length(
        hidden=(10, 10), chains=8, burn_in=100, iterations=500, leapfrog=100, step_size=1e-2
    ),
    "sine-hmc": of_one_length(
        hidden=(200,) * 3,
        chains=4,
        burn_in=80,
        iterations=150,
        leapfrog=100,
        step_size=1.5e-3,
        prior="scaled",
    ),
}
TOGETHER = {"two-moons": 2, "simplex": 24}
"""Data sets whose chains move at once: as many as fit the caches. No number depends on it."""
Arrays = dict[str, NDArray[np.float32]]


def of_classes(name: str) -> Arrays:
    """The arrays of a ``ClassTruth``, and how chains agree."""
    problems: dict[str, tuple[Dataset, Tensor]] = {
        "two-moons": (
            two_moons.TwoMoons(two_moons.TwoMoonsConfig(setting="selected")),
            two_moons.grid(),
        ),
        "simplex": (simplex.Simplex(simplex.SimplexConfig()), simplex.query()),
    }
    task, points = problems[name]
    config, together = CONFIGS[name], TOGETHER[name]
    parts = []
    for first in range(0, task.n_datasets or 0, together):
        by_chain = sampled(task, range(first, first + together), config, points).log_softmax(-1)
        members = by_chain.flatten(0, 1)
        parts.append(
            {
                "probs": members.exp().mean(0),
                "entropy": entropy(members).mean(0),
                "log_probs": members.mean(0),
                **agreement(by_chain.exp(), worst_of=-1),
            }
        )
    return joined(parts)


def of_sine() -> Arrays:
    """Standard deviations by infinite width, under either prior."""
    data, points = sine.Sine(sine.SineConfig()).data(range(sine.DATASETS)), sine.grid()
    parts = []
    for prior, (input_variance, scales) in sine.PRIORS.items():
        for inputs, targets in zip(data.inputs, data.targets, strict=True):
            mean, covariance = posterior(
                inputs, targets, points[:, None], sine.NOISE_VAR, input_variance, scales
            )
            std = covariance.diagonal().clamp(min=0).sqrt()
            parts.append({f"{prior}_mean": mean[None], f"{prior}_std": std[None]})
    return joined(parts)


def of_sine_chains() -> Arrays:
    """The same by Hamiltonian Monte Carlo at the networks' own width, for some of the data sets."""
    task, points = sine.Sine(sine.SineConfig()), sine.grid()
    parts = []
    for dataset in range(sine.CHECKED_BY_HMC):
        values = sampled(task, [dataset], CONFIGS["sine-hmc"], points[:, None]).squeeze(-1)
        center = values.mean((0, 1))
        # of the squares, too: their mean is what the standard deviation is made of
        moments = torch.stack([values, (values - center).square()], -1)
        parts.append(
            {"mean": center, "std": values.flatten(0, 1).std(0), **agreement(moments, worst_of=-1)}
        )
    return joined(parts)


def sampled(task: Dataset, datasets: Sequence[int], config: HMCConfig, points: Tensor) -> Tensor:
    """Outputs of the kept states of every chain, ``[chains, draws, D, M, C]``."""
    chains = HMC(task.problem, datasets, config, torch.device("cpu"))
    chains.fit(task.data(datasets), None, steps=1)
    _say(f"data sets {list(datasets)}: accepted {chains.acceptance.min():.2f} or more")
    outputs = chains.sample.outputs(points.expand(len(datasets), *points.shape))
    by_chain: Tensor = outputs.unflatten(0, (config.chains, config.iterations))
    return by_chain


def agreement(by_chain: Tensor, worst_of: int) -> dict[str, Tensor]:
    """How chains ``[chains, draws, ...]`` agree, the worst along a dimension.

    Returns:
        ``rhat``, ``ess`` (of the bulk) and ``tail_ess``.
    """
    draws = by_chain.double().numpy()
    rhat, bulk, tail = (torch.from_numpy(of(draws)) for of in (r_hat, bulk_ess, tail_ess))
    _say(
        f"  split-R̂ up to {rhat.max():.3f}, effective sample sizes of bulk and tails "
        f"{bulk.min():.0f} and {tail.min():.0f} or more"
    )
    return {
        "rhat": rhat.amax(worst_of),
        "ess": bulk.amin(worst_of),
        "tail_ess": tail.amin(worst_of),
    }


def joined(parts: Sequence[Mapping[str, Tensor]]) -> Arrays:
    """The arrays of all data sets, along the first dimension."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: torch.cat([part[name] for part in parts if name in part]).numpy().astype(np.float32)
        for name in names
    }


MAKE: Mapping[str, Callable[[], Arrays]] = {
    "two-moons": partial(of_classes, "two-moons"),
    "simplex": partial(of_classes, "simplex"),
    "sine": of_sine,
    "sine-hmc": of_sine_chains,
}


def main(arguments: Sequence[str]) -> None:
    """Make a problem's ground truth and write it."""
    name = arguments[0] if arguments else ""
    if name not in MAKE:
        raise SystemExit(f"expected one of {', '.join(MAKE)}, got {name!r}")
    default = Path(__file__).parent / "problems" / "truths" / f"{name}.npz"
    path = Path(arguments[1]) if len(arguments) > 1 else default
    torch.set_num_threads(1)
    began = time.process_time()
    arrays = MAKE[name]()
    path.parent.mkdir(parents=True, exist_ok=True)
    save: Callable[..., None] = np.savez_compressed
    save(path, **arrays)
    _say(f"{time.process_time() - began:.0f} s of a core")
    print(path, sha256(path.read_bytes()).hexdigest())


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
