"""Which data set a run of an estimator has."""

from types import SimpleNamespace

import pytest

from uqbench.errors import UqbenchError
from uqbench.identity import Run
from uqbench.runner.train.estimators import dataset_seeds


def runs(*seeds: int) -> list[Run]:
    return [Run("suite", "paper", "task", "method", seed, {"seed": seed}) for seed in seeds]


def test_a_run_has_the_data_set_of_its_number_or_a_seed_that_is_derived_from_the_task():
    three, any_ = (SimpleNamespace(n_datasets=count) for count in (3, None))
    assert dataset_seeds(three, runs(2, 0, 1), "it") == [2, 0, 1]
    assert dataset_seeds(any_, runs(0, 1), "it") == [run.environment_seed for run in runs(0, 1)]
    with pytest.raises(UqbenchError, match=r"'it' has 3 data sets, for the seeds 0 to 2.*seed 3"):
        dataset_seeds(three, runs(1, 3), "it")
