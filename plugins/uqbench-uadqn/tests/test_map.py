"""The map of the windy cliff: what a trained agent states in each cell, beside what is true."""

import numpy as np
import pytest
from uqbench_report.state_map import map_beliefs, map_truth
from uqbench_uadqn.cliff.policy_truth import exact_truth

import uqbench
from uqbench.plots.render import svg
from uqbench.plots.state_map import figure


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    found = uqbench.run(
        "windy-cliff", "smoke", methods=["ua-dqn-neutral"], seeds=1, steps=400, workers=1,
        keep_agents=True, progress=False, out=tmp_path_factory.mktemp("map"),
    )  # fmt: skip
    return found.agent(found.runs["run"][0])


def test_the_truth_is_that_of_the_agents_own_policy(kept):
    states, beliefs = map_beliefs(kept)
    truth = map_truth(kept, states)
    exact = exact_truth(kept.task.config, kept.batch.cell.task.discount, [0])
    known = exact.evaluate(kept.agent.policy(exact.obs[None]))
    at = [exact.obs.tolist().index(row) for row in states.obs.tolist()]
    np.testing.assert_allclose(truth["mean"], known.q[0, at])
    np.testing.assert_allclose(truth["aleatoric"] ** 2, known.return_variance[0, at], atol=1e-9)
    np.testing.assert_allclose(truth["epistemic"], abs(beliefs["mean"] - truth["mean"]))


def test_a_map_has_what_is_stated_what_is_true_and_their_ratio(kept):
    states, beliefs = map_beliefs(kept)
    drawn = figure(states, beliefs, "cliff", map_truth(kept, states))
    maps = {name: own["value"].to_numpy() for name, own in drawn.data.groupby("map", sort=False)}
    assert list(maps) == [
        "epistemic, predicted", "epistemic, error of the mean",
        "epistemic, predicted over error of the mean",
        "aleatoric, predicted", "aleatoric, true", "aleatoric, predicted over true",
    ]  # fmt: skip
    stated, true, ratio = list(maps.values())[3:]
    noisy = true > 0
    assert 0 < noisy.sum() < len(noisy)  # there is no wind on the upper row
    np.testing.assert_allclose(ratio[noisy], stated[noisy] / true[noisy])
    assert np.isnan(ratio[~noisy]).all()
    assert "null" not in svg(drawn)


def test_without_a_truth_only_what_is_stated_is_drawn(kept):
    states, beliefs = map_beliefs(kept)
    assert map_truth(kept, type(states)(states.obs + 1, states.places, states.actions)) == {}
    names = set(figure(states, beliefs, "cliff", {}).data["map"])
    assert names == {"epistemic, predicted", "aleatoric, predicted"}
