"""Few digits and foreign clothes, on small files made here."""

import gzip
from hashlib import sha256

import numpy as np
import pytest
import torch
from uqbench_predictive.problems import few_digits
from uqbench_predictive.problems.few_digits import FewDigits, FewDigitsConfig
from uqbench_predictive.problems.idx import File
from uqbench_predictive.problems.image_files import VARIABLE


@pytest.fixture
def task(tmp_path, monkeypatch, idx):
    """40 digits and 30 clothes; the first pixel is an image's number, and the digit its last."""
    numbers = np.random.default_rng(0).integers(0, 256, (70, 28, 28), dtype=np.uint8)
    numbers[:, 0, 0] = np.arange(70)
    digits = np.concatenate([numbers[:40].reshape(40, -1), (np.arange(40) % 10)[:, None]], 1)
    contents = {
        "digits": "\n".join(",".join(map(str, row)) for row in digits.tolist()).encode(),
        "test-images": idx(numbers[40:]),
    }

    def write(file: File, inside: bytes) -> File:
        path = tmp_path / file.path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(inside))
        return File(file.path, file.md5, file.where, sha256(inside).hexdigest())

    files = {name: write(FewDigits.files[name], inside) for name, inside in contents.items()}
    monkeypatch.setattr(FewDigits, "files", files)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for name, size in {"TRAINED": 25, "VALIDATED": 5, "TESTED": 10}.items():
        monkeypatch.setattr(few_digits, name, size)
    return FewDigits(FewDigitsConfig(tested=10))


def numbers(x: torch.Tensor) -> np.ndarray:
    """The images' numbers."""
    gray = (x[..., 0, 0] * FewDigits.deviation + FewDigits.mean) * 255
    return gray.round().long().numpy()


def test_the_parts_are_apart_each_seed_has_its_own_and_labels_are_those_of_the_images(task):
    data, sets = task.data([3, 4]), task.evaluation_sets([3, 4])
    assert data.validation is not None
    for lane in (0, 1):
        parts = [
            numbers(x[lane]) for x in (data.inputs, data.validation.inputs, sets["test"].inputs)
        ]
        assert sorted(np.concatenate(parts)) == list(range(40))
        assert (parts[0] % 10 == data.targets[lane].numpy()).all()
        assert (parts[2] % 10 == sets["test"].targets[lane].numpy()).all()
        assert numbers(sets["far"].inputs[lane]).min() >= 40
    assert (numbers(data.inputs[0]) != numbers(data.inputs[1])).any()
    alone = task.data([4])
    assert torch.equal(alone.inputs[0], data.inputs[1])
    assert sets["far"].targets is None
