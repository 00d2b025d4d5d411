"""What every agent promises: masks, lanes, resuming, purity; Thompson sampling."""

import pytest
import torch
from uqbench_tabular.agents.bql import BayesianQLearning
from uqbench_tabular.agents.certainty_equivalence import CertaintyEquivalence
from uqbench_tabular.agents.model_based import ModelBased
from uqbench_tabular.agents.moment_matching import MomentMatching
from uqbench_tabular.agents.psrl import PSRL
from uqbench_tabular.agents.q_learning import QLearning
from uqbench_tabular.agents.ube import UBE

from uqbench.lanes import Normal, greedy
from uqbench.testing.results import results
from uqbench.testing.worlds import act, step_of_actors

PINNED = {
    PSRL: [62.0, 77.8], CertaintyEquivalence: [43.4, 44.8], UBE: [64.4, 49.6],
    MomentMatching: [106.0, 51.8], QLearning: [60.8, 53.0], BayesianQLearning: [74.8, 70.0],
}  # fmt: skip
every_agent = pytest.mark.parametrize("kind", PINNED)


@every_agent
def test_agents_keep_the_rules_of_lanes_masks_and_checkpoints(kind, subject):
    """For 265 steps, since random numbers come in blocks of 256."""
    settings = {"replan_every": 20} if issubclass(kind, ModelBased) else {}
    tried = subject(kind, **settings)
    for rule in ("lanes", "masks", "seeds", "checkpoint"):
        (found,) = results([tried], f"agent-{rule}")
        assert found.status == "passed", str(found)


@every_agent
@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_an_episode_that_ends_is_refused(kind, end, make):
    agent, obs = make(kind, seeds=(0,)), torch.tensor([0])
    no = torch.tensor([False])
    ends = {"terminated": no, "truncated": no} | {end: ~no}
    step = step_of_actors(obs=obs, action=obs, reward=torch.zeros(1), next_obs=obs, **ends)
    with pytest.raises(ValueError, match=f"at step 0: {kind.__name__} expects a continuing task"):
        agent.observe(step)


@every_agent
def test_a_short_run_has_its_pinned_rewards(kind, start):
    """If these numbers change, so has the algorithm, or its random streams."""
    assert start(kind).go(300).rewards().sum(0).tolist() == pytest.approx(PINNED[kind])


STREAMS = {UBE: "ube/noise", MomentMatching: "moment-matching/noise"}
both = pytest.mark.parametrize("kind", STREAMS)


@both
def test_actions_are_the_best_of_values_with_fresh_noise(kind, taught):
    agent = taught(kind, zeta=0.7, replan_every=50)
    noise = Normal((0, 1), STREAMS[kind], (2,), torch.device("cpu"))
    obs = torch.tensor([1, 3])
    taken, values = act(agent, obs), agent.action_values()
    deviation, lanes = 0.7 * agent.variance(values).sqrt(), torch.arange(2)
    for t in range(30):
        sampled = values[lanes, obs] + noise.at(t) * deviation[lanes, obs]
        assert torch.equal(taken, sampled.argmax(-1))
        agent.t = t + 1
        taken = act(agent, obs)


@both
def test_uncertainty_is_the_gaussian_acted_by_and_the_posteriors_variance_its_oracle(kind, taught):
    agent = taught(kind, zeta=0.5, value_samples=16)
    obs = torch.tensor([[2, 0], [1, 1]])
    stated, values = agent.uncertainty(obs), agent.action_values()
    variance = 0.25 * agent.variance(values)
    oracle = agent.policy_variance(greedy(values, agent.available))
    for lane in range(2):
        assert torch.equal(stated.mean[lane], values[lane, obs[lane]])
        assert torch.equal(stated.epistemic_var[lane], variance[lane, obs[lane]])
        assert torch.equal(stated.oracle_var[lane], oracle[lane, obs[lane]])
    assert stated.value_samples is None
