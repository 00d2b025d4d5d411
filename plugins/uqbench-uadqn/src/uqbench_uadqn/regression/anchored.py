"""Anchored networks as estimators: approximate samples of the posterior (Pearce et al. 2018).

Each network is trained to the maximum a posteriori of a prior that is centered on its own initial
weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from uqbench_dqn.quantiles import midpoint_levels, quantile_loss

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench.lanes import Adam, Uniform, initialize, lane_generators
from uqbench_uadqn.regression.config import AnchoredOutputsConfig, AnchoredQuantilesConfig
from uqbench_uadqn.regression.networks import Perceptrons, draw_from, prior_stds
from uqbench_uadqn.uncertainty import (
    biased_aleatoric_var,
    pairs_aleatoric_var,
    pairs_epistemic_var,
)

ADAM_EPSILON = 1e-8


class AnchoredQuantiles(Estimator):
    """Anchored quantile networks: both uncertainties from pairs of them.

    Source: Clements et al. 2019, section 2.3; Pearce et al. 2018
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: AnchoredQuantilesConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        self.device = device
        self.networks = Perceptrons(
            len(seeds), config.samples, config.hidden, config.quantiles, torch.tanh
        )
        initialize(self.networks, lane_generators(seeds), config.gain)
        self.networks.to(device)
        self.anchors = [parameter.detach().clone() for parameter in self.networks.parameters()]
        self.levels = midpoint_levels(config.quantiles).to(device)
        shape = (config.samples, config.batch_size)
        self._batches = Uniform(seeds, "batches", shape, device)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Minimize equation 1 and the anchors' penalty, each network on its own batches."""
        inputs, targets = data.inputs.to(self.device), data.targets.to(self.device)
        lane = torch.arange(len(inputs), device=self.device)[:, None, None]
        optimizer = Adam(self.networks.parameters(), self.config.learning_rate, ADAM_EPSILON)
        for t in range(steps):
            batch = (self._batches.at(t) * inputs.shape[1]).long()
            quantiles = self.networks(inputs[lane, batch])
            objective = self.objective(quantiles, targets[lane, batch])
            optimizer.step(torch.autograd.grad(objective, optimizer.parameters))

    def objective(self, quantiles: Tensor, targets: Tensor) -> Tensor:
        """The mean over points and quantiles of the loss, and ``anchor · ‖θ − θ⁰‖²``, summed.

        Args:
            quantiles: ``[L, S, B, N]``.
            targets: ``[L, S, B]``.
        """
        losses = quantile_loss(quantiles, targets[..., None], self.levels)
        distance = sum(
            (parameter - anchor).square().sum()
            for parameter, anchor in zip(self.networks.parameters(), self.anchors, strict=True)
        )
        return losses.sum() / quantiles[0, 0].numel() + self.config.anchor * distance

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Both variances, the aleatoric one clamped at zero."""
        samples = self.networks(inputs.to(self.device)[:, None]).transpose(1, 2).cpu()
        aleatoric = (
            pairs_aleatoric_var(samples).clamp(min=0)
            if self.config.aleatoric == "unbiased"
            else biased_aleatoric_var(samples[..., 0, :])
        )
        epistemic = pairs_epistemic_var(samples)
        mean = samples.flatten(-2).mean(-1)
        return PredictiveUncertainty(
            aleatoric + epistemic, aleatoric, epistemic, None, "variance", mean
        )


class AnchoredOutputs(Estimator):
    """The spread of anchored predictions, by one network or by an ensemble.

    One network with many outputs shares its features between them; networks with one output each
    are an ensemble. The noise is known, so only the epistemic part is estimated: the variance of
    the predictions.

    Source: Clements et al. 2019, Appendix C; Pearce et al. 2018
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: AnchoredOutputsConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        self.device = device
        self.networks = Perceptrons(
            len(seeds), config.networks, config.hidden, config.outputs, torch.erf
        )
        draw_from(config, self.networks, lane_generators(seeds))
        self.networks.to(device)
        self.anchors = [parameter.detach().clone() for parameter in self.networks.parameters()]
        self.prior_stds = prior_stds(config, self.networks)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Minimize the negative log-posterior on all points, by Adam."""
        inputs, targets = data.inputs.to(self.device)[:, None], data.targets.to(self.device)
        optimizer = torch.optim.Adam(
            self.networks.parameters(), self.config.learning_rate, eps=ADAM_EPSILON, foreach=True
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            self.objective(self.networks(inputs), targets).backward()
            optimizer.step()
            schedule.step()

    def objective(self, predicted: Tensor, targets: Tensor) -> Tensor:
        """``Σ (y − f)² / 2σ²_data + Σ (θ − θ⁰)² / 2σ²_prior`` over points, outputs and weights.

        Args:
            predicted: f, ``[L, E, n, N]``.
            targets: y, ``[L, n]``.
        """
        misfit = (targets[:, None, :, None] - predicted).square().sum() / self.config.noise**2
        distance = sum(
            ((parameter - anchor) / std).square().sum()
            for parameter, anchor, std in zip(
                self.networks.parameters(), self.anchors, self.prior_stds, strict=True
            )
        )
        return 0.5 * (misfit + distance)

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The variance over all predictions, and the noise."""
        outputs = self.networks(inputs.to(self.device)[:, None])
        predictions = outputs.transpose(1, 2).flatten(2).cpu()  # [L, M, E · N]
        epistemic = predictions.var(-1, correction=1)
        aleatoric = torch.full_like(epistemic, self.config.noise**2)
        return PredictiveUncertainty(
            aleatoric + epistemic, aleatoric, epistemic, None, "variance", predictions.mean(-1)
        )
