"""Which data set a run of an estimator has."""

from types import SimpleNamespace
from typing import Any

import pytest

from uqbench.errors import UqbenchError
from uqbench.identity import Run
from uqbench.runner.train.estimators import dataset_seeds


def numbered(count: int | None) -> Any:
    """So many data sets, or any number of them."""
    return SimpleNamespace(n_datasets=count)


def runs(*seeds: int) -> list[Run]:
    return [Run("suite", "paper", "task", "method", seed, {"seed": seed}) for seed in seeds]


def test_a_run_has_the_data_set_of_its_own_number():
    assert dataset_seeds(numbered(3), runs(2, 0, 1), "it") == [2, 0, 1]


def test_without_numbered_data_sets_the_seed_is_derived_from_the_task():
    drawn = dataset_seeds(numbered(None), runs(0, 1), "it")
    assert drawn == [run.environment_seed for run in runs(0, 1)]


def test_a_run_beyond_the_last_data_set_is_refused():
    with pytest.raises(UqbenchError, match=r"'it' has 3 data sets, for the seeds 0 to 2.*seed 3"):
        dataset_seeds(numbered(3), runs(1, 3), "it")
