"""Bets and ledges: exact CVaR, the best policy against all others, and who scores what."""

import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor
from uqbench_profile import risk_truth
from uqbench_profile.bandit_agents import Climatology
from uqbench_profile.psrl import DeepSeaPSRL
from uqbench_profile.risk_bets import BestForCVaR, RiskBets
from uqbench_profile.risk_truth import ALPHA, best_for_cvar, best_for_mean, cvar, exact_truth
from uqbench_profile.risk_worlds import BOLD, CAUTIOUS, WORLDS
from uqbench_profile.rows import oracle

from uqbench.agent import Agent, EnvironmentInfo, Uncertainty
from uqbench.builtin.configs import ConstantActionConfig, UniformRandomConfig
from uqbench.builtin.trivial import ConstantAction, UniformRandom
from uqbench.environment import TimeLimit
from uqbench.registry import Host
from uqbench.specs import NoConfig
from uqbench.suites import method_config, read_suites

CPU = torch.device("cpu")
STATES = WORLDS.end
SEEDS = range(400)
Law = dict[float, float]
"""Probabilities by amount of money."""


def outcomes(state: int, action: int) -> list[tuple[float, float, int]]:
    """Probability, reward and next state of each of the two."""
    tables = (WORLDS.p, WORLDS.reward, WORLDS.after)
    return list(zip(*(table[state, action].tolist() for table in tables), strict=True))


def law(state: int, policy: Tensor, discount: float = 1.0) -> Law:
    """Of the money that a policy ``[M]`` still wins, by going through all that may happen."""
    return of_action(state, int(policy[state]), policy, discount) if state < STATES else {0.0: 1.0}


def of_action(state: int, action: int, policy: Tensor, discount: float = 1.0) -> Law:
    found: Law = {}
    for p, reward, after in outcomes(state, action):
        for later, chance in law(after, policy, discount).items() if p else ():
            won = round(reward + discount * later, 9)
            found[won] = found.get(won, 0.0) + p * chance
    return found


def mean(of: Law) -> float:
    return sum(p * won for won, p in of.items())


def std(of: Law) -> float:
    return math.sqrt(sum(p * (won - mean(of)) ** 2 for won, p in of.items()))


def worst_quarter(of: Law) -> float:
    left, total = ALPHA, 0.0
    for won, p in sorted(of.items()):
        total += won * min(p, left)
        left -= min(p, left)
    return total / ALPHA


def perfect(value: Callable[[Law], float]) -> Tensor:
    """``[M]``: who knows all laws, and in each state takes what its own measure prefers."""
    policy = torch.zeros(STATES, dtype=torch.int64)
    for state in reversed(range(STATES)):
        cautious, bold = (value(of_action(state, a, policy)) for a in (CAUTIOUS, BOLD))
        policy[state] = BOLD if bold > cautious + 1e-9 else CAUTIOUS
    return policy


def score(policy: Tensor) -> float:
    return float(risk_truth.risk_control(policy[None]))


# --- truth ---------------------------------------------------------------------------------------


def test_the_cvar_of_a_policy_is_that_of_all_that_may_happen() -> None:
    policies = torch.randint(2, (20, STATES), generator=torch.Generator().manual_seed(0))
    for policy, found in zip(policies, cvar(policies), strict=True):
        expected = [worst_quarter(law(int(start), policy)) for start in WORLDS.starts]
        assert found.tolist() == pytest.approx(expected, abs=1e-9)


def test_the_best_policy_has_the_highest_cvar_of_all_deterministic_ones_in_every_variant() -> None:
    best = best_for_cvar()
    for number in range(len(WORLDS.starts)):
        own = (WORLDS.variant == number).nonzero()[:, 0]
        every = torch.tensor(list(product((0, 1), repeat=len(own))))
        policies = best.expand(len(every), -1).clone()
        policies[:, own] = every
        highest = cvar(policies)[:, number].max()
        assert float(cvar(best[None])[0, number]) == pytest.approx(float(highest), abs=1e-12)


def test_the_best_policy_for_the_mean_has_the_highest_mean_of_all_deterministic_ones() -> None:
    truth = exact_truth(NoConfig(), 1.0, [0])
    value, other = (truth.evaluate(x[None]).q[0].amax(-1) for x in (best_for_mean(), perfect(mean)))
    torch.testing.assert_close(other, value, rtol=0, atol=1e-12)
    policies = torch.randint(2, (500, STATES), generator=torch.Generator().manual_seed(0))
    assert (truth.evaluate(policies).q.amax(-1) <= value + 1e-12).all()


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_moments_of_the_return_are_those_of_what_may_happen(discount: float) -> None:
    policy = torch.randint(2, (STATES,), generator=torch.Generator().manual_seed(1))
    found = exact_truth(NoConfig(), discount, [0]).evaluate(policy[None])
    for state, action in product(range(STATES), (CAUTIOUS, BOLD)):
        of = of_action(state, action, policy, discount)
        assert float(found.q[0, state, action]) == pytest.approx(mean(of), abs=1e-8)
        assert float(found.return_var[0, state, action]) == pytest.approx(std(of) ** 2)


def test_the_money_in_a_state_is_what_was_won_on_the_way_to_it() -> None:
    reached = {int(start): 0.0 for start in WORLDS.starts}
    for state in range(STATES):
        assert float(WORLDS.money[state]) == pytest.approx(reached[state])
        for action, other in product(range(2), range(2)):
            after = int(WORLDS.after[state, action, other])
            if after != STATES and WORLDS.p[state, action, other] > 0:
                assert after > state
                won = float(WORLDS.money[state] + WORLDS.reward[state, action, other])
                assert reached.setdefault(after, won) == pytest.approx(won)


# --- what the score says -------------------------------------------------------------------------


def test_who_goes_by_the_mean_has_0_the_best_for_cvar_1_and_by_another_measure_part_of_it() -> None:
    """Nested CVaR, which forgets the money that was won, and the mean less standard deviations."""
    assert score(perfect(mean)) == score(best_for_mean()) == 0.0
    assert score(best_for_cvar()) == 1.0
    assert score(perfect(worst_quarter)) == pytest.approx(0.663, abs=1e-3)
    assert score(perfect(lambda of: mean(of) - 0.5 * std(of))) == pytest.approx(0.768, abs=1e-3)
    assert score(perfect(lambda of: mean(of) - std(of))) == pytest.approx(0.663, abs=1e-3)
    assert score(perfect(min)) == pytest.approx(-0.246, abs=1e-3)  # afraid of anything


def test_the_best_policy_looks_at_the_money() -> None:
    """In the second bet it gambles after a loss alone, with the same choices after both."""
    start = int(WORLDS.starts[1])
    assert torch.equal(WORLDS.reward[start + 1], WORLDS.reward[start + 2])
    assert best_for_cvar()[start + 1 : start + 3].tolist() == [BOLD, CAUTIOUS]


def test_caution_is_right_in_some_variants_and_costs_in_others() -> None:
    careful = torch.full((STATES,), CAUTIOUS)
    by_mean, best, careful = cvar(torch.stack([best_for_mean(), best_for_cvar(), careful]))
    assert ((best - by_mean > 0.3).sum(), (best - careful > 0.2).sum()) == (3, 4)


def test_nothing_can_be_gained_by_what_is_stated() -> None:
    truth, policy = exact_truth(NoConfig(), 1.0, [0]), best_for_mean()[None]
    stated = Uncertainty(mean=torch.ones(1, STATES, 2), aleatoric_var=torch.zeros(1, STATES, 2))
    assert truth.scores is not None
    assert truth.scores(stated, policy) == truth.scores(Uncertainty(), policy)


# --- rows ----------------------------------------------------------------------------------------


def info() -> EnvironmentInfo:
    return EnvironmentInfo(RiskBets.observation_space, 2, 1.0, total_steps=4_000)


def asked(agent: Agent) -> Tensor:
    """Scores ``[L]`` of an agent's policy."""
    truth = exact_truth(NoConfig(), 1.0, SEEDS)
    assert truth.scores is not None
    policy = agent.policy(truth.obs.expand(len(SEEDS), *truth.obs.shape))
    return truth.scores(Uncertainty(), policy)["risk_control"]


def test_the_oracle_has_at_least_095_and_what_learns_nothing_at_most_005() -> None:
    made = oracle(info(), SEEDS, NoConfig(), CPU)
    assert isinstance(made, BestForCVaR)
    assert asked(made).min() >= 0.95
    assert asked(UniformRandom(info(), SEEDS, UniformRandomConfig(), CPU)).mean() <= 0.05
    assert asked(Climatology(info(), SEEDS, NoConfig(), CPU)).max() <= 0.05
    for action in (CAUTIOUS, BOLD):
        constant = ConstantAction(info(), SEEDS, ConstantActionConfig(action=action), CPU)
        assert asked(constant).max() <= 0.05


def test_untrained_networks_have_at_most_005() -> None:
    """As `untrained` of uqbench-dqn, over 400 seeds."""
    host = Host.load()
    suite = read_suites(host, check=()).suite("profile")
    method = next(one for one in suite.methods if one.name == "untrained")
    budget = ("paper", suite.budgets["paper"])
    config = method_config(method, suite.task("risk-bets"), host, where="untrained", budget=budget)
    assert asked(method.spec(host).load_factory()(info(), SEEDS, config, CPU)).mean() <= 0.05


def test_the_oracle_of_a_sea_is_no_other_than_before() -> None:
    side = math.isqrt(STATES + 1)
    assert side**2 != STATES + 1  # no sea has observations of that size
    sea = EnvironmentInfo(type(RiskBets.observation_space)(0, 1, (36,)), 2, 0.99, total_steps=100)
    assert isinstance(oracle(sea, [0], NoConfig(), CPU), DeepSeaPSRL)


def test_methods_with_a_law_of_returns_mind_risk_in_the_bets_alone() -> None:
    host = Host.load()
    suite = read_suites(host, check=()).suite("profile")
    for name in ("qr-dqn", "c51"):
        method = next(one for one in suite.methods if one.name == name)
        for task in suite.tasks:
            config = method_config(method, task, host, where=name)
            assert (config.risk is not None) == (task.name == "risk-bets")


# --- the environment -----------------------------------------------------------------------------


def test_what_follows_an_action_is_as_often_as_the_table_says() -> None:
    """Of 20,000 lanes; five standard errors of a share."""
    lanes = 20_000
    env = RiskBets(NoConfig(), range(lanes))
    obs, valid = env.reset()
    state, action = obs[:, :-1].argmax(-1), valid.long().argmax(-1)
    assert (valid.sum(-1) == 1).all()
    torch.testing.assert_close(obs[:, -1].double(), WORLDS.money[state], rtol=0, atol=1e-6)
    out = env.step(action)
    on = out.next_obs[:, :-1].any(-1)
    following = torch.where(on, out.next_obs[:, :-1].argmax(-1), STATES)
    assert torch.equal(on, ~out.terminated)
    assert out.next_valid is not None
    assert out.valid is not None
    assert out.next_valid.all()
    assert ((out.valid.sum(-1) == 2) == on).all()
    torch.testing.assert_close(out.next_obs[:, -1], obs[:, -1] + out.reward)
    for s, a in product(range(STATES), (CAUTIOUS, BOLD)):
        of = (state == s) & (action == a)
        n = int(of.sum())
        assert abs(n / lanes - 1 / (2 * STATES)) < 5 * math.sqrt(1 / (2 * STATES) / lanes)
        for p, reward, after in outcomes(s, a):
            same = (out.reward[of] - reward).abs() < 1e-6
            share = float((same & (following[of] == after)).double().mean())
            assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / n) + 1e-9 or p == 0


def test_episodes_end_at_a_time_limit_and_an_action_that_was_not_chosen_is_refused() -> None:
    env = RiskBets(NoConfig(), range(200), TimeLimit(1, "truncation"))
    _, valid = env.reset()
    out = env.step(valid.long().argmax(-1))
    assert (out.terminated ^ out.truncated).all()
    assert out.truncated.any()
    _, valid = env.reset()
    with pytest.raises(ValueError, match="expected actions that are valid"):
        env.step(1 - valid.long().argmax(-1))
