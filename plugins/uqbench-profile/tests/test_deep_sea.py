"""DeepSea: one way in 2^N pays, and what its score says of agents whose skill is known."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from uqbench_profile.config import DeepSeaConfig
from uqbench_profile.deep_sea import DeepSea, exploration_score, observations, right_actions
from uqbench_profile.deep_sea_truth import cells, exact_truth
from uqbench_profile.psrl import DeepSeaPSRL
from uqbench_profile.replay import Replay

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.builtin.configs import ConstantActionConfig, UniformRandomConfig
from uqbench.builtin.trivial import ConstantAction, UniformRandom
from uqbench.specs import NoConfig
from uqbench.testing.worlds import act, as_step

CPU = torch.device("cpu")


def make(lanes: int = 2, **settings: Any) -> DeepSea:
    return DeepSea(DeepSeaConfig(**settings), range(lanes))


def info(env: DeepSea) -> EnvironmentInfo:
    return EnvironmentInfo(env.observation_space, env.n_actions, 0.99, total_steps=10_000)


def dive(env: DeepSea, moves: tuple[int, ...]) -> Tensor:
    """Rewards ``[L]`` of an episode that goes right where ``moves`` has a one."""
    right = right_actions(env.config, range(len(env._lane)))
    obs = env.reset()[0] if env._t == 0 else env._observed(0)
    total = torch.zeros(len(obs))
    for row, move in enumerate(moves):
        assert (obs.argmax(-1) // env.config.size == row).all()
        column = obs.argmax(-1) % env.config.size
        towards = right[torch.arange(len(obs)), row, column]
        out = env.step(towards if move else 1 - towards)
        total, obs = total + out.reward, out.obs
        assert out.terminated.all() == (row == len(moves) - 1)
    if all(moves):  # the last observation shows where the dive ended
        assert (out.next_obs.argmax(-1) == env.config.size**2 - 1).all()
    assert (obs.argmax(-1) == 0).all()
    return total


def test_one_dive_in_2_to_the_n_pays_and_moves_to_the_right_cost() -> None:
    for moves in product((0, 1), repeat=5):
        env, expected = make(size=5), float(all(moves)) - 0.01 * sum(moves) / 5
        torch.testing.assert_close(dive(env, moves), torch.full((2,), expected))


def test_every_lane_has_a_map_of_its_own_and_it_is_a_fair_coin() -> None:
    maps = right_actions(DeepSeaConfig(size=20), range(100))
    assert not torch.equal(maps[0], maps[1])
    # binomial, n = 40,000: five standard deviations are 0.0125
    assert abs(maps.double().mean() - 0.5) < 0.0125


def test_a_sea_is_solved_by_the_fifth_goal_of_ten_and_scored_once() -> None:
    assert exploration_score(DeepSeaConfig(size=3), 13) == 0.0
    env = make(1, size=6)
    env.reset()
    right = right_actions(env.config, range(1))
    for episode in range(1, 12):
        for row in range(6):
            out = env.step(right[:, row, row] if episode > 3 else 1 - right[:, row, 0])
        expected = exploration_score(env.config, 8) if episode == 8 else 0.0
        assert out.events["exploration"].item() == pytest.approx(expected)


def test_the_score_is_0_at_dithering_and_1_at_posterior_sampling() -> None:
    config = DeepSeaConfig(size=10)
    assert exploration_score(config, 1024) == 0.0
    assert exploration_score(config, 10) == pytest.approx(1.0)
    assert exploration_score(config, 5_000) == 0.0
    assert exploration_score(config, round((1024 * 10) ** 0.5)) == pytest.approx(0.5, abs=0.01)
    assert exploration_score(DeepSeaConfig(size=10, television=True), 3**10) == 0.0


def scored(agent: Agent, env: DeepSea, episodes: int, event: str = "exploration") -> Tensor:
    """``[L]`` sums of an event."""
    obs, _ = env.reset()
    total = torch.zeros(len(obs))
    for _ in range(episodes * env.config.size):
        action = act(agent, obs)
        out = env.step(action)
        agent.observe(as_step(obs, action, out))
        total, obs = total + out.events[event], out.obs
    return total


@pytest.mark.parametrize("settings", [{}, {"noise": 1.0}, {"television": True}])
@pytest.mark.parametrize("size", [6, 14])
def test_the_oracle_has_a_score_of_1_and_what_learns_nothing_of_0(settings, size):
    """Over 400 seas: the oracle's mean within [.95, 1.15]; no other solves one (p < 1e-4)."""
    config = DeepSeaConfig(size=size, **settings)
    env = DeepSea(config, range(400))
    known = info(env)
    oracle = scored(DeepSeaPSRL(known, range(400), NoConfig(), CPU), env, size + 6)
    assert (oracle > 0).all()
    assert 0.95 <= oracle.mean() <= 1.15
    few = DeepSea(config, range(40))
    random = UniformRandom(known, range(40), UniformRandomConfig(), CPU)
    constant = ConstantAction(known, range(40), ConstantActionConfig(action=0), CPU)
    assert max(scored(idle, few, 60).max() for idle in (random, constant)) == 0.0


def test_who_repeats_the_first_dive_that_paid_solves_a_sea_four_dives_later():
    """The first of 2^N: geometric, its mean over 400 seas 16 ± 4 standard errors of .77."""
    env = DeepSea(DeepSeaConfig(size=4), range(400))
    agent = Replay(info(env), range(400), NoConfig(), CPU)
    obs, _ = env.reset()
    goals = []
    for _ in range(250):
        total = torch.zeros(400)
        for _ in range(4):
            action = act(agent, obs)
            out = env.step(action)
            agent.observe(as_step(obs, action, out))
            total, obs = total + out.events["goals"], out.obs
        goals.append(total)
    paid = torch.stack(goals).bool()
    first = paid.long().argmax(0)
    assert paid.any(0).all()
    assert all(paid[first[lane] :, lane].all() for lane in range(400))
    assert (first + 1).double().mean().item() == pytest.approx(16, abs=3.1)


def test_noise_is_in_the_last_reward_alone_and_television_pays_noise_and_leads_left() -> None:
    env = make(2_000, size=3, noise=1.0)
    env.reset()
    idle = 1 - right_actions(env.config, range(2_000))[:, :, 0]
    rewards = [env.step(idle[:, row]).reward for row in range(3)]
    assert rewards[0].abs().max() == rewards[1].abs().max() == 0
    # five standard errors of a mean and a standard deviation of 2,000 normal numbers
    assert abs(rewards[2].mean()) < 0.112
    assert abs(rewards[2].std() - 1) < 0.08
    env = make(2_000, size=3, television=True)
    env.reset()
    env.step(right_actions(env.config, range(2_000))[:, 0, 0])
    watched = env.step(torch.full((2_000,), 2))
    assert (watched.next_obs.argmax(-1) == 2 * 3).all()
    assert abs(watched.reward.mean()) < 0.112
    assert abs(watched.reward.std() - 1) < 0.08


@pytest.mark.parametrize("settings", [{}, {"noise": 1.0}, {"television": True}])
def test_values_of_a_policy_are_what_its_dives_pay(settings: dict[str, Any]) -> None:
    """From every cell after every action, by playing on; noise apart, whose variance is counted."""
    config = DeepSeaConfig(size=4, **settings)
    truth, reached = exact_truth(config, 0.9, range(3)), cells(4)
    generator = torch.Generator().manual_seed(0)
    policy = torch.randint(config.n_actions, (3, len(reached)), generator=generator)
    found = truth.evaluate(policy)
    assert truth.obs.argmax(-1).tolist() == reached
    for number, cell in enumerate(reached):
        for action in range(config.n_actions):
            env = DeepSea(config, range(3))
            env.reset()
            env._row, env._column = cell // 4, torch.full((3,), cell % 4)
            taken, total, var = torch.full((3,), action), torch.zeros(3), torch.zeros(3)
            for ahead in range(4 - cell // 4):
                last = env._row == 3
                noise = env._normal.at(env._t) * (config.noise * last + (taken == 2))
                out = env.step(taken)
                total += 0.9**ahead * (out.reward - noise)
                var += 0.9 ** (2 * ahead) * (config.noise * last + (taken == 2)) ** 2
                if not last:
                    at = [reached.index(int(c)) for c in out.obs.argmax(-1)]
                    taken = policy[torch.arange(3), at]
            torch.testing.assert_close(found.q[:, number, action].float(), total)
            torch.testing.assert_close(found.return_var[:, number, action].float(), var)


def test_the_score_is_whether_the_policy_reaches_the_goal() -> None:
    config = DeepSeaConfig(size=5)
    truth, right = exact_truth(config, 0.9, range(2)), right_actions(config, range(2))
    policy = right.flatten(1)[:, cells(5)]
    assert truth.scores(None, policy)["score"].tolist() == [1.0, 1.0]
    policy[1, cells(5).index(3 * 5 + 3)] = 1 - policy[1, cells(5).index(3 * 5 + 3)]
    assert truth.scores(None, policy)["score"].tolist() == [1.0, 0.0]


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="size ≥ 2, got 1"):
        DeepSeaConfig(size=1)
    with pytest.raises(ValueError, match="noise must not be negative, got -1"):
        DeepSeaConfig(noise=-1.0)
    env = make(size=3)
    env.reset()
    with pytest.raises(ValueError, match="expected actions 0 to 1, got"):
        env.step(torch.tensor([0, 2]))


@pytest.mark.parametrize("observed", ["pixels", "features"])
def test_cells_that_look_alike_are_told_apart_and_a_dive_pays_what_it_pays_one_hot(observed):
    """Same seeds, same actions: the same rewards and ends; each lane's looks are its own."""
    plain, other = DeepSeaConfig(size=6), DeepSeaConfig(size=6, observed=observed)
    seen = observations(other, [3, 4])
    for lane in seen:
        assert len(torch.unique(lane.mul(1e4).round(), dim=0)) == 36
        assert (lane @ lane.mT).fill_diagonal_(0).max() > 0.5
    assert not torch.equal(seen[0], seen[1])
    assert torch.equal(observations(other, [4])[0], seen[1])
    one, two = DeepSea(plain, [3, 4]), DeepSea(other, [3, 4])
    first, second = one.reset()[0], two.reset()[0]
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        assert torch.equal(second, seen[torch.arange(2), first.argmax(-1)])
        action = torch.randint(2, (2,), generator=generator)
        a, b = one.step(action), two.step(action)
        assert torch.equal(a.reward, b.reward)
        assert torch.equal(a.terminated, b.terminated)
        first, second = a.obs, b.obs
    assert torch.equal(exact_truth(other, 0.99, [3, 4]).obs, seen[:, torch.tensor(cells(6))])
