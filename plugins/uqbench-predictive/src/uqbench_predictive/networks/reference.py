"""The reference model of setting (b) as one network per lane."""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench.contract.estimator import OpenReferenceModel, ReferenceModel
from uqbench_predictive.networks.architectures import Network, Weights


class ReferenceNetwork:
    """A trained network per lane, as the reference model of setting (b).

    Attributes:
        network: its architecture.
        weights: ``[L, ...]`` by name.
    """

    def __init__(self, network: Network, weights: Weights) -> None:
        self.network = network
        self.weights = weights

    @torch.no_grad()
    def log_probs(self, inputs: Tensor) -> Tensor:
        """Log-probabilities of the classes, float64 ``[L, M, C]``, on the CPU."""
        device = next(iter(self.weights.values())).device
        outputs = self.network(self.weights, inputs.to(device))
        return outputs.double().log_softmax(-1).cpu()

    @torch.no_grad()
    def features_and_outputs(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs of the last layer ``[L, M, H]`` and logits ``[L, M, C]``, on the CPU."""
        device = next(iter(self.weights.values())).device
        features, outputs = self.network.features_and_outputs(self.weights, inputs.to(device))
        return features.cpu(), outputs.cpu()


def open_network(
    reference_model: ReferenceModel, device: torch.device
) -> tuple[Network, dict[str, Tensor]]:
    """The network and the weights of a reference model.

    Raises:
        TypeError: its weights are not open.
    """
    if not isinstance(reference_model, OpenReferenceModel) or not isinstance(
        reference_model.network, Network
    ):
        raise TypeError(
            "expected a reference model with open weights "
            "(uqbench_predictive.networks.reference.ReferenceNetwork), got a "
            f"{type(reference_model).__name__}; use an estimator that needs none, such as "
            "deep-ensemble"
        )
    weights = reference_model.weights
    return reference_model.network, {name: t.to(device) for name, t in weights.items()}
