"""PSRL: one posterior draw per plan, and learning the chain."""

import torch
from uqbench_tabular.environments.chain import chain_mdp
from uqbench_tabular.environments.config import ChainConfig
from uqbench_tabular.planning import optimal_gain, policy_iteration

from uqbench.lanes import generators


def test_the_plan_is_the_optimum_of_one_posterior_draw_and_lasts(start):
    run = start(replan_every=10).go(40)
    posterior = run.agent.posterior
    run.go(1)
    draw = posterior.sample(generators((0, 1), "psrl/plan", 40), 1, run.agent.available)
    expected = policy_iteration(draw, 0.9)[:, 0]
    assert torch.equal(run.agent.plan, expected)
    run.go(9)
    assert torch.equal(run.agent.plan, expected)
    state, action, _ = torch.stack(run.trace[40:]).long().unbind(1)
    for lane in range(2):
        for s, a in zip(state[:, lane], action[:, lane], strict=True):
            valid = run.agent.available[lane, s]
            assert a == expected[lane, s].masked_fill(~valid, -torch.inf).argmax()
    run.go(1)
    assert not torch.equal(run.agent.plan, expected)


def test_psrl_comes_to_earn_the_optimal_gain(start):
    """Twelve seeds, the last 500 of 1,000 steps; the mean's standard error is about 0.008."""
    run, chain = start(seeds=range(12)).go(1_000), chain_mdp(ChainConfig())
    assert torch.equal(run.agent.available, chain.available.expand(12, -1, -1))
    rewards, optimum = run.rewards(), optimal_gain(chain).item()
    late = rewards[500:].mean(0)
    error = late.std().item() / 12**0.5
    assert abs(late.mean().item() - optimum) < 4 * error
    assert error < 0.02
    assert rewards[:200].mean() < 0.8 * optimum  # it had to learn
