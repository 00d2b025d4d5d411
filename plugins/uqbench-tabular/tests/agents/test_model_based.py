"""Agents with a posterior over MDPs: their plans, their samples of Q and their metrics."""

import torch
from uqbench_tabular.environments.chain import BACK, FORWARD

from uqbench.testing.worlds import act, step_of_actors


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
    for lane in range(2):
        assert torch.equal(stated.value_samples[lane], table[lane][:, obs[lane]].movedim(0, -1))
    assert torch.allclose(stated.mean, stated.value_samples.mean(-1))
    assert torch.allclose(stated.epistemic_var, stated.value_samples.var(-1))
    spread = table[0].std(0)[agent.available[0]].mean()
    assert torch.allclose(agent.metrics()["value_std"][0], spread)
    samples = stated.value_samples[0]
    assert not torch.equal(samples[..., 0], samples[..., 1])
    agent.t += 1  # other numbers at another step
    assert not torch.equal(agent.uncertainty(obs).value_samples, stated.value_samples)


def test_metrics_count_the_pairs_tried(start):
    run = start()
    assert run.agent.metrics()["pairs_tried"].tolist() == [0, 0]
    run.go(30)
    state, action, _ = torch.stack(run.trace).long().unbind(1)
    tried = [len((2 * s + a).unique()) for s, a in zip(state.T, action.T, strict=True)]
    assert run.agent.metrics()["pairs_tried"].tolist() == tried
