"""Agents with a posterior over MDPs: their plans, their samples of Q and their metrics."""

from __future__ import annotations

import torch
from uqbench_tabular.environments.chain import BACK, FORWARD, chain_mdp
from uqbench_tabular.environments.config import ChainConfig
from uqbench_tabular.planning import policy_iteration

from uqbench.testing.worlds import act, step_of_actors

STATES = torch.arange(5)


def test_the_plan_respects_the_masks_that_have_been_seen(make):
    """An untried action looks attractive to its prior; planning must not count on it."""
    agent = make(seeds=(0,), prior_mu0=5.0)
    everywhere = agent.action_values()
    assert torch.allclose(everywhere, torch.tensor(50.0, dtype=torch.float64))
    for _ in range(200):
        act(agent, torch.tensor([4]), torch.tensor([[False, True]]))
        no = torch.tensor([False])
        state, action, reward = torch.tensor([4]), torch.tensor([1]), torch.tensor([0.0])
        agent.observe(step_of_actors(state, action, reward, no, no, state))
    value = agent.action_values()[0, 4]
    assert value[FORWARD] < 0.5 * value[BACK]
    assert agent.policy(torch.tensor([[4]])).tolist() == [[FORWARD]]
    assert agent.plan[0, 4, FORWARD] < 0.5 * agent.plan[0, 4, BACK]


def test_uncertainty_is_samples_of_q_with_their_mean_and_variance(start):
    agent = start(value_samples=16).go(60).agent
    obs = torch.tensor([[3, 0, 4], [1, 1, 2]])
    stated = agent.uncertainty(obs)
    assert stated.value_samples.shape == (2, 3, 2, 16)
    table = agent.value_samples()
    for lane, m, action in torch.cartesian_prod(
        torch.arange(2), torch.arange(3), torch.arange(2)
    ).tolist():
        expected = table[lane, :, obs[lane, m], action]
        assert torch.equal(stated.value_samples[lane, m, action], expected)
    assert torch.allclose(stated.mean, stated.value_samples.mean(-1))
    assert torch.allclose(stated.epistemic_var, stated.value_samples.var(-1))
    samples = stated.value_samples[0]
    assert not torch.equal(samples[..., 0], samples[..., 1])
    agent.t += 1  # other numbers at another step
    assert not torch.equal(agent.uncertainty(obs).value_samples, stated.value_samples)


def test_with_data_the_posterior_of_q_closes_in_on_the_truth(make):
    """A posterior's spread falls with the root of the visits; every pair gets as many here."""
    mdp = chain_mdp(ChainConfig())
    truth = policy_iteration(mdp, 0.9)
    agent = make(seeds=(0,))
    agent.available = mdp.available[None]
    spread = [agent.metrics()["value_std"].item()]
    g = torch.Generator().manual_seed(0)
    pairs = mdp.available.nonzero()
    for rounds in (40, 600):
        for s, a in pairs[..., None]:
            odds = mdp.transitions[s, a][0]
            for following in torch.multinomial(odds, rounds, True, generator=g)[:, None]:
                reward = mdp.rewards[s, a, following]
                agent.posterior = agent.posterior.updated(s, a, reward, following)
        spread.append(agent.metrics()["value_std"].item())
    assert spread[1] < spread[0] / 1.5
    assert spread[2] < spread[1] / 3  # a quarter, but for the samples of this estimate
    stated = agent.uncertainty(STATES[None])
    error = (stated.mean[0] - truth).abs()[mdp.available]
    assert (error < 5 * stated.epistemic_var[0].sqrt()[mdp.available]).all()
    assert agent.policy(STATES[None]).tolist() == [[FORWARD] * 5]


def test_metrics_count_the_pairs_tried(start):
    run = start()
    assert run.agent.metrics()["pairs_tried"].tolist() == [0, 0]
    run.go(30)
    state, action, _ = torch.stack(run.trace).long().unbind(1)
    tried = [
        len({*zip(s.tolist(), a.tolist(), strict=True)})
        for s, a in zip(state.T, action.T, strict=True)
    ]
    assert run.agent.metrics()["pairs_tried"].tolist() == tried
