"""PriorMDP: the draws have the prior's moments, and the seed decides them."""

import pytest
import torch
from scipy import stats
from uqbench_tabular.environments.config import PriorMDPConfig
from uqbench_tabular.environments.prior_mdp import prior_mdp

SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors; the seeds are fixed."""


def test_priormdps_are_draws_of_the_prior_that_the_seed_decides():
    """Means of 64 000 entries; μ has the variance β / (λ (α − 1)) = 4/3, 1/τ the mean 4/3."""
    worlds = [prior_mdp(PriorMDPConfig(states=40, actions=4, seed=seed)) for seed in range(10)]
    means = torch.stack([w.mdp.rewards for w in worlds]).numpy().ravel()
    variances = torch.stack([w.deviations for w in worlds]).numpy().ravel() ** 2
    for sample, expected in ((means, 0.0), (means**2, 4 / 3), (variances, 4 / 3)):
        assert abs(sample.mean() - expected) < SIGMAS * sample.std() / sample.size**0.5
    first = torch.cat([w.mdp.transitions[..., 0].flatten() for w in worlds]).numpy()
    assert stats.kstest(first, stats.beta(1, 39).cdf).pvalue > 1e-4
    again = prior_mdp(PriorMDPConfig(states=40, actions=4, seed=3))
    assert torch.equal(again.mdp.transitions, worlds[3].mdp.transitions)


def test_a_larger_lambda_shrinks_the_mean_rewards_and_nothing_else():
    """By 1/√λ, and with them what the oracle earns: λ = 300 leaves a seventeenth."""
    one, many = (prior_mdp(PriorMDPConfig(states=4, actions=2, lam=lam)) for lam in (1.0, 300.0))
    assert torch.allclose(many.mdp.rewards * 300**0.5, one.mdp.rewards)
    assert torch.equal(many.mdp.transitions, one.mdp.transitions)
    assert torch.equal(many.deviations, one.deviations)
    assert many.oracle_gain() * 300**0.5 == pytest.approx(one.oracle_gain())
