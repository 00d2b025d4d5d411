"""Who executes batches: this machine, or a package that is named where it is not installed."""

from importlib import metadata
from typing import Any

import pytest

from uqbench.api.status import jobs
from uqbench.errors import UqbenchError
from uqbench.executor import ORDERS
from uqbench.registry import Added
from uqbench.registry.packages import DRIVERS
from uqbench.runner.drive import Here, Where, driver_of
from uqbench.specs import ExecutorSpec


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without drivers of packages."""
    found = metadata.entry_points

    def entry_points(**asked: Any) -> Any:
        return metadata.EntryPoints() if asked.get("group") == DRIVERS else found(**asked)

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_this_machine_is_the_harness_own_and_takes_no_config(host, tmp_path):
    driver = driver_of(Where(), host, tmp_path)
    assert isinstance(driver, Here)
    with pytest.raises(UqbenchError, match="--cancel ends what was submitted"):
        driver.cancel(None)
    with pytest.raises(UqbenchError, match="--executor local"):
        driver_of(Where(config={"partition": "gpu"}), host, tmp_path)


LACKING = {
    "slurm": "driver of slurm is .*pip install uqbench-cluster$",
    "ray": r"driver of ray is .*pip install 'uqbench-cluster\[ray\]'$",
    "slrum": "There is no executor 'slrum'",
}


@pytest.mark.parametrize("name", LACKING)
def test_an_executor_whose_package_is_not_installed_names_it_if_there_is_one(name, host, tmp_path):
    with pytest.raises(UqbenchError, match=LACKING[name]):
        driver_of(Where(name), host, tmp_path)


def test_another_packages_executor_needs_the_driver_of_orders(host, tmp_path, without_package):
    spec = ExecutorSpec(name="grid", version="1", factory=lambda context, config: None)
    added = Added({"executor": [spec]})
    host.register(name="grid", distribution="grid", version="1", load=lambda: added)
    with pytest.raises(UqbenchError, match="driver of orders is in the package uqbench-cluster"):
        driver_of(Where("grid"), host, tmp_path)


def test_status_says_that_nobody_is_there_to_ask_about_orders(tmp_path, without_package):
    assert jobs(tmp_path) == []
    (tmp_path / ORDERS).mkdir()
    (tmp_path / ORDERS / f"{'0' * 16}.json").write_text("{}")
    [said] = jobs(tmp_path)
    assert said.startswith("1 order: the driver of orders is in the package uqbench-cluster")
