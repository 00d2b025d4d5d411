"""Metrics of widths times one factor: of scores that an environment gives at every size."""

import pytest
import torch

from uqbench.agent import Uncertainty
from uqbench.registry import Host
from uqbench.specs import imported
from uqbench.suites import Metric, read_suites
from uqbench.suites.checks import problems_of
from uqbench.suites.configs import task_config


@pytest.fixture(scope="module")
def host():
    return Host.load()


@pytest.fixture(scope="module")
def tasks(host):
    """Every registered suite, with each of its tasks that has an environment."""
    suites = read_suites(host, check=()).suites.values()
    return [(suite, task) for suite in suites for task in suite.tasks if task.environment]


def test_in_no_suite_is_a_metric_after_one_factor_of_a_score_without_sizes(host, tasks):
    """Whatever the suite and task: nothing would be there to rank by, in any run."""
    accepted = set()
    for suite, task in tasks:
        spec = host.environments[task.environment]
        for score in ("proper", *spec.sizes):
            metric = Metric(
                name="formed", summary="after one factor", kind="queries", tasks=(task.name,),
                statistic=f"queries/one-size/{score}",
            )  # fmt: skip
            own = suite.with_row("metrics", metric.name, metric, added=True)
            said = problems_of(own, host, "here", ("metrics", metric.name))
            if score in spec.sizes:
                accepted.add((spec.name, score))
                assert said == []
            else:
                (one,) = said
                told = "here: metrics.formed.statistic: there is no score of widths of every size "
                assert one.startswith(f"{told}(sizes of {spec.name!r}) of task {task.name!r}")
    assert {("gaussian-values", "size"), ("offline-values", "skill")} <= accepted


def test_the_sizes_of_an_environment_are_those_that_its_truth_has(host, tasks):
    """Of a task of each environment, by what is stated of values that are known."""
    looked = set()
    for _, task in {task.environment: (suite, task) for suite, task in tasks}.values():
        spec = host.environments[task.environment]
        if spec.exact_truth is None:
            continue
        config = task_config(task, host, where=task.name)
        exact = imported(spec.exact_truth)(config, task.discount, [0])
        if exact.scores is None:
            assert spec.sizes == ()
            continue
        action = torch.zeros(1, exact.obs.shape[exact.of_lanes], dtype=torch.int64)
        q = exact.evaluate(action).q
        given = exact.scores(Uncertainty(mean=q, epistemic_var=torch.ones_like(q)), action)
        sized = {name.partition("@")[0] for name in given if "@" in name}
        assert sized == {*spec.sizes}, spec.name
        assert sized <= {*given}
        looked.add(spec.name)
    assert {"gaussian-values", "bandit-table", "feature-worlds", "offline-values"} <= looked
