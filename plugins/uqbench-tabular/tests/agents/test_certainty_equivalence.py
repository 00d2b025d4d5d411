"""Certainty equivalence: ε-greedy in the posterior-mean MDP."""

import torch
from uqbench_tabular.agents.certainty_equivalence import CertaintyEquivalence

from uqbench.testing.worlds import act


def test_certainty_equivalence_explores_with_probability_epsilon(start):
    """ε = 1 is the uniformly random policy; ε = 0 is that of the plan."""
    greedy = start(CertaintyEquivalence, epsilon=0.0).go(50).agent
    assert torch.equal(act(greedy, torch.tensor([0, 2])), greedy.plan[[0, 1], [0, 2]].argmax(-1))
    run = start(CertaintyEquivalence, seeds=range(20), epsilon=1.0).go(200)
    state, action, _ = torch.stack(run.trace).unbind(1)
    forward = action[state != 4].mean().item()
    assert abs(forward - 0.5) < 5 * 0.5 / (state != 4).sum().item() ** 0.5
