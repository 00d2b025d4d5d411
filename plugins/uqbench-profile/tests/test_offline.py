"""Offline values: logged data, exact posteriors of given policies, scores of widths."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from uqbench_dqn.sizes import SIZES
from uqbench_profile import offline_worlds
from uqbench_profile.config import OfflineBayesConfig, OfflineConfig
from uqbench_profile.feature_worlds import ACTIONS, SIGMA, WIDTH
from uqbench_profile.offline_agents import OfflineBayes
from uqbench_profile.offline_scores import best_value, chosen, exact_truth, posterior, value_of
from uqbench_profile.offline_worlds import DISCOUNT, LENGTH, POLICIES, STATES, OfflineWorld

from uqbench.agent import EnvironmentInfo
from uqbench.testing.same_bits import train
from uqbench.uncertainty.interval_scores import central_interval

LOGGED = STATES * LENGTH


def walked(world: OfflineWorld, lane: int, policy: int) -> Tensor:
    """The discounted features of both actions along a policy, ``[S, A, A · F]``, step by step."""
    found = torch.zeros(STATES, ACTIONS, ACTIONS, WIDTH, dtype=torch.float64)
    for first in range(STATES):
        for start in range(ACTIONS):
            state, action = first, start
            for t in range(250):
                found[first, start, action] += DISCOUNT**t * world.features[lane, state]
                state = int(world.successor[lane, state, action])
                action = int(world.policies[lane, policy, state])
    return found.flatten(2)


def test_values_and_their_posterior_are_those_of_walking_and_of_conditioning_on_the_rewards():
    world = OfflineWorld.drawn(OfflineConfig(), [3])
    found = posterior(world, DISCOUNT)
    shown = torch.zeros(LOGGED, ACTIONS, WIDTH, dtype=torch.float64)
    shown[torch.arange(LOGGED), world.action[0]] = world.features[0, world.state[0]]
    shown = shown.flatten(1)
    gram = shown @ shown.mT + SIGMA**2 * torch.eye(LOGGED, dtype=torch.float64)
    for policy in (0, 7):
        asked = walked(world, 0, policy).flatten(0, 1)
        own = slice(policy * STATES * ACTIONS, (policy + 1) * STATES * ACTIONS)
        gain = torch.linalg.solve(gram, shown @ asked.mT).mT
        torch.testing.assert_close(found.mean[0, own], gain @ world.reward[0], rtol=0, atol=1e-6)
        covariance = asked @ asked.mT - gain @ shown @ asked.mT
        torch.testing.assert_close(found.covariance[0, own, own], covariance, rtol=0, atol=1e-6)
        true = world.values(DISCOUNT)[0, policy].flatten()
        torch.testing.assert_close(true, asked @ world.weights[0].flatten(), rtol=0, atol=1e-6)


LONG = [pytest.param(one, marks=pytest.mark.long) for one in ("expert", "mixed")]


@pytest.mark.parametrize("coverage", ["poor", *LONG])  # one law: `tox -e long` checks the others
def test_the_oracle_knows_the_posterior_from_what_it_sees_and_its_intervals_cover(coverage):
    """90 % of 4,800 values of 10 worlds, dependent: within 10 %. Constants have no shape."""
    seeds, config = range(100, 110), OfflineConfig(coverage=coverage)
    world, truth = OfflineWorld.drawn(config, seeds), exact_truth(config, DISCOUNT, seeds)
    env = offline_worlds.OfflineLanes(config, seeds)
    info = EnvironmentInfo(env.observation_space, ACTIONS, DISCOUNT, LOGGED * POLICIES + 5)
    agent = OfflineBayes(info, [s + 999 for s in seeds], OfflineBayesConfig(), torch.device("cpu"))
    *_, last = train(agent, env, LOGGED * POLICIES + 5)
    assert not last.obs.any()  # rest
    exact, stated = posterior(world, DISCOUNT), agent.uncertainty(truth.obs)
    assert (stated.mean.flatten(1) - exact.mean).abs().max() < 1e-4
    assert (stated.epistemic_var.sqrt().flatten(1) / exact.std - 1).abs().max() < 1e-4
    z = (exact.mean - world.values(DISCOUNT).flatten(1)) / exact.std
    assert (z.abs() < 1.645).double().mean() == pytest.approx(0.9, abs=0.1)
    low, high = central_interval(stated, 0.9)  # of samples, which are many
    q = world.values(DISCOUNT).flatten(1, 2)
    assert ((low <= q) & (q <= high)).double().mean() == pytest.approx(0.9, abs=0.1)
    scored = truth.scores(stated, torch.zeros(0))
    assert scored["shape"].min() > 0.999
    assert scored["scale"].abs().max() < 1e-3
    assert scored["skill"].min() > 0.99  # of rounding to float32
    middle = len(SIZES) // 2
    assert torch.equal(scored[f"skill@{middle}"], scored["skill"])
    assert scored[f"skill@{middle - 4}"].max() < 0.99
    wrong = replace(stated, mean=stated.mean + 1e6, value_samples=None)
    assert truth.scores(wrong, torch.zeros(0))["skill"].min() > 0.99  # of widths alone
    agent.config = OfflineBayesConfig(width="constant")
    constant = truth.scores(agent.uncertainty(truth.obs), torch.zeros(0))
    assert constant["shape"].abs().max() < 1e-6
    best = torch.stack([x for name, x in constant.items() if name.startswith("skill@")]).amax(0)
    assert best.max() < 0.05  # one between those that are tried may be a little better
    assert best.min() > -0.2
    agent.config = OfflineBayesConfig(width="silent")
    silent = truth.scores(agent.uncertainty(truth.obs), torch.zeros(0))
    names = {name for name in silent if "@" not in name}
    assert names == {"selection_by_mean", "pessimism_by_mean", "skill"}


def test_each_transition_is_shown_once_for_every_policy_with_that_policy_s_next_action():
    config = OfflineConfig(coverage="mixed")
    env, world = offline_worlds.OfflineLanes(config, [1, 2]), OfflineWorld.drawn(config, [1, 2])
    obs, valid = env.reset()
    counts = torch.zeros(2, POLICIES, STATES)
    for _ in range(LOGGED * POLICIES):
        action = valid.long().argmax(-1)
        out = env.step(action)
        for lane in range(2):
            policy = int(obs[lane, WIDTH:].argmax())
            away = (world.features[lane].float() - obs[lane, :WIDTH]).norm(dim=-1)
            state = int(away.argmin())
            after = int(world.successor[lane, state, action[lane]])
            counts[lane, policy, state] += 1
            assert away[state] < 1e-6
            features = world.features[lane, after].float()
            torch.testing.assert_close(out.next_obs[lane, :WIDTH], features)
            assert int(out.next_valid[lane].long().argmax()) == world.policies[lane, policy, after]
        assert out.truncated.all()
        obs, valid = out.obs, out.valid
    assert (counts == counts[:, :1]).all()
    assert (counts.sum(-1) == LOGGED).all()
    assert env.step(torch.zeros(2, dtype=torch.int64)).terminated.all()


def test_data_are_logged_by_whom_the_coverage_says():
    """After a trajectory's first four actions in five are the behaviour's, and half the others."""
    for coverage in ("expert", "poor"):
        world = OfflineWorld.drawn(OfflineConfig(coverage=coverage), range(20))
        values = offline_worlds.policy_values(world, DISCOUNT)
        who = values.argmax(-1) if coverage == "expert" else values.argmin(-1)
        own = world.policies[torch.arange(20), who].gather(-1, world.state)
        later = torch.arange(LOGGED) % LENGTH > 0
        assert (own == world.action)[:, later].double().mean() == pytest.approx(0.9, abs=0.03)


def test_lanes_do_not_depend_on_each_other():
    config = OfflineConfig()
    together, alone = OfflineWorld.drawn(config, [4, 7]), OfflineWorld.drawn(config, [7])
    for name, value in vars(alone).items():
        assert torch.equal(value[0], getattr(together, name)[1]), name


def test_no_policy_is_better_than_the_best_and_each_is_worth_what_it_is():
    world = OfflineWorld.drawn(OfflineConfig(), range(5))
    values, best = offline_worlds.policy_values(world, DISCOUNT), best_value(world, DISCOUNT)
    for policy in range(POLICIES):
        own = value_of(world, world.policies[:, policy], DISCOUNT)
        torch.testing.assert_close(own, values[:, policy])
    assert (best >= values.amax(-1) - 1e-9).all()
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        actions = torch.randint(ACTIONS, (5, STATES), generator=generator)
        assert (value_of(world, actions, DISCOUNT) <= best + 1e-9).all()


def test_a_policy_is_chosen_by_the_deviation_of_its_mean_value():
    """Independent states average out; the deviations of marginals do not."""
    policies = torch.zeros(1, POLICIES, STATES, dtype=torch.int64)
    mean = torch.zeros(1, POLICIES, STATES, ACTIONS, dtype=torch.float64)
    mean[0, 3], mean[0, 5] = 1.0, 0.9
    std = torch.full_like(mean, 0.01)
    std[0, 3] = 1.0
    assert chosen(mean, torch.zeros_like(std), None, policies).tolist() == [3]
    assert chosen(mean, std, None, policies).tolist() == [5]
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(*mean.shape, 400, generator=generator, dtype=torch.float64)
    together = noise[:, :, :1].expand_as(noise)
    drawn = [mean[..., None] + std[..., None] * z for z in (noise * 0.1, together)]
    assert [int(chosen(mean, std, one, policies)) for one in drawn] == [3, 5]
