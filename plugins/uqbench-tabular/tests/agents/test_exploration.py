"""Thompson sampling from a diagonal Gaussian, as UBE and moment matching use it."""

import pytest
import torch
from uqbench_tabular.agents.moment_matching import MomentMatching
from uqbench_tabular.agents.ube import UBE

from uqbench.lanes import Normal, greedy
from uqbench.testing.worlds import act

CPU = torch.device("cpu")
STREAMS = {UBE: "ube/noise", MomentMatching: "moment-matching/noise"}
both = pytest.mark.parametrize("kind", STREAMS)


@both
def test_actions_are_the_best_of_values_with_fresh_noise(kind, taught):
    agent = taught(kind, zeta=0.7, replan_every=50)
    noise = Normal((0, 1), STREAMS[kind], (2,), CPU)
    obs = torch.tensor([1, 3])
    taken = act(agent, obs)
    values = agent.action_values()
    deviation = 0.7 * agent.variance(values).sqrt()
    lanes = torch.arange(2)
    for t in range(30):
        sampled = values[lanes, obs] + noise.at(t) * deviation[lanes, obs]
        assert torch.equal(taken, sampled.argmax(-1))
        agent.t = t + 1
        taken = act(agent, obs)


@both
def test_uncertainty_is_the_gaussian_acted_by_and_the_posteriors_variance_its_oracle(kind, taught):
    agent = taught(kind, zeta=0.5, value_samples=16)
    obs = torch.tensor([[2, 0], [1, 1]])
    stated = agent.uncertainty(obs)
    values = agent.action_values()
    variance = 0.25 * agent.variance(values)
    oracle = agent.policy_variance(greedy(values, agent.available))
    for lane in range(2):
        assert torch.equal(stated.mean[lane], values[lane, obs[lane]])
        assert torch.equal(stated.epistemic_var[lane], variance[lane, obs[lane]])
        assert torch.equal(stated.oracle_var[lane], oracle[lane, obs[lane]])
    assert stated.value_samples is None
