"""What any policy is worth, exactly."""

import pytest
import torch
from uqbench_tabular.environments import config as worlds
from uqbench_tabular.environments.ground_truth import exact_truth, model, optimal_q
from uqbench_tabular.environments.prior_mdp import prior_mdp

from uqbench.lanes import greedy

GAMMA = 0.9


@pytest.mark.parametrize(
    "config", [worlds.ChainConfig(), worlds.DeepSeaConfig(), worlds.WideNarrowConfig()]
)
def test_the_optimal_policy_has_q_star_and_another_lane_has_less(config):
    best, exact = optimal_q(config, GAMMA).values, exact_truth(config, GAMMA, [])
    optimal = greedy(best.nan_to_num(-torch.inf), model(config).available)
    worst = greedy(-best.nan_to_num(torch.inf), model(config).available)
    truth = exact.evaluate(torch.stack([optimal, worst]))
    assert torch.allclose(truth.q[0], best, equal_nan=True)
    assert torch.equal(truth.q[0].isnan(), ~exact.valid)
    assert (truth.q[1][exact.valid] <= best[exact.valid] + 1e-9).all()
    assert truth.q[1].nansum() < best.nansum()
    assert (truth.q_var.nan_to_num() == 0).all()


def test_variances_are_those_of_sampled_returns():
    """4,000 returns of one state's actions: a variance has a relative error of 3 % (1σ)."""
    config = worlds.PriorMDPConfig(seed=1)
    world, policy = prior_mdp(config), torch.tensor([0, 1, 1, 0])
    truth = exact_truth(config, GAMMA, []).evaluate(policy[None])
    generator = torch.Generator().manual_seed(0)
    state = torch.zeros(2, 4_000, dtype=torch.int64)
    action = torch.tensor([[0], [1]]).expand_as(state)
    collected = torch.zeros(2, 4_000).double()
    for t in range(80):
        odds = world.mdp.transitions[state, action].flatten(0, 1)
        following = odds.multinomial(1, generator=generator).view_as(state)
        at = (state, action, following)
        noise = torch.randn(state.shape, generator=generator)
        collected += GAMMA**t * (world.mdp.rewards[at] + world.deviations[at] * noise)
        state, action = following, policy[following]
    assert collected.var(1).tolist() == pytest.approx(truth.return_var[0, 0].tolist(), rel=0.15)
    error = 5 * (truth.return_var[0, 0].max().item() / 4_000) ** 0.5
    assert collected.mean(1).tolist() == pytest.approx(truth.q[0, 0].tolist(), abs=error)
