"""A shift of five strengths: how predictions keep up as images get worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.contract.estimator import EvaluationSet
from uqbench_predictive.problems.corruptions import ON_DIGITS, STRENGTHS, Graded, corrupted
from uqbench_predictive.problems.tables import Real, RealConfig


@dataclass(frozen=True, kw_only=True)
class ShiftedConfig:
    """Which corruptions.

    Attributes:
        corruptions: names in :data:`ON_DIGITS`; images have one each, in turn.
    """

    corruptions: tuple[str, ...] = tuple(ON_DIGITS)

    def __post_init__(self) -> None:
        unknown = [name for name in self.corruptions if name not in ON_DIGITS]
        if unknown or not self.corruptions:
            raise ValueError(
                f"expected one or more of {', '.join(ON_DIGITS)}, got {list(self.corruptions)}"
            )


class ShiftedDigits(Real):
    """Digits 0 to 7 of :class:`Real`, and their test images corrupted at five strengths.

    Evaluation sets are ``test`` and ``strength-1`` to ``strength-5``. The same image has the same
    corruption, with the same random numbers, at every strength.

    Source: after Hendrycks & Dietterich 2019; Ovadia et al. 2019
    """

    def __init__(self, config: ShiftedConfig) -> None:
        super().__init__(RealConfig(name="digits"))
        self.corruptions = {name: ON_DIGITS[name] for name in config.corruptions}

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """``test``, and ``strength-1`` to ``strength-5``, of the same digits."""
        test = super().evaluation_sets(seeds)["test"]
        images = test.inputs.unflatten(-1, (8, 8)).numpy()
        return {"test": test} | {
            name: EvaluationSet(torch.from_numpy(made).flatten(2), test.targets)
            for name, made in shifted(images, seeds, self.corruptions).items()
        }


def shifted(
    images: NDArray[np.float32], seeds: Sequence[int], graded: Graded
) -> dict[str, NDArray[np.float32]]:
    """``strength-1`` to ``strength-5`` of images ``[L, M, H, W]`` in [0, 1]."""
    return {
        f"strength-{strength}": np.stack(
            [
                corrupted(lane, graded, strength, seed)
                for seed, lane in zip(seeds, images, strict=True)
            ]
        )
        for strength in range(1, STRENGTHS + 1)
    }
