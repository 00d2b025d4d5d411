"""What a score of uncertainty is stands in one table, for suites, boards and plugins."""

import tomllib
from pathlib import Path

import pytest
import torch

from uqbench.agent import Uncertainty
from uqbench.boards.columns import on_one_scale
from uqbench.suites import Metric
from uqbench.truth import Truth
from uqbench.uncertainty.interval_scores import score_return_distribution, score_uncertainty
from uqbench.uncertainty.query_scores import score_queries
from uqbench.uncertainty.scores import PREFIXES, SCORING_RULES, scoring_rule

SUITES = sorted((Path(__file__).parents[2] / "plugins").glob("*/src/*/suites/*.toml"))


def metric(statistic, **keys):
    return Metric(name="m", summary="", kind="agent", statistic=statistic, **keys)


def test_every_score_of_a_complete_prediction_is_known():
    q = torch.randn(1, 30, 2).double()
    predicted = Uncertainty(
        mean=q + 0.1,
        epistemic_var=torch.rand_like(q),
        oracle_var=torch.ones_like(q),
        aleatoric_var=torch.ones_like(q),
        return_atoms=torch.randn(1, 30, 2, 5).double(),
        return_probs=torch.full((1, 30, 2, 5), 0.2).double(),
    )
    [one] = score_queries(predicted, Truth.from_samples(torch.randn(1, 30, 2, 4).double()))
    atoms = torch.randn(30, 2, 3).double()
    found = {
        *(f"queries/{name}" for name in one.scores),
        *score_uncertainty(predicted, q[0]),
        *score_return_distribution(predicted, atoms, torch.full_like(atoms, 1 / 3)),
    }
    assert len(found) > 25
    assert {name.partition("/")[2] for name in found} <= SCORING_RULES.keys()


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
