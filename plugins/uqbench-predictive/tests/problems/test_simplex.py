"""The simplex example."""

import torch
from uqbench_predictive.problems import ground_truth
from uqbench_predictive.problems.ground_truth import ClassTruth
from uqbench_predictive.problems.simplex import QUERY, REMOTE, Simplex, SimplexConfig

from uqbench.estimator import Predictions, PredictiveUncertainty


def test_likely_models_give_the_query_of_the_simplex_to_every_class():
    reached = ClassTruth(ground_truth.read("simplex")).probs[:, 0, REMOTE]
    assert (reached > 0).all()
    assert reached.max() > 0.01
    assert QUERY == (-6.0, 2.0)


def test_the_ground_truth_itself_makes_no_error_on_the_simplex():
    own = ClassTruth(ground_truth.read("simplex")).of([2, 3])

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        epistemic = own.setting_a()
        return PredictiveUncertainty(
            epistemic, 0 * epistemic, epistemic, own.probs, "nats", highest=own.probs
        )

    task = Simplex(SimplexConfig(setting="selected"))
    sets = task.evaluation_sets([2, 3])
    given = {n: Predictions(oracle(one.inputs), one.targets) for n, one in sets.items()}
    scores = task.score([2, 3], given)
    assert scores["epistemic_error"].tolist() == [0, 0]
    assert scores["total_variation"].tolist() == [0, 0]
    assert torch.equal(scores["remote"], own.probs[:, 0, REMOTE])
