"""What a score of uncertainty is stands in one table, for suites, boards and plugins."""

import tomllib
from pathlib import Path

import pytest

from uqbench.boards.columns import on_one_scale
from uqbench.suites import Metric
from uqbench.uncertainty.scores import PREFIXES, SCORING_RULES, scoring_rule

SUITES = sorted((Path(__file__).parents[2] / "plugins").glob("*/src/*/suites/*.toml"))


def metric(statistic, **keys):
    return Metric(name="m", summary="", kind="agent", statistic=statistic, **keys)


@pytest.mark.parametrize("file", SUITES, ids=lambda file: file.stem)
def test_suites_score_in_the_direction_that_is_better(file):
    for one in tomllib.loads(file.read_text("utf-8")).get("metrics", []):
        if one.get("statistic", "").startswith(PREFIXES):
            rule = SCORING_RULES.get(one["statistic"].rpartition("/")[2])
            if rule is None:
                continue  # an environment's own
            assert rule.direction in (None, one.get("direction", "max")), one["name"]


def test_a_suite_says_of_a_plugins_score_what_it_is():
    assert on_one_scale(metric("uncertainty/surprise"))
    mine = metric("uncertainty/surprise", unit="return", proper=True, direction="min")
    assert not on_one_scale(mine)
    assert scoring_rule(mine).proper
    assert not scoring_rule(metric("uncertainty/surprise")).proper
    assert "unit" not in mine.definition()  # a run's identity does not depend on it
