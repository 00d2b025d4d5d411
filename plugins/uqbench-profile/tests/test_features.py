"""Worlds whose states have features: posteriors against oracles, and what planted widths score."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor
from uqbench_dqn.sizes import SIZES
from uqbench_predictive.problems.diagnostics import r_hat, tail_ess
from uqbench_profile import feature_posterior, feature_worlds
from uqbench_profile.config import FeatureBayesConfig, FeatureConfig
from uqbench_profile.feature_agents import FeatureBayes
from uqbench_profile.feature_posterior import Seen, draws_of_weights, posterior, turn_of
from uqbench_profile.feature_scores import exact_truth, joint, scores
from uqbench_profile.feature_worlds import (
    ACTIONS,
    ASKED,
    SHOWN,
    SIGMA,
    WIDTH,
    FeatureLanes,
    FeatureWorld,
)
from uqbench_ube.linear import InverseCounts

from uqbench.agent import EnvironmentInfo, Uncertainty
from uqbench.testing.same_bits import train

LINEAR, RING, SOFTPLUS = (FeatureConfig(family=f) for f in ("linear", "ring", "softplus"))
DISCOUNT = {"linear": 0.0, "ring": 0.7, "softplus": 0.0}


def test_exact_bayes_has_1_counting_and_constants_have_nothing_by_a_sampled_posterior(planted):
    """In every score .95: draws differ from the truth's. test_planted has the other families."""
    means = planted(SOFTPLUS, 0.0, range(500, 503))
    for name in ("shape", "unseen", "decisions", "joint", "score"):
        assert means["exact"][name] >= 0.95, name
        for width in ("counts", "s-over-root-n", "common-factor"):
            assert means[width][name] <= 0.3, (width, name)
        assert means["constant"][name] <= 0.2, name
    assert means["exact-times-3"]["shape"] == pytest.approx(1.0, abs=0.02)
    assert means["exact-times-3"]["scale"] == pytest.approx(np.log10(3), abs=0.02)
    assert abs(means["exact"]["scale"]) < 0.01


def test_the_best_scaled_counts_have_no_shape_either():
    """A counter who is told its scale: the score of the shape does not know one."""
    seeds = range(30)
    world = FeatureWorld.drawn(LINEAR, seeds)
    exact = posterior(LINEAR, world, 0.0, seeds)
    mean = exact.mean.unflatten(1, (ASKED, ACTIONS))
    for power in (-0.5, -0.1, 0.1):
        var = (1 + world.count) ** (2 * power)
        found = scores(Uncertainty(mean=mean, epistemic_var=var), exact, world.count == 0)
        assert found["shape"].mean() <= 0.3


def test_leverage_is_that_of_least_squares_in_the_rewards_of_the_action():
    env = FeatureLanes(LINEAR, [3])
    info = EnvironmentInfo(env.observation_space, ACTIONS, 0.0, 440)
    of = FeatureBayesConfig(family="linear", width="leverage")
    agent = FeatureBayes(info, [7], of, torch.device("cpu"))
    train(agent, env, 440)
    obs = torch.from_numpy(
        np.random.default_rng(0).normal(size=(1, 5, *env.observation_space.shape))
    ).float()
    said = agent.uncertainty(obs)
    for action in range(ACTIONS):
        seen = agent._obs[0, agent._action[0] == action].numpy()
        asked = obs[0].double().numpy()
        covariance = asked @ np.linalg.pinv(seen.T @ seen, rcond=1e-9, hermitian=True) @ asked.T
        drawn = said.value_samples[0, :, action].double()
        np.testing.assert_allclose(
            said.epistemic_var[0, :, action], covariance.diagonal(), rtol=1e-4
        )
        np.testing.assert_allclose(drawn.cov(correction=0), covariance, atol=1e-4)


# -- the worlds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [LINEAR, RING])
def test_the_closed_posterior_is_that_of_a_normal_law_conditioned_on_the_rewards(config):
    """Gaussian conditioning in the space of rewards, which knows no weights; Q by walking."""
    discount, world = DISCOUNT[config.family], FeatureWorld.drawn(config, [3])
    found, states = posterior(config, world, discount, [3]), [world.asked[0]]
    if config.family == "ring":
        turn = torch.linalg.lstsq(world.obs[0], world.following[0], driver="gelsd").solution
        for _ in range(60):
            states.append(states[-1] @ turn)
    one_hot = torch.eye(ACTIONS, dtype=torch.float64)
    shown = torch.cat([world.obs[0]] * ACTIONS, 1).unflatten(1, (ACTIONS, WIDTH))
    shown = (shown * one_hot[world.action[0]][..., None]).flatten(1)
    asked = torch.zeros(ASKED, ACTIONS, ACTIONS, WIDTH, dtype=torch.float64)
    for action in range(ACTIONS):
        asked[:, action, action] += states[0]
        for k, later in enumerate(states[1:], start=1):
            asked[:, action, world.policy[0]] += discount**k * later
    asked = asked.flatten(0, 1).flatten(1)
    gram = shown @ shown.mT + SIGMA**2 * torch.eye(len(shown), dtype=torch.float64)
    gain = torch.linalg.solve(gram, shown @ asked.mT).mT
    torch.testing.assert_close(found.mean[0], gain @ world.reward[0], rtol=1e-6, atol=1e-6)
    covariance = asked @ asked.mT - gain @ shown @ asked.mT
    torch.testing.assert_close(found.covariance[0], covariance, rtol=1e-6, atol=1e-6)
    true = feature_posterior.true_values(config, world, discount)[0].flatten()
    torch.testing.assert_close(true, asked @ world.weights[0].flatten(), rtol=1e-6, atol=1e-6)
    width = asked.square().sum(-1).mean() ** 0.5
    assert width == pytest.approx(feature_posterior.prior_moments(config, discount)[1], rel=1e-3)


def test_the_sampler_s_chains_agree_and_its_tails_are_known():
    """R̂ ≤ 1.01 and a tail effective sample size of 1,000 or more, for every value."""
    seeds = range(2_000, 2_004)
    world = FeatureWorld.drawn(SOFTPLUS, seeds)
    drawn = draws_of_weights(SOFTPLUS, Seen(world.obs, world.action, world.reward), seeds)
    values = feature_worlds.mean_reward(
        SOFTPLUS, torch.einsum("lmf,lacsf->cslma", world.asked, drawn)
    ).numpy()
    assert r_hat(values).max() <= 1.01
    assert tail_ess(values).min() >= 1_000


@pytest.mark.long
def test_the_sampler_is_calibrated():
    """Simulation-based calibration (Talts et al. 2018): ranks of the truth among draws are uniform.

    One state of each region and action of 40 worlds: 640 ranks, 16 bins, χ². A right sampler fails
    once in a hundred sets of worlds; these are fixed. Draws that lie 1.5 times as far out fail.
    """
    seeds = range(3_000, 3_040)
    world = FeatureWorld.drawn(SOFTPLUS, seeds)
    drawn = draws_of_weights(SOFTPLUS, Seen(world.obs, world.action, world.reward), seeds)
    asked = world.asked[:, :: ASKED // 8]
    values = torch.einsum("lmf,lacsf->csalm", asked, drawn[..., ::20, :]).flatten(0, 1)
    true = torch.einsum("lmf,laf->alm", asked, world.weights)

    def p(draws: Tensor) -> float:
        ranks = (draws < true).sum(0).flatten().numpy()
        counts = np.histogram(ranks / (len(draws) + 1), bins=16, range=(0, 1))[0]
        return float(stats.chisquare(counts).pvalue)

    center = values.mean(0)
    assert p(values) > 0.01
    assert p(center + 1.5 * (values - center)) < 0.001


def test_where_rewards_are_linear_the_sampler_has_the_closed_posterior():
    """Means within .1, variances within 15 %, at 1,000 effective draws: three standard errors."""
    world = FeatureWorld.drawn(LINEAR, [5])
    exact = posterior(LINEAR, world, 0.0, [5])
    drawn = draws_of_weights(LINEAR, Seen(world.obs, world.action, world.reward), [5])
    values = torch.einsum("lmf,lacsf->lcsma", world.asked, drawn).flatten(3).flatten(1, 2)[0]
    std = exact.std[0]
    assert ((values.mean(0) - exact.mean[0]).abs() < 0.1 * std).all()
    assert ((values.std(0) / std - 1).abs() < 0.075).all()


def test_how_often_a_state_was_shown_says_nothing_about_what_is_known_of_its_region():
    world = FeatureWorld.drawn(LINEAR, range(200))
    exact = posterior(LINEAR, world, 0.0, range(200))
    assert set(world.count.unique().tolist()) == {0.0, float(SHOWN)}
    region = exact.std.unflatten(1, (8, 4, ACTIONS)).mean(2)
    assert world.count.unflatten(1, (8, 4)).sum(2).std() == 0
    assert (region.amax(1) / region.amin(1)).mean() > 2
    torch.testing.assert_close(world.asked.norm(dim=-1), torch.ones(200, ASKED).double())


def test_seeds_rotate_the_observations_and_lanes_do_not_depend_on_each_other():
    together, alone = FeatureWorld.drawn(RING, [4, 7, 9]), FeatureWorld.drawn(RING, [7])
    for name, value in vars(alone).items():
        assert torch.equal(value[0], getattr(together, name)[1]), name
    assert not any((row == 0).all() for row in together.asked[0].mT)  # the padding is not seen
    spans = [torch.linalg.svd(lane).Vh[:9] for lane in together.asked]
    assert torch.linalg.svdvals(spans[0] @ spans[1].mT).amin() < 0.9
    drawn = (posterior(SOFTPLUS, FeatureWorld.drawn(SOFTPLUS, s), 0.0, s) for s in ([7], [4, 7]))
    torch.testing.assert_close(*(x.mean[-1] for x in drawn), rtol=1e-9, atol=1e-9)


def test_bandits_end_and_the_ring_goes_on_by_its_policy():
    for config in (LINEAR, RING):
        env, world = feature_worlds.FeatureLanes(config, [1, 2]), FeatureWorld.drawn(config, [1, 2])
        obs, valid = env.reset()
        for t in range(5):
            action = valid.long().argmax(-1)
            assert torch.equal(action, world.action[:, t])
            torch.testing.assert_close(obs, world.obs[:, t].float())
            out = env.step(action)
            torch.testing.assert_close(out.reward, world.reward[:, t].float())
            assert out.terminated.all() == (config is LINEAR)
            if config is RING:
                torch.testing.assert_close(out.next_obs, world.following[:, t].float())
                assert torch.equal(out.next_valid.long().argmax(-1), world.policy)
            obs, valid = out.obs, out.valid
        with pytest.raises(ValueError, match="the one action that is valid"):
            env.step(1 - valid.long().argmax(-1))


# -- scores ----------------------------------------------------------------------------------------


def test_no_factor_changes_what_a_statement_s_shape_and_order_are_worth():
    """Of widths near .01, a factor of 1/316 leaves none above the least that are told apart."""
    truth = exact_truth(LINEAR, 0.0, [0])
    away = torch.randn(1, ASKED, ACTIONS, generator=torch.Generator().manual_seed(0))
    stated = Uncertainty(mean=away, epistemic_var=(0.01 * (0.5 * away).exp()) ** 2)
    found = truth.scores(stated, None)
    form = float(found["shape"] + found["unseen"])
    for k in range(len(SIZES)):
        sized = found[f"decisions@{k}"] + found[f"joint@{k}"]
        assert float(4 * found[f"score@{k}"] - sized) == pytest.approx(form, abs=1e-5), k


def test_independent_marginals_are_worth_less_than_the_joint_law():
    exact = posterior(LINEAR, FeatureWorld.drawn(LINEAR, range(5)), 0.0, range(5))
    independent = torch.diag_embed(exact.std.square())
    assert (joint(exact.covariance, exact) > 0.999).all()
    assert (joint(independent, exact) < 0.7).all()


# -- linear UBE ------------------------------------------------------------------------------------


def test_linear_ube_is_exact_of_rewards_and_no_bound_of_values_where_states_share_weights():
    """O'Donoghue et al. 2018, section 4, against the variance of ridge regression in closed form.

    ν = φᵀ Σ_a φ is the exact variance of a mean reward. u adds it up along the ring as if rewards
    were independent; they share weights, their covariance is positive, and u lies below.
    """
    seeds = range(20)
    world = FeatureWorld.drawn(RING, seeds)
    counts = InverseCounts(len(seeds), ACTIONS, WIDTH, 1.0, torch.device("cpu"))
    for part in zip(world.obs.split(16, 1), world.action.split(16, 1), strict=True):
        counts.update(*part)
    inverse = counts.matrices.unflatten(0, (len(seeds), ACTIONS))

    def local(states: Tensor, sigma: Tensor) -> Tensor:
        return torch.einsum("lmf,lfg,lmg->lm", states, sigma, states)

    nu = torch.stack([local(world.asked, inverse[:, a]) for a in range(ACTIONS)], -1).flatten(1)
    exact = {g: posterior(RING, world, g, seeds).std.square() for g in (0.0, 0.7, 0.9)}
    torch.testing.assert_close(nu, exact[0.0], rtol=1e-6, atol=0)
    turn = turn_of(world.obs, world.following)
    for discount, share in ((0.7, 0.61), (0.9, 0.33)):
        states, later = world.asked, torch.zeros(len(seeds), ASKED, dtype=torch.float64)
        for k in range(1, 200):
            states = states @ turn
            of_policy = inverse[torch.arange(len(seeds)), world.policy]
            later += discount ** (2 * k) * local(states, of_policy)
        ratio = (nu.unflatten(1, (ASKED, ACTIONS)) + later[..., None]).flatten(1) / exact[discount]
        assert ratio.mean() == pytest.approx(share, abs=0.03)
        assert ratio.max() < 1
