"""Conformal sets: their coverage where it is known, and against crepes, an optional extra."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from uqbench_predictive.baselines.conformal import Conformal, quantile
from uqbench_predictive.networks.training import TrainingConfig

from uqbench.estimator import Data, Dataset

CPU = torch.device("cpu")
HELD, TESTED, LANES = 10, 200, 150


class Noisy(Dataset):
    """A line with Student's t noise that grows with x, or three classes, a third of them random.

    Test points are exchangeable with the ten of validation.
    """

    inputs = (1,)

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def drawn(self, seed: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = np.random.default_rng(seed)
        x = generator.uniform(-1, 1, (count, 1))
        if self.n_classes == 0:
            y = x[:, 0] + (1 + x[:, 0]) * generator.standard_t(2, count)
            return torch.from_numpy(x).float(), torch.from_numpy(y).float()
        random = generator.integers(0, 3, count)
        y = np.where(generator.random(count) < 1 / 3, random, (1.5 * (x[:, 0] + 1)).astype(int))
        return torch.from_numpy(x).float(), torch.from_numpy(y)

    def part(self, seeds: Sequence[int], name: int, count: int) -> Data:
        lanes = [self.drawn(3 * seed + name, count) for seed in seeds]
        return Data(*(torch.stack(part) for part in zip(*lanes, strict=True)))

    def data(self, seeds: Sequence[int]) -> Data:
        train = self.part(seeds, 0, 20)
        return Data(train.inputs, train.targets, self.part(seeds, 1, HELD))

    def reference_model(self, seeds: Sequence[int]) -> None:
        return None

    def evaluation_sets(self, seeds):
        raise NotImplementedError


@pytest.mark.parametrize("n_classes", [0, 3])
def test_sets_hold_as_many_targets_as_exchangeability_says(n_classes):
    """10 of 11: the largest of ten errors. Over 150 lanes the standard error is 0.007."""
    task, seeds = Noisy(n_classes), range(LANES)
    estimator = Conformal(task.problem, seeds, TrainingConfig(hidden=(4,)), CPU)
    estimator.fit(task.data(seeds), None, steps=20)
    test = task.part(seeds, 2, TESTED)
    said = estimator.predict(test.inputs)
    if n_classes:
        inside = said.classes.gather(-1, test.targets[..., None]).squeeze(-1)
    else:
        low, high = said.interval.unbind(-1)
        inside = (low <= test.targets) & (test.targets <= high)
    assert inside.double().mean().item() == pytest.approx(10 / 11, abs=0.025)
    assert inside.double().mean(1).std() > 0.03  # a lane's own coverage is a draw of Beta(10, 1)


def test_fewer_than_nine_validation_points_or_none_are_refused(toy):
    with pytest.raises(ValueError, match="at least 9 validation points, got 8"):
        quantile(torch.rand(1, 8))
    assert quantile(torch.arange(9.0)[None]) == 8
    assert quantile(torch.arange(19.0)[None]) == 17
    task = toy()
    estimator = Conformal(task.problem, [0], TrainingConfig(hidden=(4,)), CPU)
    with pytest.raises(ValueError, match="this task has none"):
        estimator.fit(task.data([0]), None, steps=1)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_sets_are_those_of_crepes(n_classes):
    crepes = pytest.importorskip("crepes", reason="pip install uqbench-predictive[conformal]")
    task = Noisy(n_classes)
    estimator = Conformal(task.problem, [5], TrainingConfig(hidden=(4,)), CPU)
    data = Data(task.data([5]).inputs, task.data([5]).targets, task.part([5], 1, 57))
    estimator.fit(data, None, steps=50)
    held, test = data.validation, task.part([5], 2, 30)
    known, said = estimator.predict(held.inputs), estimator.predict(test.inputs)
    if n_classes:
        errors = 1 - known.probs[0].gather(-1, held.targets[0, :, None]).squeeze(-1).numpy()
        theirs = crepes.ConformalClassifier().fit(errors)
        sets = theirs.predict_set(1 - said.probs[0].numpy(), confidence=0.9, smoothing=False)
        assert np.array_equal(sets, said.classes[0].numpy())
        assert 0 < sets.mean() < 1
    else:
        theirs = crepes.ConformalRegressor().fit((held.targets - known.mean)[0].double().numpy())
        intervals = theirs.predict_int(said.mean[0].double().numpy(), confidence=0.9)
        assert np.allclose(intervals, said.interval[0].numpy())
