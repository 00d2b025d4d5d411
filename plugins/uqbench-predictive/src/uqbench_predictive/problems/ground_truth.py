"""Ground truth, by Hamiltonian Monte Carlo or in closed form: small arrays in the package.

They are made by ``python -m uqbench_predictive.make_truth NAME``, which takes minutes, so that runs
never wait for it. Their digests are checked on every read.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench_predictive.uncertainty import entropy

DIGESTS = {
    "two-moons": "9a9068143543a8eb283c6e6ba5bfbbf50d84ce7e0cdfc17f1e1d2537acde0932",
    "simplex": "b96c0c0548b6d7e9f3310416de4b60776e57d2e03d82221fffb552bb31dae687",
    "sine": "c9b313410b0d673bfd27b02fbe51b3de1efd4ef4987ff110493c06b138e71216",
    "sine-hmc": "923738aecf3492867bf2d10c618bafc65530eaae1489d1bc2717b743b0e1fddf",
}
"""SHA-256 of the files."""


def read(name: str) -> Mapping[str, NDArray[np.float32]]:
    """The arrays of a problem, its data sets along the first dimension.

    Raises:
        FileNotFoundError: the file is not installed.
        ValueError: the file is not the one that the scores were computed with.
    """
    path = files("uqbench_predictive.problems") / "truths" / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(
            f"the ground truth of {name} is not installed: expected {path}; reinstall "
            f"uqbench-predictive, or make it: python -m uqbench_predictive.make_truth {name} "
            f"(minutes)"
        )
    content = path.read_bytes()
    digest = sha256(content).hexdigest()
    if digest != DIGESTS[name]:
        raise ValueError(
            f"the ground truth of {name} has the digest {digest[:12]}…, expected "
            f"{DIGESTS[name][:12]}…; reinstall uqbench-predictive"
        )
    with np.load(io.BytesIO(content)) as arrays:
        return dict(arrays)


@dataclass(frozen=True)
class ClassTruth:
    """Expectations over the posterior, from which both settings follow for any reference model.

    Attributes:
        arrays: ``probs``, ``E p`` ``[D, M, C]``; ``entropy``, ``E H[p]`` ``[D, M]``; ``log_probs``,
            ``E log p`` ``[D, M, C]``; D data sets.
    """

    arrays: Mapping[str, NDArray[np.float32]]

    def of(self, datasets: Sequence[int]) -> ClassTruth:
        """The truth of each lane, by the index of its data set."""
        return ClassTruth({name: array[list(datasets)] for name, array in self.arrays.items()})

    @property
    def probs(self) -> Tensor:
        """``E p``, float64."""
        return torch.from_numpy(self.arrays["probs"]).double()

    def setting_a(self) -> Tensor:
        """Setting (a), the mutual information ``H[E p] − E H[p]``, ``[W, M]``."""
        mixed = entropy(self.probs.clamp(min=1e-30).log())
        return (mixed - torch.from_numpy(self.arrays["entropy"]).double()).clamp(min=0)

    def epistemic(self, reference: Tensor | None) -> Tensor:
        """The epistemic part, ``[W, M]``: (b) about a reference model, else (a)."""
        return self.setting_a() if reference is None else self.setting_b(reference)

    def setting_b(self, reference: Tensor) -> Tensor:
        """Setting (b), ``Σ_c p_c (log p_c − E log q_c)`` for the reference's log-probabilities."""
        expected = torch.from_numpy(self.arrays["log_probs"]).double()
        return (reference.exp() * (reference - expected)).sum(-1)
