"""MC dropout."""

import pytest
import torch
from uqbench_compare.predictions.registered import joint_nll, nll
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig

from uqbench.estimator import Predictions
from uqbench.uncertainty.predictions import prediction_columns, stored_predictions

SMALL = {"hidden": (8,)}


def test_mc_dropout_without_dropout_is_one_model(toy, predict):
    said = predict(MCDropout, MCDropoutConfig(passes=5, probability=0.0, **SMALL), toy(), [1])
    assert said.epistemic.abs().max() < 1e-12
    with pytest.raises(ValueError, match="this task has none"):
        predict(MCDropout, MCDropoutConfig(trains=False), toy(), [1])


@pytest.mark.parametrize(
    ("method", "config"),
    [(MCDropout, MCDropoutConfig(passes=50, **SMALL)), (Laplace, LaplaceConfig(**SMALL))],
)
def test_inputs_with_models_of_their_own_are_predicted_independently(toy, predict, method, config):
    """The joint likelihood of masks or logits that are drawn for each input is the marginals'."""
    said = predict(method, config, toy(), [1])
    assert said.members is None
    targets = torch.arange(said.total.shape[1])[None] % 2
    columns = prediction_columns({"test": Predictions(said, targets)}, 0, members=50)
    given = stored_predictions(columns)
    assert joint_nll(given) == nll(given)
