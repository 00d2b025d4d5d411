"""Deep ensembles and MC dropout."""

from dataclasses import replace

import pytest
import torch
from uqbench_compare.predictions.registered import joint_nll, nll
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig

from uqbench.estimator import Predictions
from uqbench.uncertainty.predictions import prediction_columns, stored_predictions

SMALL = {"hidden": (8,)}


def test_members_diverge_from_the_reference_model_or_from_their_mean(toy, predict):
    task, config = toy(reference=True), {"members": 3, "hidden": (8,)}
    reference = predict(DeepEnsemble, DeepEnsembleConfig(**config), task, [1])
    own = predict(DeepEnsemble, DeepEnsembleConfig(diverges_from="mean", **config), task, [1])
    selected = predict(DeepEnsemble, DeepEnsembleConfig(**config), toy(), [1])
    assert torch.allclose(own.probs, selected.probs)
    assert not torch.allclose(own.probs, reference.probs, atol=1e-3)
    # Σ_e KL[p ‖ q_e] ≥ 0, zero only where members agree; it is not the mutual information
    assert (own.epistemic > 0).all()
    assert not torch.allclose(own.epistemic, selected.epistemic)


def test_a_temperature_of_the_mixture_makes_validation_data_more_likely(toy, fit):
    """Half of the validation labels are wrong, so that the members are too certain of all."""
    task = toy()
    data = task.data([1])
    wrong = (data.targets + torch.arange(24) % 2).remainder(3)
    data = replace(data, validation=replace(data, targets=wrong))
    config, losses = DeepEnsembleConfig(members=3, **SMALL), []
    for own in (config, replace(config, temperature_prior=0.5)):
        estimator = fit(DeepEnsemble, own, task, data, steps=60)
        said = estimator.predict(data.inputs)
        assert torch.allclose(said.members.mean(0), said.probs)
        losses.append(-said.probs.gather(-1, wrong[..., None]).log().mean().item())
    assert losses[1] < 0.8 * losses[0]
    assert estimator.temperature.item() > 1.5


def test_a_temperature_needs_classes_to_predict_and_validation_data(toy, fit):
    config = DeepEnsembleConfig(members=2, temperature_prior=0.5, **SMALL)
    for task, validated in ((toy(), False), (toy(0), True), (toy(reference=True), True)):
        data = task.data([1])
        data = replace(data, validation=data if validated else None)
        with pytest.raises(ValueError, match=r"in setting \(a\) with validation data"):
            fit(DeepEnsemble, config, task, data)


def test_a_member_sees_its_own_part_of_an_input(toy, fit):
    task = toy()  # inputs of two numbers
    config = DeepEnsembleConfig(members=3, parts=2, **SMALL)
    estimator = fit(DeepEnsemble, config, task, seeds=[1, 2], steps=20)
    inputs = task.data([1, 2]).inputs
    before = estimator.predict(inputs).members
    after = estimator.predict(inputs + torch.tensor([0.0, 1.0])).members
    same = [torch.equal(one, other) for one, other in zip(before, after, strict=True)]
    assert same == [True, False, True]


def test_parts_are_equal_and_no_more_than_members(toy, fit):
    with pytest.raises(ValueError, match="parts must be 1 to 3, the number of members, got 4"):
        DeepEnsembleConfig(members=3, parts=4)
    for own in ({"parts": 3}, {"architecture": "sngp", "parts": 2}):
        with pytest.raises(ValueError, match=r"inputs of \d equal parts"):
            fit(DeepEnsemble, DeepEnsembleConfig(members=3, **SMALL, **own), toy())


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
