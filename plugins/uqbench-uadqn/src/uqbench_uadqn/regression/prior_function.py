"""A function of the networks' own prior: the epistemic uncertainty about it is known exactly.

Clements et al. 2019, Appendix C.1, asks whether many outputs of one network are worth an ensemble,
and does not print its data. Here they are drawn from what networks become as they grow wide, so
that there is a right answer: the Gaussian process's posterior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from uqbench.contract.estimator import Data, Dataset, EvaluationSet, Predictions
from uqbench.contract.seeding import derive_seed
from uqbench.lanes import lane_generators
from uqbench_uadqn.regression.config import PriorFunctionConfig
from uqbench_uadqn.regression.infinite_width import kernel, posterior_var
from uqbench_uadqn.regression.scores import epistemic_scores

CLUSTERS = ((-1.0, -0.5), (0.5, 1.0))
"""Between these the inputs of each half lie, evenly spaced."""
ON = torch.cat([torch.linspace(*ends, 25) for ends in CLUSTERS])
OFF = torch.cat([torch.linspace(-3.0, -1.5, 25), torch.linspace(1.5, 3.0, 25)])
JITTER = 1e-9
"""Added to a covariance's diagonal before its square root."""


class PriorFunction(Dataset):
    """A function of wide networks' prior; the epistemic uncertainty is known.

    Source: Clements et al. 2019, Appendix C; Williams 1997
    """

    inputs = (1,)
    n_classes = 0

    def __init__(self, config: PriorFunctionConfig) -> None:
        self.config = config

    def data(self, seeds: Sequence[int]) -> Data:
        """``n`` points per lane at the same inputs, with targets of the lane's own function."""
        x = self._seen()
        factor = torch.linalg.cholesky(
            kernel(self.config, x[:, None], x) + JITTER * torch.eye(len(x))
        )
        targets = []
        for generator in lane_generators([derive_seed("function", seed) for seed in seeds]):
            z, noise = torch.randn(2, len(x), generator=generator, dtype=torch.float64)
            targets.append(factor @ z + self.config.noise * noise)
        inputs = x.float().expand(len(seeds), -1)[..., None]
        return Data(inputs, torch.stack(targets).float())

    def reference_model(self, seeds: Sequence[int]) -> None:
        """Setting (a): there is no reference model."""

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """Points ``on`` and ``off`` the data."""
        both = {"on": ON, "off": OFF}
        return {n: EvaluationSet(x.repeat(len(seeds), 1)[..., None]) for n, x in both.items()}

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """The epistemic scores, and how far they are from the exact posterior.

        ``on_data_ratio`` and ``off_data_ratio`` are ``epistemic_on`` and ``epistemic_off`` over
        their exact values. ``off_data_log_error`` is the mean over points off the data of
        ``|log(predicted std / exact std)|``: log 2 if every one is wrong by a factor of two.
        """
        on, off = (predictions[name].predicted for name in ("on", "off"))
        scores = epistemic_scores(on, off)
        exact_on, exact_off = self.exact_var(ON), self.exact_var(OFF)
        return {
            **scores,
            "on_data_ratio": scores["epistemic_on"] / exact_on.mean().sqrt(),
            "off_data_ratio": scores["epistemic_off"] / exact_off.mean().sqrt(),
            "off_data_log_error": 0.5 * (off.epistemic / exact_off).log().abs().mean(-1),
        }

    def exact_var(self, x: Tensor) -> Tensor:
        """The Gaussian process's posterior variance at ``x`` ``[M]``: ``[M]`` float64."""
        return posterior_var(self.config, self.config.noise, self._seen(), x.double())

    def _seen(self) -> Tensor:
        half = self.config.points // 2
        return torch.cat([torch.linspace(*ends, half, dtype=torch.float64) for ends in CLUSTERS])
