"""Fashion-MNIST in setting (a), on small files made here."""

import gzip
from hashlib import sha256

import numpy as np
import pytest
import torch
from uqbench_compare.predictions.registered import (
    far_msp,
    far_score,
    near_msp,
    near_score,
    rotated_msp,
    rotated_score,
    shifted_nll,
)
from uqbench_predictive.problems import fashion
from uqbench_predictive.problems.corruptions import ON_CLOTHES, corrupted
from uqbench_predictive.problems.fashion import Fashion, FashionConfig, normalized
from uqbench_predictive.problems.idx import File
from uqbench_predictive.problems.image_files import VARIABLE

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
def task(tmp_path, monkeypatch, idx):
    """On small files in the place of the published ones, identified by their contents."""
    rows = np.concatenate([DIGITS.reshape(6, -1), np.arange(6)[:, None]], 1)
    contents = {
        "train-images": idx(TRAIN),
        "train-labels": idx(LABELS),
        "test-images": idx(TEST),
        "test-labels": idx(LABELS),
        "digits": "\n".join(",".join(map(str, row)) for row in rows.tolist()).encode(),
    }

    def write(file: File, inside: bytes) -> File:
        path = tmp_path / file.path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(inside))
        return File(file.path, file.md5, file.where, sha256(inside).hexdigest())

    files = {name: write(Fashion.files[name], inside) for name, inside in contents.items()}
    monkeypatch.setattr(Fashion, "files", files)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    sizes = {"TRAINED": 20, "VALIDATED": 9, "OUTSIDE": 5, "CORRUPTED": 15}
    for name, size in sizes.items():
        monkeypatch.setattr(fashion, name, size)
    return Fashion(FashionConfig(tested=30))


def numbers(inputs: torch.Tensor) -> np.ndarray:
    """The numbers of images ``[M, 28, 28]``."""
    return np.rint((inputs[:, 0, 0].numpy() * Fashion.deviation + Fashion.mean) * 255).astype(int)


def test_learned_classes_are_eight_and_their_images_are_in_one_set_only(task):
    data = task.data([0, 1])
    held = data.validation
    assert data.inputs.shape == (2, 20, 28, 28)
    assert held.targets.shape == (2, 9)
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
    white, black = (
        s * Fashion.deviation + Fashion.mean for s in (sets["inverted"].inputs, test[:, :5])
    )
    assert torch.allclose(white, 1 - black, atol=1e-6)


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

    best, worst = (
        stored_predictions(prediction_columns(asked_once(task, [4], predict), 0, members=1))
        for predict in (knowing, ignorant)
    )
    assert shifted_nll(best) == 0
    assert shifted_nll(worst) == pytest.approx(np.log(8), rel=1e-6)
    assert [told(best) for told in (near_score, far_score, rotated_score)] == [1, 1, 1]
    assert [told(worst) for told in (near_msp, far_msp, rotated_msp)] == [0.5, 0.5, 0.5]
