"""Fashion-MNIST in setting (a), and few digits among foreign clothes, on small files made here."""

import numpy as np
import pytest
import torch
from uqbench_compare.predictions import registered
from uqbench_predictive.problems import fashion, few_digits
from uqbench_predictive.problems.corruptions import ON_CLOTHES, corrupted
from uqbench_predictive.problems.fashion import Fashion, FashionConfig, normalized
from uqbench_predictive.problems.few_digits import FewDigits, FewDigitsConfig

from uqbench.estimator import PredictiveUncertainty
from uqbench.testing.worlds import asked_once
from uqbench.uncertainty.predictions import prediction_columns, stored_predictions

LABELS = (np.arange(60) % 10).astype(np.uint8)


def images(count: int, seed: int) -> np.ndarray:
    """Random images, their first pixel their number."""
    made = np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)
    made[:, 0, 0] = np.arange(count)
    return made


TRAIN, TEST, DIGITS = images(60, 1), images(60, 2), images(6, 3)


@pytest.fixture
def task(monkeypatch, idx, csv, small_files):
    """On small files in the place of the published ones, identified by their contents."""
    contents = {"train-images": idx(TRAIN), "train-labels": idx(LABELS), "test-images": idx(TEST)}
    contents |= {"test-labels": idx(LABELS), "digits": csv(DIGITS, np.arange(6))}
    small_files(Fashion, contents)
    for name, size in {"TRAINED": 20, "VALIDATED": 9, "OUTSIDE": 5, "CORRUPTED": 15}.items():
        monkeypatch.setattr(fashion, name, size)
    return Fashion(FashionConfig(tested=30))


def numbers(inputs: torch.Tensor, kind: type = Fashion) -> np.ndarray:
    """The numbers of images ``[M, 28, 28]``."""
    return np.rint((inputs[:, 0, 0].numpy() * kind.deviation + kind.mean) * 255).astype(int)


def test_learned_classes_are_eight_and_their_images_are_in_one_set_only(task):
    data = task.data([0, 1])
    held = data.validation
    assert (data.inputs.shape, held.targets.shape) == ((2, 20, 28, 28), (2, 9))
    for lane in range(2):
        known, further = numbers(data.inputs[lane]), numbers(held.inputs[lane])
        assert len({*known, *further}) == 29
        for index, targets in ((known, data.targets[lane]), (further, held.targets[lane])):
            names = {0: 0, 1: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7}
            assert targets.tolist() == [names[n] for n in LABELS[index].tolist()]
        assert torch.equal(data.inputs[lane], normalized(TRAIN[known]))
    assert not torch.equal(data.inputs[0], data.inputs[1])
    assert torch.equal(task.data([1]).inputs[0], data.inputs[1])


def test_foreign_images_are_held_out_classes_digits_and_altered_test_images(task):
    sets = task.evaluation_sets([4, 5])
    test = sets["test"].inputs
    for lane in range(2):
        assert set(LABELS[numbers(sets["near"].inputs[lane])].tolist()) <= {2, 9}
        assert torch.equal(test[lane], normalized(TEST[numbers(test[lane])]))
        digits = normalized(DIGITS)[numbers(sets["far"].inputs[lane])]
        assert torch.equal(sets["far"].inputs[lane], digits)
        assert len(set(numbers(sets["far"].inputs[lane]))) == 5
    assert torch.equal(sets["rotated"].inputs, torch.rot90(test[:, :5], dims=(2, 3)))
    gray = (sets["inverted"].inputs + test[:, :5]) * Fashion.deviation + 2 * Fashion.mean
    assert torch.allclose(gray, torch.ones(()), atol=1e-6)  # white where it was black


def test_five_strengths_are_the_first_test_images_and_are_left_out_where_there_is_no_shift(task):
    sets = task.evaluation_sets([4, 5])
    test = sets["test"]
    for strength in range(1, 6):
        one = sets[f"strength-{strength}"]
        assert torch.equal(one.targets, test.targets[:, :15])
        clean = TEST[numbers(test.inputs[1, :15])].astype(np.float32) / 255
        made = normalized(255 * corrupted(clean, ON_CLOTHES, strength, seed=5))
        assert torch.allclose(one.inputs[1], made, atol=1e-5)
    without = Fashion(FashionConfig(shifts=False, tested=30)).evaluation_sets([4, 5])
    assert list(without) == ["test", "near", "far", "rotated", "inverted"]
    assert torch.equal(without["near"].inputs, sets["near"].inputs)
    alone = Fashion(FashionConfig(foreign=False, tested=30)).evaluation_sets([4, 5])
    assert list(alone) == ["test", *(f"strength-{k}" for k in range(1, 6))]
    assert torch.equal(alone["strength-5"].inputs, sets["strength-5"].inputs)
    few = Fashion(FashionConfig(shifts=False, altered=False, tested=30)).evaluation_sets([4, 5])
    assert list(few) == ["test", "near", "far"]
    with pytest.raises(ValueError, match="at least 15, got 10"):
        FashionConfig(tested=10)


def test_what_knows_the_answers_is_best_what_knows_nothing_is_at_chance(task):
    sets = task.evaluation_sets([4])
    known = {
        x.numpy().tobytes(): (0 if one.targets is None else int(one.targets[0, i]), name)
        for name, one in sets.items()
        for i, x in enumerate(one.inputs[0])
    }

    def knowing(inputs: torch.Tensor) -> PredictiveUncertainty:
        told = [known[x.numpy().tobytes()] for x in inputs[0]]
        probs = torch.nn.functional.one_hot(torch.tensor([[y for y, _ in told]]), 8).double()
        zero = torch.zeros(1, inputs.shape[1], dtype=torch.float64)
        score = zero + torch.tensor([[name in ("near", "far", "rotated") for _, name in told]])
        return PredictiveUncertainty(zero, zero, zero, probs, "nats", score=score)

    def ignorant(inputs: torch.Tensor) -> PredictiveUncertainty:
        zero = torch.zeros(1, inputs.shape[1], dtype=torch.float64)
        probs = torch.full((1, inputs.shape[1], 8), 1 / 8, dtype=torch.float64)
        return PredictiveUncertainty(zero, zero, zero, probs, "nats")

    said = (asked_once(task, [4], predict) for predict in (knowing, ignorant))
    best, worst = (stored_predictions(prediction_columns(one, 0, members=1)) for one in said)
    assert registered.shifted_nll(best) == 0
    assert registered.shifted_nll(worst) == pytest.approx(np.log(8), rel=1e-6)
    for name in ("near", "far", "rotated"):
        assert getattr(registered, f"{name}_score")(best) == 1
        assert getattr(registered, f"{name}_msp")(worst) == 0.5


def test_few_digits_are_apart_and_have_their_labels(monkeypatch, idx, csv, small_files):
    """Of 40 digits the last figure of an image's number is its class; clothes are from 40 on."""
    every = images(70, 0)
    digits = csv(every[:40], np.arange(40) % 10)
    small_files(FewDigits, {"digits": digits, "test-images": idx(every[40:])})
    for name, size in {"TRAINED": 25, "VALIDATED": 5, "TESTED": 10}.items():
        monkeypatch.setattr(few_digits, name, size)
    task = FewDigits(FewDigitsConfig(tested=10))
    data, sets = task.data([3, 4]), task.evaluation_sets([3, 4])
    test, far = sets["test"], sets["far"]
    seen = []
    for lane in (0, 1):
        parts = [numbers(of.inputs[lane], FewDigits) for of in (data, data.validation, test)]
        assert sorted(np.concatenate(parts)) == list(range(40))
        assert (parts[0] % 10 == data.targets[lane].numpy()).all()
        assert (parts[2] % 10 == test.targets[lane].numpy()).all()
        assert numbers(far.inputs[lane], FewDigits).min() >= 40
        seen.append(parts[0])
    assert (seen[0] != seen[1]).any()
    assert torch.equal(task.data([4]).inputs[0], data.inputs[1])
    assert far.targets is None
