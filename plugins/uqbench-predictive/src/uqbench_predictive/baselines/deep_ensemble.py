"""Deep ensembles (Lakshminarayanan et al. 2017) as an estimator of predictive uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal

import torch
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.baselines.post_hoc import positive, temperature
from uqbench_predictive.baselines.sample import NetworkSample
from uqbench_predictive.networks.architectures import Mlp, Network
from uqbench_predictive.networks.parts import Parts
from uqbench_predictive.networks.prior_functions import WithPrior, perturbed
from uqbench_predictive.networks.training import Trainer, TrainingConfig, repeat
from uqbench_predictive.uncertainty import classification, mean, setting_b


@dataclass(frozen=True, kw_only=True)
class DeepEnsembleConfig(TrainingConfig):
    """A deep ensemble.

    Attributes:
        members: number of networks.
        diverges_from: setting (b): what the members diverge from: the ``reference`` model, as for
            every estimator, or the members' ``mean``, as in the released code for MNIST.
        temperature_prior: setting (a), classes: divide the members' logits by the temperature under
            which the ensemble makes the validation data most probable (Ashukha et al. 2020), given
            a normal prior of its logarithm around 0 with this standard deviation; None: do not.
        prior_scale: each member is a trained network plus so many times a random one, which stays
            as it was drawn (Osband et al. 2018); of a regression whose noise is known, a member's
            targets have such noise of their own, too.
        parts: an input is so many equal parts, as of several encoders; a member sees one, in turn.
    """

    members: int = 10
    diverges_from: Literal["reference", "mean"] = "reference"
    temperature_prior: float | None = field(default=None, metadata=LATER)
    prior_scale: float = field(default=0.0, metadata=LATER)
    parts: int = field(default=1, metadata=LATER)

    def __post_init__(self) -> None:
        positive(self.temperature_prior)
        if self.members < 1:
            raise ValueError(f"members must be at least 1, got {self.members}")
        if not 1 <= self.parts <= self.members:
            raise ValueError(
                f"parts must be 1 to {self.members}, the number of members, got {self.parts}"
            )


class DeepEnsemble(Estimator):
    """Independently trained networks.

    They differ in their initial weights and in the order of the same data, and may have random
    prior functions.

    Source: Lakshminarayanan et al. 2017; Osband et al. 2018
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: DeepEnsembleConfig,
        device: torch.device,
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Train every member.

        Raises:
            ValueError: there is to be a temperature, and no validation data, or no classes to be
                predicted; or inputs are not so many equal parts.
        """
        members, prior = self.trainer.config.members, self.trainer.config.temperature_prior
        held = data.validation
        data = self.trainer.to_device(data)
        network, own = self._network(), data
        if self.trainer.config.prior_scale:
            generators = self.trainer.member_generators("prior", members)
            network = WithPrior(network, generators, self.trainer.config.prior_scale)
            own = perturbed(repeat(data, members), self.trainer.problem.noise_var, generators)
        weights = self.trainer.train(own, steps, members=members, network=network)
        self.sample = NetworkSample(network, weights, members, data, reference_model)
        if self.trainer.regression:
            found = self.sample.noise_var
            self.sample.noise_var = self.trainer.noise_var(data, found, self.predict)
        self.temperature = torch.ones(len(self.trainer.seeds), dtype=torch.float64)
        if prior is not None:
            if held is None or self.trainer.regression or reference_model is not None:
                raise ValueError(
                    "temperature_prior needs a classification in setting (a) with validation data; "
                    "leave it out"
                )
            self.temperature = temperature(self.sample.outputs(held.inputs), held.targets, prior)

    def _network(self) -> Network:
        """The network of an input, or of the part of it that a member sees."""
        config, problem = self.trainer.config, self.trainer.problem
        if config.parts == 1:
            return self.trainer.network
        width, left = divmod(prod(problem.inputs), config.parts)
        if left or config.architecture != "mlp":
            raise ValueError(
                f"parts needs the architecture 'mlp' and inputs of {config.parts} equal parts, "
                f"got {config.architecture!r} and inputs {problem.inputs}"
            )
        part = Mlp(width, config.hidden, max(problem.n_classes, 1))
        return Parts(part, config.parts, config.members)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The members' disagreement (a), or their divergence from one prediction (b)."""
        if self.trainer.config.temperature_prior is not None:
            outputs = self.sample.outputs(inputs) / self.temperature[:, None, None]
            return classification(None, inputs, outputs)
        if self.trainer.config.diverges_from == "reference" or self.sample.reference_model is None:
            return self.sample.predict(inputs)
        members = self.sample.outputs(inputs).log_softmax(-1)
        return setting_b(mean(members.exp()).log(), members)
