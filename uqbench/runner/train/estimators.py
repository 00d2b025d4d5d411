"""Fitting and scoring an estimator: the lanes of a batch, from the data to their columns."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from math import isinf

import numpy as np
import torch

from uqbench.contract.errors import UqbenchError, see
from uqbench.contract.estimator import Data, Dataset, Estimator
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.tables import RunColumns
from uqbench.runner.batches import Batch
from uqbench.runner.train.guards import named
from uqbench.runner.train.recorder import EPISODES, RECORD, columns
from uqbench.suites.configs import task_config
from uqbench.uncertainty.plain import plain_parts
from uqbench.uncertainty.predictions import (
    check_size,
    nearest,
    predict_once,
    prediction_columns,
    score_rows,
)
from uqbench.uncertainty.problems import check_scores, drawn
from uqbench.uncertainty.validity import Speaker

NO_EPISODES = columns([()] * len(EPISODES), EPISODES)


def fit_estimator(
    batch: Batch, host: Host, device: torch.device, notify: Callable[[str], object]
) -> list[RunColumns]:
    """Fit an estimator to the runs' data sets, and score its predictions.

    ``notify`` is told of registered scores that raise.

    Returns:
        The metrics, (no) episodes and predictions of each run; a metric is a score, the problem's
        own or a registered one.

    Raises:
        UqbenchError: a run has no data set, its predictions would be too large, or what the problem
            or the estimator gives cannot be used: named with class, set, lane and point.
    """
    task, runs, steps = batch.cell.task, batch.runs, batch.budget.steps
    spec = host.datasets[str(task.dataset)]
    config = task_config(task, host, where=f"{runs[0].suite}: tasks.{task.name}")
    dataset: Dataset = spec.load_factory()(deepcopy(config))
    make = host.estimators[str(batch.cell.method.estimator)].load_factory()
    seeds = dataset_seeds(dataset, runs, str(task.dataset))
    problem = Speaker("dataset", named(dataset), "", see("wrong-data"))
    data, sets = drawn(dataset, seeds, problem)
    check_size(spec.name, dataset, sets)
    model, count = dataset.reference_model([*seeds]), len(runs)
    own = [run.agent_seed for run in runs]
    estimator: Estimator = make(dataset.problem, own, deepcopy(batch.cell.config), device)
    estimator.fit(plain_parts(data, Data, problem), deepcopy(model), steps)
    orders = [run.environment_seed for run in runs]
    by = Speaker("estimator", named(estimator), "", see("wrong-prediction"))
    classes = dataset.n_classes
    predictions = predict_once(estimator.predict, sets, orders, classes, model, by)
    stored = [prediction_columns(predictions, lane, dataset.members) for lane in range(count)]
    scores = dataset.score([*seeds], predictions)
    check_scores(scores, spec.scores, count, problem)
    lanes = []
    for lane, columns_of_lane in enumerate(stored):
        parts = [nearest(sets[name].inputs[lane], data.inputs[lane]) for name in predictions]
        columns_of_lane["nearest"] = np.concatenate(parts)
        values = {name: float(scores[name][lane]) for name in sorted(scores)}
        scored = score_rows(batch.metrics, columns_of_lane, host, notify)
        check_registered(scored, lane, named(estimator))
        values |= scored
        records = columns([[steps] * len(values), [*values], [*values.values()]], RECORD)
        lanes.append(RunColumns(records, NO_EPISODES, predictions=columns_of_lane))
    return lanes


def check_registered(scores: Mapping[str, float], lane: int, estimator: str) -> None:
    """Refuse an infinite score; one that the predictions do not say enough for is NaN, no value.

    Raises:
        UqbenchError: names the score, the lane and whose prediction it is of.
    """
    for name, value in scores.items():
        if isinf(value):
            raise UqbenchError(
                f"the score {name!r} of what {estimator} predicts is {value} in lane {lane}; "
                f"expected a finite number{see('wrong-prediction')}"
            )


def dataset_seeds(dataset: Dataset, runs: Sequence[Run], name: str) -> list[int]:
    """The seed of each run's data set: the run's own number where data sets are numbered.

    No two runs of a cell share a data set: the data set is the unit of inference.

    Raises:
        UqbenchError: a run's number is beyond the last data set.
    """
    count = dataset.n_datasets
    if count is None:
        return [run.environment_seed for run in runs]
    seeds = [run.seed for run in runs]
    if max(seeds) >= count:
        raise UqbenchError(
            f"the dataset {name!r} has {count} data sets, for the seeds 0 to {count - 1}, and no "
            f"two runs share one; got the seed {max(seeds)}: leave it out"
        )
    return seeds
