"""Stored predictions: what is read back is what was predicted, and scores are functions of it."""

import math

import numpy as np
import pytest
import torch

from uqbench.errors import UqbenchError
from uqbench.estimator import Dataset, EvaluationSet, Predictions, PredictiveUncertainty
from uqbench.registry import Host
from uqbench.results import PREDICTIONS, Folder, RunColumns
from uqbench.results.tables import read_columns, read_tables, write_tables
from uqbench.runner.train.estimators import NO_EPISODES
from uqbench.specs import EstimatorSpec, ScoreSpec
from uqbench.suites import Metric
from uqbench.uncertainty.predictions import (
    check_size,
    prediction_columns,
    score_rows,
    stored_predictions,
)

METRICS = {"step": np.zeros(1, np.int64), "metric": np.array(["m"], object), "value": np.ones(1)}


def predictions() -> dict[str, Predictions]:
    """Two lanes; five test points, three of another kind; four models, three classes."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    members = drawn(4, 2, 5, 3).softmax(-1)
    aleatoric, epistemic = drawn(2, 5), drawn(2, 5)
    parts, zero = (aleatoric + epistemic, aleatoric, epistemic), (torch.zeros(2, 3),) * 3
    test = PredictiveUncertainty(*parts, members.mean(0), "nats", members=members)
    other = PredictiveUncertainty(*zero, drawn(2, 3, 3).softmax(-1), "nats", score=drawn(2, 3))
    targets = torch.tensor([[0, 1, 2, 0, 1], [2, 2, 2, 1, 0]])
    return {
        "test": Predictions(test, targets, drawn(2, 5, 3).log_softmax(-1)),
        "other": Predictions(other, None, drawn(2, 3, 3).log_softmax(-1)),
    }


def rounded(tensor: torch.Tensor) -> np.ndarray:
    """Of lane 1, as it is stored."""
    return tensor[1:].float().double().numpy()


@pytest.fixture
def stored(tmp_path):
    """Folder, digests and columns of a run, lane 1."""
    columns = prediction_columns(predictions(), 1, members=4)
    folder = Folder(tmp_path)
    digests = write_tables(folder, RunColumns(METRICS, NO_EPISODES, predictions=columns))
    return folder, digests, columns


def test_what_is_read_is_what_was_predicted_rounded_to_float32(stored):
    folder, digests, _ = stored
    given, found = predictions(), stored_predictions(read_columns(folder, PREDICTIONS, digests))
    assert list(found) == ["test", "other"]
    for name, one in given.items():
        for field in ("total", "aleatoric", "epistemic", "probs"):
            expected = rounded(getattr(one.predicted, field))
            assert np.array_equal(getattr(found[name].predicted, field), expected), field
        assert np.array_equal(found[name].reference, rounded(one.reference))
    test, other = found["test"], found["other"]
    assert np.array_equal(test.targets, given["test"].targets[1:])
    assert test.predicted.score is other.targets is other.predicted.members is None
    members = given["test"].predicted.members[:, 1:].float().double().numpy()
    assert np.array_equal(test.predicted.members, members)
    assert np.array_equal(other.predicted.novelty, rounded(given["other"].predicted.score))
    few = stored_predictions(prediction_columns(given, 1, members=2))
    assert np.array_equal(few["test"].predicted.members, members[:2])


def test_predictions_are_verified_by_their_own_digest_and_are_no_part_of_the_results(stored):
    folder, digests, _ = stored
    other = folder.below("without")
    without = write_tables(other, RunColumns(METRICS, NO_EPISODES))
    assert digests["results"] == without["results"]
    read_tables(folder, digests)
    assert read_columns(other, PREDICTIONS, without) is None
    path = folder / PREDICTIONS
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UqbenchError, match=r"predictions\.parquet does not match its digest"):
        read_columns(folder, PREDICTIONS, digests)


def test_columns_of_something_else_are_refused():
    for columns in ({"set": np.array(["a"], object)}, {"value": np.zeros(1)}):
        with pytest.raises(UqbenchError, match="no stored predictions"):
            stored_predictions(columns)


class Wide(Dataset):
    inputs, n_classes = (1,), 10

    def data(self, seeds):
        raise NotImplementedError

    reference_model = data

    def evaluation_sets(self, seeds):
        return {"test": EvaluationSet(torch.zeros(1, 20_000, 1))}


def test_a_data_set_limits_what_is_stored_before_anything_is_learned():
    task = Wide()
    check_size("wide", task, task.evaluation_sets([0]))
    task.members = 10
    with pytest.raises(UqbenchError, match=r"'wide' would store 11,920,000 bytes.*4,194,304"):
        check_size("wide", task, task.evaluation_sets([0]))


def surest(given) -> float:
    """Mean of the largest probability."""
    return given["test"].predicted.probs.max(-1).mean()


def test_a_registered_score_is_the_same_bits_at_the_end_of_a_run_and_later(stored):
    folder, digests, columns = stored
    host = Host()
    plugin = host.register(name="s", distribution="s", version="1", load=lambda: None)
    spec = ScoreSpec(name="surest", version="1", factory=surest, direction="max")
    host.scores.add([spec], plugin)
    metric = Metric(name="sure", summary="", kind="predictions", statistic="surest")
    told: list[str] = []
    then = score_rows([metric], columns, host, told.append)
    again = score_rows([metric], read_columns(folder, PREDICTIONS, digests), host, told.append)
    assert then == again
    assert 1 / 3 < then["surest"] < 1
    assert told == []


@pytest.mark.parametrize("error", [KeyError("entropy"), SystemExit(0), KeyboardInterrupt()])
def test_a_registered_score_that_raises_costs_its_own_number_alone(error, stored):
    def broken(given) -> float:
        raise error

    host, told = Host(), []
    plugin = host.register(name="s", distribution="s", version="1", load=lambda: None)
    for name, factory in (("surest", surest), ("broken", broken)):
        spec = ScoreSpec(name=name, version="1", factory=factory, direction="max")
        host.scores.add([spec], plugin)
    of = {"summary": "", "kind": "predictions"}
    metrics = [Metric(name=name, statistic=name, **of) for name in ("broken", "surest")]
    if isinstance(error, KeyboardInterrupt):  # the user's
        with pytest.raises(KeyboardInterrupt):
            score_rows(metrics, stored[2], host, told.append)
        return
    values = score_rows(metrics, stored[2], host, told.append)
    assert 1 / 3 < values["surest"] < 1
    assert math.isnan(values["broken"])
    why = f"{type(error).__name__}: {error}"
    assert told == [f"the score 'broken' has no value: it raised {why}"]


def test_an_estimators_role_is_one_that_there_is():
    with pytest.raises(ValueError, match=r"no role 'trival'.*trivial"):
        EstimatorSpec(name="e", version="1", factory="e:E", role="trival")
