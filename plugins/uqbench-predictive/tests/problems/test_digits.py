"""The 8 × 8 digits."""

from __future__ import annotations

import pytest
import torch
from uqbench_predictive.problems.digits import CLASSES, Digits, DigitsConfig, in_distribution, split

from uqbench.contract.estimator import PredictiveUncertainty


def test_digits_keep_training_test_and_out_of_distribution_images_apart():
    task = Digits(DigitsConfig(against="inverted"))
    data = task.data([1, 2])
    assert data.inputs.shape == (2, 100, 64)
    assert data.targets.max() < CLASSES
    assert len(set(split(1).tolist())) == len(in_distribution()[1])
    tested = torch.from_numpy(in_distribution()[0][split(1)[100:200]])
    assert torch.equal(task.outside([1])[0], 1 - tested)
    rotated = Digits(DigitsConfig(against="rotated")).outside([1])[0]
    assert torch.equal(rotated.view(-1, 8, 8), torch.rot90(tested.view(-1, 8, 8), dims=(1, 2)))
    noise = Digits(DigitsConfig(against="noise")).outside([1])
    assert noise.shape == (1, 100, 64)
    held_out = Digits(DigitsConfig(against="held-out")).outside([1, 2])
    assert not torch.equal(held_out[0], held_out[1])


@pytest.mark.parametrize("against", ["noise", "errors"])
def test_an_oracle_detects_everything_and_its_opposite_nothing(against):
    task = Digits(DigitsConfig(against=against))
    seeds = [0, 1]
    known = in_distribution()[0]
    labels = {row.tobytes(): label for row, label in zip(*in_distribution(), strict=True)}
    reference = task.reference_model(seeds)

    def knowing(sign: float):
        def predict(inputs: torch.Tensor) -> PredictiveUncertainty:
            guess = reference.log_probs(inputs).argmax(-1)
            outside = torch.tensor(
                [
                    [
                        float(labels.get(row.numpy().tobytes(), -1) != g)
                        for row, g in zip(rows, guesses, strict=True)
                    ]
                    for rows, guesses in zip(inputs, guess.tolist(), strict=True)
                ]
            )
            if against == "noise":
                outside = torch.full_like(
                    outside, float(inputs[0, 0].tolist() not in known.tolist())
                )
            predicted = sign * outside.double()
            return PredictiveUncertainty(predicted, 0 * predicted, predicted, None, "nats")

        return predict

    best, worst = (
        task.score(seeds, task.predictions(seeds, knowing(sign), reference)) for sign in (1.0, -1.0)
    )
    assert best["auroc"].tolist() == [1, 1]
    assert worst["auroc"].tolist() == [0, 0]
    if against == "errors":
        assert (best["retention_auc"] > worst["retention_auc"]).all()
