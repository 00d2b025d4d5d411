"""Fitting and scoring an estimator: the lanes of a batch, from the data to their columns."""

from collections.abc import Callable, Sequence

import torch

from uqbench.contract.errors import UqbenchError
from uqbench.contract.estimator import Dataset, Estimator
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.columns import RunColumns
from uqbench.runner.batches import Batch
from uqbench.runner.train.recorder import EPISODES, RECORD, columns
from uqbench.suites.configs import task_config
from uqbench.uncertainty.predictions import check_size, prediction_columns, score_rows

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
        UqbenchError: a run has no data set, its predictions would be too large, or the problem's
            scores are not those that its plugin declares.
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
    check_size(spec.name, dataset, dataset.evaluation_sets(seeds))
    reference_model = dataset.reference_model(seeds)
    estimator.fit(dataset.data(seeds), reference_model, steps)
    predictions = dataset.predictions(seeds, estimator.predict, reference_model)
    scores = dataset.score(seeds, predictions)
    if set(scores) != set(spec.scores):
        raise UqbenchError(
            f"the dataset {spec.name!r} scored {sorted(scores)}; its plugin declares "
            f"{sorted(spec.scores)}"
        )
    lanes = []
    for lane in range(len(runs)):
        stored = prediction_columns(predictions, lane, dataset.members)
        values = {name: float(scores[name][lane]) for name in sorted(scores)}
        values |= score_rows(batch.metrics, stored, host, notify)
        records = columns([[steps] * len(values), [*values], [*values.values()]], RECORD)
        lanes.append(RunColumns(records, NO_EPISODES, predictions=stored))
    return lanes


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
