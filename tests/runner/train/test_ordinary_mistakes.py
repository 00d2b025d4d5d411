"""What an estimator does to what it is handed, or said, changes neither its results nor others'."""

import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from test_planted_predictions import C, Points, planted_batch

from uqbench.estimator import Estimator, PredictiveUncertainty
from uqbench.results import RunState, Store
from uqbench.runner import execute


@dataclass(frozen=True)
class Config:
    widths: list[int] = field(default_factory=lambda: [1])


class Honest(Estimator):
    """States a softmax of standardized inputs, all in float64."""

    def __init__(self, problem, seeds, config: Config, device):
        self.width, self.classes = len(config.widths), problem.n_classes

    def fit(self, data, reference_model, steps):
        inputs = data.inputs.double()
        self.center, self.scale = inputs.mean(1, keepdim=True), inputs.std(1, keepdim=True)

    def predict(self, inputs):
        z = (inputs.double() - self.center) / self.scale
        probs = torch.cat([z, self.width * z[..., :1] ** 2], -1).softmax(-1)
        total = torch.special.entr(probs).sum(-1)
        none = torch.zeros_like(total)
        return PredictiveUncertainty(total, 1 * total, none, probs, "nats", score=2 * total)


class ChangesItsProblem(Honest):
    def __init__(self, problem, seeds, config: Config, device):
        super().__init__(problem, seeds, config, device)
        for name, value in (("n_classes", 7), ("members", 1), ("inputs", (9,))):
            object.__setattr__(problem, name, value)


class ChangesItsSeeds(Honest):
    def __init__(self, problem, seeds, config: Config, device):
        super().__init__(problem, seeds, config, device)
        if not isinstance(seeds, tuple):
            seeds[:] = [99] * len(seeds)


class AppendsToItsConfig(Honest):
    def __init__(self, problem, seeds, config: Config, device):
        super().__init__(problem, seeds, config, device)
        config.widths.append(1)


class WritesLater(Honest):
    """A thread writes into all that it was given, while what it says is checked and scored."""

    def later(self, *tensors):
        def write():
            end = time.monotonic() + 5
            while time.monotonic() < end:
                for tensor in tensors:
                    tensor.fill_(1)
                time.sleep(0.001)

        threading.Thread(target=write, daemon=True).start()

    def fit(self, data, reference_model, steps):
        super().fit(data, reference_model, steps)
        self.later(data.inputs, data.targets)

    def predict(self, inputs):
        said = super().predict(inputs)
        self.later(inputs)
        return said


class SaysOnePart(Honest):
    """Its parts are one tensor, expanded, of numbers that learn."""

    def predict(self, inputs):
        said = super().predict(inputs)
        total = said.total.clone().requires_grad_()
        probs = said.probs.unsqueeze(0).expand(2, *said.probs.shape)[1]
        return replace(said, total=total, aleatoric=total, probs=probs)


MISTAKES = {
    ChangesItsProblem: "", ChangesItsSeeds: "", AppendsToItsConfig: "",
    WritesLater: "its threads", SaysOnePart: "",
}  # fmt: skip
"""Each with what it changes in its process, which is then replaced."""


def results(folder, made, seeds=(0, 1)):
    """Digests of runs that are executed one by one, and whether the process is as it was."""
    host, whole = planted_batch(made, Config, Points, largest, seeds)
    store, told = Store(folder), []
    fit = [execute((whole.of([run]),), store, host, told.append) for run in whole.runs]
    found = [store.find(run) for run in whole.runs]
    assert {one.state for one in found} == {RunState.FINISHED}, found[0].reason
    notices = [event.text for event in told if hasattr(event, "text")]
    return [one.record.digests for one in found], fit, notices


def largest(given):
    time.sleep(0.05)
    return float(given["test"].predicted.probs.max()) * C


@pytest.mark.parametrize("made", MISTAKES, ids=lambda made: made.__name__)
def test_a_mistake_leaves_results_alone_or_the_process_is_replaced(made, tmp_path, monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin")
    (tmp_path / "honest").mkdir()
    (tmp_path / "mistaken").mkdir()
    honest, fit, notices = results(tmp_path / "honest", Honest)
    assert (fit, notices) == ([True, True], [])
    mistaken, fit, notices = results(tmp_path / "mistaken", made)
    assert mistaken == honest
    changed = MISTAKES[made]
    assert fit[0] is (not changed)
    assert all(changed in notice for notice in notices)
    assert bool(notices) is bool(changed)
