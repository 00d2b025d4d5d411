"""The decision of section 3.2: closed forms, agents, and the suite's ground truth."""

import math

import pytest
import torch
from uqbench_ube.chain import agents
from uqbench_ube.chain.config import ChainConfig, best_return, mean_returns
from uqbench_ube.chain.environment import ChainLanes
from uqbench_ube.chain.process import bonus_per_visit, uncertainty_per_visit

from uqbench.agent import EnvironmentInfo
from uqbench.environment import LaneEnv
from uqbench.lanes import Normal
from uqbench.testing.conformance.agent_runs import AgentSubject
from uqbench.testing.results import results
from uqbench.testing.worlds import act, as_step, step_of_actors

CPU = torch.device("cpu")
INFO = EnvironmentInfo(ChainLanes.observation_space, 2, 0.9, 1000)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9, 0.99])
def test_uncertainties_are_equal_and_bonuses_are_not(discount):
    """Section 3.2: u₁ = u₂ = σ²/n; the second bonus is √((1 + γ) / (1 − γ)) times the first."""
    assert uncertainty_per_visit(2.0, discount).tolist() == pytest.approx([4.0, 4.0])
    factor = math.sqrt((1 + discount) / (1 - discount))
    assert bonus_per_visit(2.0, discount).tolist() == pytest.approx([2.0, 2.0 * factor])


def test_returns_have_the_means_and_the_variance_of_the_process():
    """Against the chain itself, reward by reward. Tolerances are 4 standard errors or more."""
    config = ChainConfig(mu_1=0.5, mu_2=0.1, sigma=2.0)
    lanes = ChainLanes(config, range(20_000), None, CPU)
    returns = torch.stack([lanes.step(torch.full((20_000,), a)).reward for a in (0, 1)]).double()
    g, scale = torch.Generator().manual_seed(0), 2.0 * math.sqrt(1 - 0.9**2)
    rewards = 0.1 + scale * torch.randn(20_000, 150, generator=g).double()
    walked = (rewards * 0.9 ** torch.arange(150).double()).sum(-1)
    assert returns[1].mean().item() == pytest.approx(walked.mean().item(), abs=0.08)
    assert returns[1].mean().item() == pytest.approx(1.0, abs=0.06)
    assert returns[0].mean().item() == pytest.approx(0.5, abs=0.06)
    for drawn in (returns[0], returns[1], walked):
        assert drawn.std().item() == pytest.approx(2.0, rel=0.03)
    assert (*mean_returns(config), best_return(config)) == pytest.approx((0.5, 1.0, 1.0))


def test_every_step_ends_an_episode_and_tells_its_expected_regret():
    outcome = ChainLanes(ChainConfig(), [0, 1, 2], None, CPU).step(torch.tensor([0, 1, 1]))
    assert outcome.terminated.all()
    assert not outcome.truncated.any()
    assert outcome.events["regret"].tolist() == [0.0, 1.0, 1.0]


def decide(agent: agents.Decider, env: LaneEnv, steps: int) -> torch.Tensor:
    """Regret per episode, ``[steps, L]``."""
    obs, _ = env.reset()
    regrets = []
    for _ in range(steps):
        action = act(agent, obs)
        outcome = env.step(action)
        agent.observe(as_step(obs, action, outcome))
        regrets.append(outcome.events["regret"])
    return torch.stack(regrets)


def ube(seeds, **config) -> agents.UBEDecider:
    return agents.UBEDecider(INFO, seeds, agents.UBEDecisionConfig(**config), CPU)


def bonus(seeds, **config) -> agents.BonusDecider:
    return agents.BonusDecider(INFO, seeds, agents.BonusDecisionConfig(**config), CPU)


def test_thompson_scores_are_those_of_equation_3():
    agent, env = ube([4, 7]), ChainLanes(ChainConfig(), [0, 1], None, CPU)
    decide(agent, env, 2)
    assert agent.visits.tolist() == [[1, 1], [1, 1]]  # each action is tried once first
    decide(agent, env, 8)
    expected = agent.mean + Normal([4, 7], "ube-chain/thompson", (2,)).at(10) / agent.visits.sqrt()
    torch.testing.assert_close(agent.score(), expected, check_dtype=False)
    stated = agent.uncertainty(torch.zeros(2, 3, dtype=torch.int64))
    assert stated.epistemic_var.shape == (2, 3, 2)
    torch.testing.assert_close(stated.epistemic_var[:, 0], 1 / agent.visits)


def test_bonus_scores():
    for compounds, factor in (("deviations", math.sqrt(19)), ("variances", 1.0)):
        agent = bonus([3], beta=0.3, compounds=compounds)
        decide(agent, ChainLanes(ChainConfig(), [0], None, CPU), 9)
        scale = 0.3 * math.log(10) / agent.visits.sqrt()
        expected = agent.mean + scale * torch.tensor([1.0, factor])
        torch.testing.assert_close(agent.score(), expected)


def test_means_are_those_of_the_returns():
    agent, paid = ube([0]), [2.0, 5.0, -1.0, 3.0]
    obs, yes = torch.zeros(1, dtype=torch.int64), torch.ones(1, dtype=torch.bool)
    for t, reward in enumerate(paid):
        action = torch.tensor([int(t == 1)])
        agent.observe(step_of_actors(obs, action, torch.tensor([reward]), yes, ~yes, obs))
    assert agent.mean[0].tolist() == pytest.approx([4 / 3, 5.0])
    assert agent.policy(obs[:, None]).tolist() == [[1]]


@pytest.mark.parametrize("rule", ["agent-lanes", "agent-checkpoint"])
@pytest.mark.parametrize(
    ("factory", "config"),
    [
        (agents.UBEDecider, agents.UBEDecisionConfig()),
        (agents.BonusDecider, agents.BonusDecisionConfig()),
    ],
)
def test_agents_keep_the_rules_of_lanes_and_checkpoints(factory, config, rule):
    def world(count, first):
        return ChainLanes(ChainConfig(), range(first, first + count), None, CPU)

    subject = AgentSubject(name="decider", factory=factory, config=config, world=world, info=INFO)
    (found,) = results([subject], rule)
    assert found.status == "passed", str(found)
