"""Deep ensembles."""

from dataclasses import replace

import pytest
import torch
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig

CPU = torch.device("cpu")


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


def test_a_temperature_of_the_mixture_makes_validation_data_more_likely(toy, points):
    """Half of the validation labels are wrong, so that the members are too certain of all."""
    task = toy()
    data = task.data([1])
    wrong = (data.targets + torch.arange(24) % 2).remainder(3)
    held = replace(data, targets=wrong)
    data = replace(data, validation=held)
    config = DeepEnsembleConfig(members=3, hidden=(8,))
    losses = []
    for own in (config, replace(config, temperature_prior=0.5)):
        estimator = DeepEnsemble(task.problem, [1], own, CPU)
        estimator.fit(data, None, steps=60)
        said = estimator.predict(held.inputs)
        assert torch.allclose(said.members.mean(0), said.probs)
        losses.append(-said.probs.gather(-1, wrong[..., None]).log().mean().item())
    assert losses[1] < 0.8 * losses[0]
    assert estimator.temperature.item() > 1.5


def test_a_temperature_needs_classes_to_predict_and_validation_data(toy):
    config = DeepEnsembleConfig(members=2, hidden=(8,), temperature_prior=0.5)
    for task, validated in ((toy(), False), (toy(0), True), (toy(reference=True), True)):
        estimator = DeepEnsemble(task.problem, [1], config, CPU)
        data = task.data([1])
        data = replace(data, validation=data if validated else None)
        with pytest.raises(ValueError, match=r"in setting \(a\) with validation data"):
            estimator.fit(data, task.reference_model([1]), steps=1)


def test_a_member_sees_its_own_part_of_an_input(toy):
    task = toy()  # inputs of two numbers
    config = DeepEnsembleConfig(members=3, hidden=(8,), parts=2)
    estimator = DeepEnsemble(task.problem, [1, 2], config, CPU)
    estimator.fit(task.data([1, 2]), None, steps=20)
    inputs = task.data([1, 2]).inputs
    before = estimator.predict(inputs).members
    after = estimator.predict(inputs + torch.tensor([0.0, 1.0])).members
    same = [torch.equal(one, other) for one, other in zip(before, after, strict=True)]
    assert same == [True, False, True]


def test_parts_are_equal_and_no_more_than_members(toy):
    with pytest.raises(ValueError, match="parts must be 1 to 3, the number of members, got 4"):
        DeepEnsembleConfig(members=3, parts=4)
    task = toy()
    for config in (
        DeepEnsembleConfig(members=3, hidden=(8,), parts=3),
        DeepEnsembleConfig(members=3, architecture="sngp", hidden=(8,), parts=2),
    ):
        with pytest.raises(ValueError, match=r"inputs of \d equal parts"):
            DeepEnsemble(task.problem, [1], config, CPU).fit(task.data([1]), None, steps=1)
