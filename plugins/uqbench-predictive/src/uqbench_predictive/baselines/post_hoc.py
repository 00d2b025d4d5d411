"""One trained network, and what its logits and features say: scores that cost nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from uqbench.contract.config import LATER
from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.baselines.inputs import nearest
from uqbench_predictive.networks.architectures import HEAD
from uqbench_predictive.networks.learning import mean_loss
from uqbench_predictive.networks.training import Trainer, TrainingConfig
from uqbench_predictive.uncertainty import energy, entropy, values

TEMPERATURES = torch.logspace(-1, 1, 201, dtype=torch.float64)
"""The grid on which the temperature is searched."""


@dataclass(frozen=True, kw_only=True)
class PostHocConfig(TrainingConfig):
    """How inputs are ordered by a trained network.

    Attributes:
        score: ``msp``, one minus the largest probability (Hendrycks & Gimpel 2017); ``max-logit``
            (Hendrycks et al. 2022) and ``energy`` (Liu, Wang et al. 2020), with their signs
            changed; ``mahalanobis``, the distance of the features from the nearest class (Kimin
            Lee et al. 2018);
            ``vim``, virtual logit matching (Wang et al. 2022); ``knn``, the distance of the
            normalized features from the k-th nearest training ones (Sun et al. 2022).
        scaled: whether logits are divided by the temperature under which the validation data are
            most likely (Guo et al. 2017); of a regression: whether the noise is that of validation
            data.
        temperature_prior: standard deviation of a normal prior of the temperature's logarithm
            around 0. Without one the most likely temperature has no lower bound where the network
            makes no error on the validation data, and is the grid's end, 0.1.
        neighbors: k.
    """

    score: Literal["msp", "max-logit", "energy", "mahalanobis", "vim", "knn"] = "msp"
    scaled: bool = False
    temperature_prior: float | None = field(default=None, metadata=LATER)
    neighbors: int = 10

    def __post_init__(self) -> None:
        positive(self.temperature_prior)
        if self.neighbors < 1:
            raise ValueError(f"neighbors must be at least 1, got {self.neighbors}")


Score = Callable[[Tensor, Tensor], Tensor]
"""From features ``[L, M, H]`` and logits ``[L, M, C]`` to the order of inputs, ``[L, M]``."""


class PostHoc(Estimator):
    """One network, the reference model or a trained one, and a score of its logits or features.

    It states no epistemic uncertainty: the entropy of its probabilities, of a regression the
    variance of the residuals, is aleatoric.

    Source: Zhang et al. 2023, OpenOOD v1.5
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: PostHocConfig, device: torch.device
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)

    @torch.no_grad()
    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Take or train the network, and learn what the score needs of the training features.

        Raises:
            ValueError: it is to be scaled, and the problem has no validation data; or more
                neighbors are asked for than there are training points.
        """
        trainer, config = self.trainer, self.trainer.config
        data = trainer.to_device(data)
        with torch.enable_grad():
            self.network, self.weights = trainer.reference_or_trained(data, reference_model, steps)
        self.reference_model = reference_model
        validation = data.validation
        if config.scaled and validation is None:
            raise ValueError("scaled = true needs validation data, and this task has none")
        self.temperature = torch.ones(len(data.targets), dtype=torch.float64, device=trainer.device)
        if trainer.regression:
            held = validation if config.scaled and validation is not None else data
            self.noise_var = mean_loss(self.network, self.weights, held)
            self.noise_var = trainer.noise_var(data, self.noise_var, self.predict)
            return
        features, logits = self._outputs(data.inputs)
        self.head = {name: self.weights[name].double() for name in HEAD}
        if config.scaled and validation is not None:
            held_logits = self._outputs(validation.inputs)[1]
            self.temperature = temperature(
                held_logits[None], validation.targets, config.temperature_prior
            )
        if config.neighbors > features.shape[1]:
            raise ValueError(
                f"expected at most {features.shape[1]} neighbors, the training points, got "
                f"{config.neighbors}"
            )
        self.score = self._learned(features, logits, data.targets)

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The network's prediction, and the score."""
        features, outputs = self._outputs(inputs.to(self.trainer.device))
        if self.trainer.regression:
            mean = outputs.squeeze(-1).cpu()
            return values(mean, torch.zeros_like(mean), self.noise_var.cpu()[:, None])
        scaled = outputs / self.temperature[:, None, None]
        score = self.score(features, scaled).cpu()
        log_probs = scaled.log_softmax(-1).cpu()
        if self.reference_model is not None:
            log_probs = self.reference_model.log_probs(inputs)
        own = entropy(log_probs)
        zero = torch.zeros_like(own)
        return PredictiveUncertainty(
            own, own, zero, log_probs.exp(), "nats", score=score, energy=energy(scaled[None]).cpu()
        )

    def _outputs(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        features, outputs = self.network.features_and_outputs(self.weights, inputs)
        return features.double(), outputs.double()

    def _learned(self, features: Tensor, logits: Tensor, targets: Tensor) -> Score:
        config = self.trainer.config
        of_logits: Mapping[str, Score] = {
            "msp": lambda _, x: 1 - x.softmax(-1).amax(-1),
            "max-logit": lambda _, x: -x.amax(-1),
            "energy": lambda _, x: -torch.logsumexp(x, -1),
        }
        if config.score in of_logits:
            return of_logits[config.score]
        if config.score == "mahalanobis":
            return mahalanobis(features, targets, logits.shape[-1])
        if config.score == "vim":
            return virtual_logit(features, logits, self.head)
        known = normalize(features, dim=-1)
        return lambda x, _: nearest(normalize(x, dim=-1), known, config.neighbors)


def temperature(
    logits: Tensor, targets: Tensor, prior: float | None = None, among: Tensor = TEMPERATURES
) -> Tensor:
    """The temperature under which targets ``[L, n]`` are most likely, given a prior: ``[L]``.

    ``argmax_T Σ_i log 1/S Σ_s softmax(f_s(x_i) / T)_{y_i} − ½ (log T / prior)²``, on a grid. With
    one model and no prior: Guo et al. 2017; with several: Ashukha et al. 2020.

    Args:
        logits: of models that count equally, ``[S, L, n, C]``, float64.
        targets: classes.
        prior: standard deviation of ``log T``; None for a flat one.
        among: the grid, ``[T]``.
    """
    each = []
    for value in among.tolist():
        members = (logits / value).log_softmax(-1).movedim(0, -1).contiguous()
        mixed = torch.logsumexp(members, -1) - log(len(logits))
        likelihood = mixed.gather(-1, targets[..., None]).sum((-2, -1))
        each.append(likelihood - (0 if prior is None else 0.5 * (log(value) / prior) ** 2))
    return among.to(logits)[torch.stack(each, -1).argmax(-1)]


def positive(prior: float | None) -> None:
    """Check a temperature's prior.

    Raises:
        ValueError: it has no width.
    """
    if prior is not None and prior <= 0:
        raise ValueError(f"temperature_prior must be above 0, got {prior}")


def mahalanobis(features: Tensor, targets: Tensor, n_classes: int) -> Score:
    """``min_c (φ − μ_c)ᵀ Σ⁺ (φ − μ_c)``, the covariance shared by the classes; Kimin Lee et al."""
    members = one_hot(targets, n_classes).double()  # [L, n, C]
    counts = members.sum(1).clamp(min=1)
    means = members.mT @ features / counts[..., None]  # [L, C, H]
    centered = features - members @ means
    precision = torch.linalg.pinv(centered.mT @ centered / features.shape[1], hermitian=True)
    absent = members.sum(1) == 0

    def score(x: Tensor, _: Tensor) -> Tensor:
        apart = x[:, :, None] - means[:, None]  # [L, M, C, H]
        distances: Tensor = ((apart @ precision[:, None]) * apart).sum(-1)
        return distances.masked_fill(absent[:, None], torch.inf).amin(-1)

    return score


def virtual_logit(features: Tensor, logits: Tensor, head: Mapping[str, Tensor]) -> Score:
    """``α ‖P^⊥(φ − o)‖ − log Σ exp f``: Wang et al. 2022, equations 4 to 6.

    ``o = −(Wᵀ)⁺ b`` is where all logits are zero; ``P^⊥`` projects on all but the leading half of
    the principal directions of the training features; α gives both terms the same mean.
    """
    weight, bias = (head[name] for name in HEAD)
    origin = -bias @ torch.linalg.pinv(weight)  # [L, 1, H]
    centered = features - origin
    _, vectors = torch.linalg.eigh(centered.mT @ centered)  # ascending
    rest = vectors[..., : features.shape[-1] - features.shape[-1] // 2]
    scale = logits.amax(-1).mean(-1) / (centered @ rest).norm(dim=-1).mean(-1)

    def score(x: Tensor, outputs: Tensor) -> Tensor:
        residual: Tensor = scale[:, None] * ((x - origin) @ rest).norm(dim=-1)
        return residual - torch.logsumexp(outputs, -1)

    return score
