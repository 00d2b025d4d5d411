"""Facts about the decompositions, the data, the score and the ensemble."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from uqbench_quam.config import DeepEnsembleConfig, TwoMoonsOptions
from uqbench_quam.ensemble import DeepEnsemble
from uqbench_quam.two_moons import FAR, TwoMoons, auroc, moons, off_data_grid
from uqbench_quam.uncertainty import divergence, entropy, given, selected

from uqbench.estimator import PredictiveUncertainty

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def random_probs(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(*shape, generator=generator, dtype=torch.float64).softmax(-1)


def test_entropy_of_a_fair_coin_is_log_two_and_a_divergence_from_itself_zero():
    fair = torch.tensor([0.5, 0.5], dtype=torch.float64).log()
    assert entropy(fair).item() == pytest.approx(math.log(2))
    assert divergence(fair, fair).item() == 0


def test_in_setting_a_the_epistemic_part_is_the_mutual_information():
    members = random_probs(7, 4, 3)
    stated = selected(members.log())
    mean = members.mean(0)
    total = -(mean * mean.log()).sum(-1)
    aleatoric = -(members * members.log()).sum(-1).mean(0)
    assert torch.allclose(stated.probs, mean)
    assert torch.allclose(stated.total, total)
    assert torch.allclose(stated.aleatoric, aleatoric)
    assert torch.allclose(stated.epistemic, total - aleatoric)
    same = selected(members[:1].expand(5, -1, -1).log())
    assert torch.allclose(same.epistemic, torch.zeros(4, dtype=torch.float64))


def test_in_setting_b_the_epistemic_part_is_the_mean_divergence_from_the_given_model():
    members, reference = random_probs(7, 4, 3), random_probs(1, 4, 3)[0]
    stated = given(reference.log(), members.log())
    cross = -(reference * members.log()).sum(-1).mean(0)
    aleatoric = -(reference * reference.log()).sum(-1)
    assert torch.allclose(stated.total, cross)
    assert torch.allclose(stated.aleatoric, aleatoric)
    assert torch.allclose(stated.epistemic, cross - aleatoric)


def test_epistemic_parts_are_not_negative_where_everybody_is_certain():
    logits = torch.randn(10, 500, 2, generator=torch.Generator().manual_seed(0)) + torch.tensor(
        [40.0, 0.0]
    )
    members = logits.double().log_softmax(-1)
    assert (selected(members).epistemic > -1e-15).all()
    assert (given(members[0], members[1:]).epistemic > -1e-15).all()


def test_moons_are_half_circles_and_the_grid_is_off_them():
    points = moons(50)
    assert np.allclose(np.linalg.norm(points[:50], axis=1), 1)
    assert np.allclose(np.linalg.norm(points[50:] - [1, 0.5], axis=1), 1)
    grid = off_data_grid().double().numpy()
    nearest = np.linalg.norm(grid[:, None] - points[None], axis=-1).min(1)
    assert nearest.min() > FAR * 0.99
    assert len(grid) > 300


def test_data_are_a_function_of_the_seed_and_classes_are_even():
    task = TwoMoons(TwoMoonsOptions(points=20))
    both, one = task.data([3, 4]), task.data([4])
    assert torch.equal(both.inputs[1], one.inputs[0])
    assert not torch.equal(both.inputs[0], both.inputs[1])
    assert both.targets.sum(1).tolist() == [10, 10]


def test_auroc_counts_pairs_with_ties_as_half():
    positive = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    negative = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert auroc(positive, negative).tolist() == [0.875, 0.25]


def test_the_score_of_a_known_prediction_is_known():
    task = TwoMoons(TwoMoonsOptions())
    far = off_data_grid()[0]

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        off = (inputs[:, :, None] - torch.from_numpy(moons(200)).float()).norm(dim=-1).amin(-1)
        half = torch.full((*inputs.shape[:2], 2), 0.5)
        return PredictiveUncertainty(off, off * 0, off, half, "nats")

    scores = task.score([0, 1], oracle)
    assert scores["off_data_auroc"].tolist() == [1.0, 1.0]
    assert scores["nll"].tolist() == pytest.approx([math.log(2)] * 2)
    assert scores["accuracy"].tolist() == [0.5, 0.5]
    assert far.shape == (2,)


@pytest.mark.parametrize("setting", ["selected", "given"])
def test_a_lane_is_the_same_alone_and_among_others_bit_for_bit(setting):
    task = TwoMoons(TwoMoonsOptions(points=20, setting=setting))
    config = DeepEnsembleConfig(members=10, hidden=(16,))

    def epistemic(seeds: list[int]) -> torch.Tensor:
        estimator = DeepEnsemble(task, seeds, config, CPU)
        estimator.fit(task.data(seeds), task.reference(seeds), steps=30)
        return estimator.predict(off_data_grid().expand(len(seeds), -1, -1)).epistemic

    alone = epistemic([7])[0]
    for group in ([1, 7, 9], [7, 2], [5, 4, 3, 7]):
        assert torch.equal(alone, epistemic(group)[group.index(7)])


def test_the_reference_is_the_same_for_every_estimator():
    task = TwoMoons(TwoMoonsOptions(points=20))
    x = off_data_grid()[None, :5]
    assert torch.equal(task.reference([3]).log_probs(x), task.reference([3]).log_probs(x))


def test_an_ensemble_learns_and_doubts_off_the_data():
    task = TwoMoons(TwoMoonsOptions(setting="selected"))
    seeds = [0, 1, 2]
    config = DeepEnsembleConfig(members=5, hidden=(50, 50))
    estimator = DeepEnsemble(task, seeds, config, CPU)
    estimator.fit(task.data(seeds), None, steps=150)
    scores = task.score(seeds, estimator.predict)
    assert (scores["accuracy"] > 0.95).all()
    far = off_data_grid().expand(3, -1, -1)
    off, on = (estimator.predict(x).epistemic for x in (far, task.data(seeds).inputs))
    assert (off.mean(1) > 10 * on.mean(1)).all()
