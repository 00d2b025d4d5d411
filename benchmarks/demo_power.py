"""How many worlds ``uqbench demo`` needs until its words are decided, on simulated runs.

    python benchmarks/demo_power.py

A run states a 90 % interval for each of eight values of one world. Their errors are normal with the
correlation ``rho``, and of standard deviation one where stated intervals are for ``factor``: 1 is
calibrated, 0.6 too narrow, 1.6 too wide. No agent is trained, and no board is looked at.
"""

from statistics import NormalDist

import numpy as np

from uqbench.boards.calibration import CALIBRATED, NARROW, WIDE, word
from uqbench.statistics.bounded import SHARE
from uqbench.statistics.estimate import estimate

VALUES, LEVEL, DRAWS = 8, 0.9, 400
FACTORS = {CALIBRATED: 1.0, NARROW: 0.6, WIDE: 1.6}


def main() -> None:
    """Print the share of simulated boards on which a method gets the word that it deserves."""
    generator = np.random.default_rng(0)
    print("worlds    rho  " + "  ".join(f"{of:>14}" for of in FACTORS))
    for worlds in (50, 100, 150, 200, 300):
        for rho in (0.0, 0.5, 0.8):
            shares = [np.mean([deserved(generator, worlds, rho, *of) for _ in range(DRAWS)])
                      for of in FACTORS.items()]  # fmt: skip
            print(f"{worlds:6} {rho:6.1f}  " + "  ".join(f"{share:14.2f}" for share in shares))


def deserved(
    generator: np.random.Generator, worlds: int, rho: float, right: str, factor: float
) -> bool:
    """Whether simulated runs give the method its word."""
    shared, own = (generator.standard_normal((worlds, n)) for n in (1, VALUES))
    errors = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own
    reach = factor * NormalDist().inv_cdf(1 - (1 - LEVEL) / 2)
    covered = (np.abs(errors) <= reach).mean(axis=1, keepdims=True)
    found = estimate("mean", covered, [SHARE])
    assert found.low is not None
    assert found.high is not None
    return word(found.low, found.high, LEVEL) == right


if __name__ == "__main__":
    main()
