"""The 8 × 8 digits."""

import numpy as np
import pytest
import torch
from scipy.stats import rankdata
from uqbench_predictive.problems import digits
from uqbench_predictive.problems.digits import Digits, DigitsConfig, in_distribution, split

from uqbench.estimator import PredictiveUncertainty
from uqbench.testing.worlds import asked_once


def test_digits_keep_training_test_and_out_of_distribution_images_apart():
    data = Digits(DigitsConfig(against="inverted")).data([1, 2])
    assert data.inputs.shape == (2, 100, 64)
    assert data.targets.max() < digits.CLASSES
    assert len(set(split(1).tolist())) == len(in_distribution()[1])
    held_out = Digits(DigitsConfig(against="held-out")).outside([1, 2])
    assert not torch.equal(held_out[0], held_out[1])


def test_turned_and_mirrored_digits_are_test_images_of_two_to_seven():
    images, labels = in_distribution()
    order = split(1)[100:300]
    drawn = torch.from_numpy(images[order[labels[order] >= 2][:100]]).view(-1, 8, 8)
    for against, axes in (("turned", (1, 2)), ("mirrored", (2,))):
        outside = Digits(DigitsConfig(against=against)).outside([1])[0]
        assert torch.equal(outside.view(-1, 8, 8), drawn.flip(axes))


def test_halves_are_of_two_classes_and_each_is_used_once():
    images, labels = in_distribution()
    of = {half.tobytes(): label for half, label in zip(images[:, :32], labels, strict=True)}
    below = {half.tobytes(): label for half, label in zip(images[:, 32:], labels, strict=True)}
    task = Digits(DigitsConfig(against="halves"))
    made, tested = task.outside([1])[0].numpy(), task.inside([1]).inputs[0].numpy()
    assert np.array_equal(made[:, :32], tested[:, :32])
    assert sorted(map(bytes, made[:, 32:])) == sorted(map(bytes, tested[:, 32:]))
    assert all(of[m[:32].tobytes()] != below[m[32:].tobytes()] for m in made)
    with pytest.raises(ValueError, match="got 3 of one"):
        digits.halves(images[:4], np.array([0, 0, 0, 1]))


def by_one_pixel(inside: torch.Tensor, outside: torch.Tensor) -> torch.Tensor:
    """AUROC of each pixel, in the better direction, ``[8, 8]``."""
    both = torch.cat([inside, outside])
    ranks = torch.from_numpy(rankdata(both.numpy(), axis=0))[len(inside) :].sum(0)
    n, m = len(inside), len(outside)
    auroc = (ranks - m * (m + 1) / 2) / (n * m)
    return torch.maximum(auroc, 1 - auroc).view(8, 8)


@pytest.mark.parametrize(
    ("against", "any_pixel", "border"),
    [("held-out", 0.82, 0.6), ("turned", 0.72, 0.7), ("mirrored", 0.72, 0.7), ("halves", 0.5, 0.5)],
)
def test_no_single_pixel_tells_foreign_inputs(against, any_pixel, border):
    """Means over twenty seeds: of turns by 90°, inversion and noise they were 0.99, 1 and 1."""
    task, seeds = Digits(DigitsConfig(against=against)), range(20)
    each = zip(task.inside(seeds).inputs, task.outside(seeds), strict=True)
    aurocs = torch.stack([by_one_pixel(*pair) for pair in each])
    assert aurocs.amax((1, 2)).mean() <= any_pixel
    edge = torch.ones(8, 8, dtype=torch.bool)
    edge[1:-1, 1:-1] = False
    assert aurocs[:, edge].amax(1).mean() <= border


def test_the_control_sees_a_pixel_that_decides():
    inside = torch.from_numpy(in_distribution()[0][:100])
    assert by_one_pixel(inside, 1 - inside).max() == 1


@pytest.mark.parametrize("against", ["halves", "errors"])
def test_an_oracle_detects_everything_and_its_opposite_nothing(against):
    task, seeds = Digits(DigitsConfig(against=against)), [0, 1]
    labels = {row.tobytes(): label for row, label in zip(*in_distribution(), strict=True)}
    reference = task.reference_model(seeds)

    def knowing(sign: float):
        def predict(inputs: torch.Tensor) -> PredictiveUncertainty:
            said = reference.log_probs(inputs)
            true = [[labels.get(row.numpy().tobytes(), -1) for row in lane] for lane in inputs]
            known = torch.tensor(true)
            outside = known < 0 if against == "halves" else known != said.argmax(-1)
            score = sign * outside.double()
            size = score.abs()
            return PredictiveUncertainty(size, 0 * size, size, said.exp(), "nats", score=score)

        return predict

    best, worst = (task.score(seeds, asked_once(task, seeds, knowing(sign))) for sign in (1, -1))
    assert (best["auroc"].tolist(), worst["auroc"].tolist()) == ([1, 1], [0, 0])
    if against == "errors":
        assert (best["retention_auc"] > worst["retention_auc"]).all()
