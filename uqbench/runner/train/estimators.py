"""Fitting and scoring an estimator: the lanes of a batch, from the data to their columns."""

from collections.abc import Callable, Mapping, Sequence
from math import isinf

import numpy as np
import torch

from uqbench.contract.errors import UqbenchError, see
from uqbench.contract.estimator import Dataset, Estimator, EvaluationSet, Predictions
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.tables import RunColumns
from uqbench.runner.batches import Batch
from uqbench.runner.train.guards import named
from uqbench.runner.train.recorder import EPISODES, RECORD, columns
from uqbench.suites.configs import task_config
from uqbench.uncertainty.predictions import check_size, nearest, prediction_columns, score_rows
from uqbench.uncertainty.problems import check_data, check_scores
from uqbench.uncertainty.validity import Speaker, check_prediction

NO_EPISODES = columns([()] * len(EPISODES), EPISODES)
AGAIN, FACTOR, ROUNDING = 5, 3, 1e-6
"""Points of an evaluation set that are asked again; how much their spread may change by that, of
methods that may draw; and below which nothing is one."""


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
    dataset: Dataset = spec.load_factory()(config)
    make = host.estimators[str(batch.cell.method.estimator)].load_factory()
    seeds = dataset_seeds(dataset, runs, str(task.dataset))
    estimator: Estimator = make(
        dataset, [run.agent_seed for run in runs], batch.cell.config, device
    )
    data, sets, count = dataset.data(seeds), dataset.evaluation_sets(seeds), len(runs)
    problem = Speaker("dataset", named(dataset), "", see("wrong-data"))
    check_data(dataset, data, sets, count, problem)
    check_size(spec.name, dataset, sets)
    reference_model = dataset.reference_model(seeds)
    estimator.fit(data, reference_model, steps)
    predictions = dataset.predictions(seeds, estimator.predict, reference_model)
    for name, one in predictions.items():
        when = f"for the set {name!r}"
        by = Speaker("estimator", named(estimator), when, see("wrong-prediction"))
        check_prediction(one, (count, sets[name].inputs.shape[1]), dataset.n_classes, by)
    check_alone(estimator, sets, predictions, dataset.n_classes)
    scores = dataset.score(seeds, predictions)
    check_scores(scores, spec.scores, count, problem)
    lanes = []
    for lane in range(len(runs)):
        stored = prediction_columns(predictions, lane, dataset.members)
        parts = [nearest(sets[name].inputs[lane], data.inputs[lane]) for name in predictions]
        stored["nearest"] = np.concatenate(parts)
        values = {name: float(scores[name][lane]) for name in sorted(scores)}
        scored = score_rows(batch.metrics, stored, host, notify)
        check_registered(scored, lane, named(estimator))
        values |= scored
        records = columns([[steps] * len(values), [*values], [*values.values()]], RECORD)
        lanes.append(RunColumns(records, NO_EPISODES, predictions=stored))
    return lanes


def check_alone(
    estimator: Estimator,
    sets: Mapping[str, EvaluationSet],
    said: Mapping[str, Predictions],
    n_classes: int,
) -> None:
    """Refuse a number that is one of a whole set: the points of a set are all of one kind.

    Some points of all sets are asked again, at once: they differ within a lane as much as before.

    Raises:
        UqbenchError: they differ by another factor.
    """
    asked = torch.cat([one.inputs[:, :AGAIN] for one in sets.values()], 1)
    again = estimator.predict(asked)
    by = Speaker("estimator", named(estimator), "for points of all sets", see("wrong-prediction"))
    check_prediction(Predictions(again), (len(asked), asked.shape[1]), n_classes, by)
    for part in ("total", "novelty"):
        parts = [getattr(said[name].predicted, part)[:, :AGAIN] for name in sets]
        both = torch.stack([torch.cat(parts, 1).double(), getattr(again, part).double()])
        before, now = (both - both.mean(-1, keepdim=True)).abs().mean((1, 2)).tolist()
        if max(before, now) > FACTOR * min(before, now) + ROUNDING * (1 + float(both.abs().max())):
            raise UqbenchError(
                f"the {part} that {named(estimator)} predicts of a point depends on the other "
                f"points asked: those of all sets differ by {now:.3g} when asked together, by "
                f"{before:.3g} when each set is asked by itself{see('wrong-prediction')}"
            )


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
