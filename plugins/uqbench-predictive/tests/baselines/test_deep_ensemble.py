"""Deep ensembles."""

from __future__ import annotations

import torch
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig


def test_members_diverge_from_the_reference_model_or_from_their_mean(toy, predict):
    task = toy(reference=True)
    config = {"members": 3, "hidden": (8,)}
    reference = predict(DeepEnsemble, DeepEnsembleConfig(**config), task, [1])
    own = predict(DeepEnsemble, DeepEnsembleConfig(diverges_from="mean", **config), task, [1])
    selected = predict(DeepEnsemble, DeepEnsembleConfig(**config), toy(), [1])
    assert torch.allclose(own.probs, selected.probs)
    assert not torch.allclose(own.probs, reference.probs, atol=1e-3)
    # Σ_e KL[p ‖ q_e] ≥ 0, zero only where members agree; it is not the mutual information
    assert (own.epistemic > 0).all()
    assert not torch.allclose(own.epistemic, selected.epistemic)
