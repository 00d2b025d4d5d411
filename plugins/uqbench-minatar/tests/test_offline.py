"""Offline play: the log is the game's, its policies are those given, and truths are rolled out."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from uqbench_minatar.config import N_ACTIONS, OfflineConfig
from uqbench_minatar.lanes import MinAtarLanes
from uqbench_minatar.offline.lanes import EXPERT, POOR, OfflineGame, asked, game_config
from uqbench_minatar.offline.policies import DISCOUNT, EPSILONS, POLICIES, probabilities, scripted
from uqbench_minatar.offline.truth import constant, exact_truth, scores, table
from uqbench_minatar.tools.offline_truth import GAMES, STATES, reached, returns

from uqbench.agent import Uncertainty
from uqbench.uncertainty.epistemic import crps_distance

SEEDS = [7, 8, 9]


@pytest.mark.parametrize("game", GAMES)
def test_the_log_is_a_game_that_the_same_actions_make_and_asks_of_one_policy(game):
    env = OfflineGame(OfflineConfig(game=game), SEEDS)
    plain = MinAtarLanes(game_config(game), SEEDS)
    obs, valid = env.reset()
    plain.reset()
    policies = []
    for _ in range(300):
        assert (valid.sum(-1) == 1).all()
        policy = obs[:, -1, :, 0].long().argmax(-1)
        assert torch.equal(obs, asked(plain.outcome.obs, policy))
        action = valid.long().argmax(-1)
        out, same = env.step(action), plain.step(action)
        assert torch.equal(out.reward, same.reward)
        assert torch.equal(out.terminated, same.terminated)
        assert torch.equal(out.truncated, ~same.terminated)
        assert torch.equal(out.next_obs, asked(same.next_obs, policy))  # of the same policy
        sure = out.next_valid.long().argmax(-1) == scripted(game, same.next_obs)
        assert sure[policy == 0].all()  # no action of the script itself is random
        policies += policy.tolist()
        obs, valid = out.obs, out.valid
    assert sorted(set(policies)) == list(range(POLICIES))


@pytest.mark.parametrize(("coverage", "share"), [("expert", 1 - 2 / 9 * 5 / 6), ("poor", 1 / 6)])
def test_who_logs_takes_the_script_s_action_as_often_as_stated(coverage, share):
    """Independent draws, 3,000 of them: a difference of five standard errors has p 6e-7."""
    assert (EPSILONS[EXPERT], EPSILONS[POOR]) == (2 / 9, 1)
    env = OfflineGame(OfflineConfig(game="breakout", coverage=coverage), SEEDS)
    obs, valid = env.reset()
    same, steps = 0, 1_000
    for _ in range(steps):
        action = valid.long().argmax(-1)
        same += int((action == scripted("breakout", obs[:, :-1])).sum())
        out = env.step(action)
        obs, valid = out.obs, out.valid
    n = steps * len(SEEDS)
    assert abs(same / n - share) < 5 * math.sqrt(share * (1 - share) / n)


def test_a_log_goes_on_where_it_was_saved_and_refuses_other_actions():
    env, other = (OfflineGame(OfflineConfig(game="space_invaders"), SEEDS) for _ in range(2))
    _, valid = env.reset()
    other.reset()
    for _ in range(70):
        valid = env.step(valid.long().argmax(-1)).valid
    other.load_state_dict(env.state_dict())
    for _ in range(70):
        action = valid.long().argmax(-1)
        own, again = env.step(action), other.step(action)
        for name in ("reward", "terminated", "truncated", "obs", "next_obs", "valid", "next_valid"):
            assert torch.equal(getattr(own, name), getattr(again, name)), name
        valid = own.valid
    with pytest.raises(ValueError, match="expected the logged actions"):
        env.step((valid.long().argmax(-1) + 1) % N_ACTIONS)


def test_policies_weigh_the_script_s_action_and_all_alike():
    found = probabilities(torch.tensor([4]))[0]
    torch.testing.assert_close(found.sum(-1), torch.ones(POLICIES, dtype=torch.float64))
    assert found[0].tolist() == [0, 0, 0, 0, 1, 0]
    torch.testing.assert_close(found[-1], torch.full((N_ACTIONS,), 1 / 6, dtype=torch.float64))
    assert float(found[3, 4]) == pytest.approx(2 / 3 + 1 / 3 / 6)


@pytest.mark.parametrize(
    "game", [GAMES[0], *(pytest.param(game, marks=pytest.mark.long) for game in GAMES[1:])]
)
def test_the_tables_are_what_fresh_rollouts_have(game):
    """1,440 values from other random numbers: none is six standard errors off; p 3e-6."""
    kept, states = table(game), reached(game)
    assert torch.equal(states.outcome.obs, kept.frames)
    sampled = returns(states, game, 40, "other")
    error = (sampled.var(-1) / 40 + kept.q_var).sqrt().clamp(min=0.02)
    assert float(((sampled.mean(-1) - kept.q) / error).abs().max()) < 6
    assert kept.q.shape == (STATES, POLICIES, N_ACTIONS)
    script = scripted(game, kept.frames)
    values = kept.values(script)  # the more of the script's actions are random, the worse
    assert values[0] > 0.9 * values.max()
    assert (values[2:].diff() < 0).all()


def test_scores_of_the_truth_are_the_best_and_silence_has_none():
    game = "breakout"
    of = table(game)
    script, q = scripted(game, of.frames), of.q.flatten(0, 1)[None]
    sure = scores(Uncertainty(mean=q, epistemic_var=torch.zeros_like(q)), of, script)
    assert sure["bounds_hold"].tolist() == [1.0]
    high = scores(Uncertainty(mean=q + 1, epistemic_var=torch.full_like(q, 0.01)), of, script)
    assert high["bounds_hold"].tolist() == [0.0]  # 1 above, bounds .128 below
    silent = scores(Uncertainty(mean=q), of, script)
    assert {k: float(v) for k, v in silent.items()} == {
        "pairs_wrong": 0, "pairs_risk": 0, "pairs_gain": 0}  # fmt: skip
    without_end = Uncertainty(mean=q + 1, epistemic_var=torch.full_like(q, torch.inf))
    endless = scores(without_end, of, script)
    assert endless["bounds_hold"].tolist() == [1.0]  # of all ten, not of the nine that are random
    # half a unit too high: bounds hold where samples move together, by one unit; not where each
    # moves by itself, since a policy's value is the mean of 144 entries
    rng = np.random.default_rng(0)
    shift, each = (torch.from_numpy(rng.normal(size=n)) for n in (200, (*q.shape, 200)))
    drawn = ((q + 0.5)[..., None] + by for by in (shift, each))
    held = [scores(Uncertainty(mean=q + 0.5, value_samples=x), of, script) for x in drawn]
    assert [one["bounds_hold"].tolist() for one in held] == [[1.0], [0.0]]
    # who states variances, too, says with them how wide: a hundredth of the samples' is too narrow
    both = Uncertainty(q + 0.5, 1e-4 * (shift.var() * torch.ones_like(q)))
    narrow = replace(both, value_samples=(q + 0.5)[..., None] + shift)
    assert scores(narrow, of, script)["bounds_hold"].tolist() == [0.0]


@pytest.mark.parametrize("game", GAMES)
def test_no_one_law_of_all_values_has_a_score_above_that_of_the_climatology(game):
    of = table(game)
    q, noise = of.q.flatten(), of.q_var.flatten()

    def loss(mean, std):
        return float(crps_distance(mean - q, torch.full_like(q, std), noise).mean())

    known = constant(of)
    others = [
        loss(mean, float(q.std()) * size)
        for mean in (0.0, float(q.mean()), *q.quantile(torch.arange(1, 10).double() / 10).tolist())
        for size in (0.01, 0.1, 0.2, 0.5, 0.8, 1.0, 1.5)
    ]
    assert 1 - min(others) / loss(known.mean, known.std) < 0.005  # the truth's noise is not in it


def test_the_truth_is_asked_at_every_state_and_policy_and_other_discounts_are_refused():
    config = OfflineConfig(game="breakout")
    exact = exact_truth(config, DISCOUNT, SEEDS)
    assert exact.obs.shape == (STATES * POLICIES, 5, 10, 10)
    assert exact.evaluate(torch.zeros(3, 240)).q.shape == (3, STATES * POLICIES, N_ACTIONS)
    number = exact.obs[:, -1, :, 0].long().argmax(-1)
    assert torch.equal(number, torch.arange(POLICIES).repeat(STATES))
    with pytest.raises(ValueError, match="expected the discount of the tables"):
        exact_truth(config, 0.99, SEEDS)
