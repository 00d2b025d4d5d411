"""UA-DQN: its actions, its objective, its uncertainties."""

import math
from functools import partial

import pytest
import torch
from gymnasium import spaces
from uqbench_uadqn.agent import UADQN
from uqbench_uadqn.config import UADQNConfig
from uqbench_uadqn.uncertainty import aleatoric_var, epistemic_var

from uqbench.agent import EnvironmentInfo
from uqbench.lanes import Normal
from uqbench.registry import Host
from uqbench.runner.train.compiling import compile_agent
from uqbench.testing.worlds import act, transitions

CPU = torch.device("cpu")
NAMES = Host.load().risk_names
OBS = torch.randn(2, 200, 3, generator=torch.Generator().manual_seed(5))


def small_agent(seeds=(0, 1), **changes) -> UADQN:
    info = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
    small = {"hidden": (16,), "quantiles": 5, "learning_starts": 40, "batch_size": 8}
    return UADQN(info, seeds, UADQNConfig(**small | changes), CPU)


@pytest.mark.parametrize("t", [0, 1, 5])
def test_actions_follow_the_formula_of_section_2_4(t):
    agent = small_agent(aleatoric_weight=0.5, epistemic_weight=2.0)
    agent.clock.load_state_dict({"t": t})
    obs = OBS[:, 0]
    chosen = act(agent, obs)
    main = agent.online(obs[:, None])[:, 0]
    a, b = agent.posterior(obs[:, None])[:, :, 0].unbind(1)
    noise = Normal((0, 1), "thompson", (4,)).at(t)
    for lane in range(2):
        scores = []
        for action in range(4):
            epistemic = math.sqrt(epistemic_var(a[lane, action], b[lane, action]).item() + 1e-8)
            aleatoric = math.sqrt(max(0.0, aleatoric_var(a[lane, action], b[lane, action]).item()))
            xi = noise[lane, action].item()
            scores.append(main[lane, action].mean().item() - 0.5 * aleatoric + 2.0 * epistemic * xi)
        assert chosen[lane].item() == max(range(4), key=lambda action: scores[action])


def test_without_weights_it_is_greedy_in_the_main_network_and_masks_are_kept():
    agent = small_agent(epistemic_weight=0.0)
    assert torch.equal(act(agent, OBS[:, 0]), agent.policy(OBS)[:, 0])
    only = torch.tensor([[False, False, True, False], [True, False, False, False]])
    assert act(small_agent(epistemic_weight=9.0), OBS[:, 0], only).tolist() == [2, 0]
    masked = agent.policy(OBS, only[:, None].expand(2, 200, 4))
    assert torch.equal(masked, torch.tensor([[2], [0]]).expand(2, 200))


def test_epsilon_takes_the_place_of_some_actions_and_of_nothing_else():
    obs = torch.randn(2000, 3, generator=torch.Generator().manual_seed(5))
    own = act(small_agent(range(2000)), obs)

    def chosen(epsilon: float) -> torch.Tensor:
        exploring = {"exploration": "epsilon-greedy", "epsilon_initial": epsilon}
        return act(small_agent(range(2000), **exploring), obs)

    assert torch.equal(chosen(0.0), own)
    # replaced by another action in 3/4 ε: 750 of 2,000, ± 135 with a probability of 2e-9
    assert abs((chosen(0.5) != own).sum() - 750) < 135


def test_the_evaluated_policy_has_the_penalty_and_no_noise():
    agent = small_agent(aleatoric_weight=3.0, epistemic_weight=9.0)
    predicted = agent.uncertainty(OBS)
    averse = predicted.mean - 3.0 * predicted.aleatoric_var.sqrt()
    assert torch.equal(agent.policy(OBS), averse.argmax(-1))
    assert not torch.equal(agent.policy(OBS), predicted.mean.argmax(-1))


def test_a_decision_rule_takes_the_place_of_the_penalty():
    rule = NAMES.rule("cvar(0.25) of expectation")
    agent = small_agent(risk=rule, epistemic_weight=0.0)
    worse = agent.posterior(OBS).mean(-1).amin(1)  # a quarter of two models is the worse one
    assert torch.equal(agent.policy(OBS), worse.argmax(-1))
    assert torch.equal(act(agent, OBS[:, 0]), agent.policy(OBS[:, :1])[:, 0])
    with pytest.raises(ValueError, match="either a risk or an aleatoric_weight"):
        small_agent(risk=rule, aleatoric_weight=0.5)


def test_it_predicts_the_variances_of_its_samples_or_the_main_networks_spread():
    """Q's is that of the samples' means; the quantiles' own is larger."""
    unbiased, biased = small_agent(), small_agent(aleatoric="biased")
    predicted = unbiased.uncertainty(OBS)
    a, b = unbiased.posterior(OBS).unbind(1)
    assert torch.allclose(predicted.epistemic_var, (a.mean(-1) - b.mean(-1)).square() / 2)
    assert torch.allclose(predicted.quantile_epistemic_var, epistemic_var(a, b))
    assert (predicted.epistemic_var < predicted.quantile_epistemic_var).all()
    assert torch.allclose(predicted.aleatoric_var, aleatoric_var(a, b).clamp(min=0))
    expected = biased.online(OBS).var(-1, correction=1)
    assert torch.allclose(biased.uncertainty(OBS).aleatoric_var, expected)


def test_the_share_of_non_greedy_actions_is_that_of_the_last_full_hundredth_of_the_run():
    """Random actions count, too."""
    exploring = {"exploration": "epsilon-greedy", "epsilon_initial": 0.3}
    greedy_one = small_agent(epistemic_weight=0.0)
    curious = small_agent(epistemic_weight=2.0, **exploring)
    obs, differs = OBS[:, 0], []
    for t in range(35):
        for agent in (greedy_one, curious):
            agent.clock.load_state_dict({"t": t})
            action = act(agent, obs)
        differs.append(action != curious.policy(obs[:, None])[:, 0])
        share = curious.metrics()["non_greedy_share"]
        if t < 9:
            assert share.isnan().all()
        else:
            last = torch.stack(differs[(t + 1) // 10 * 10 - 10 : (t + 1) // 10 * 10])
            assert torch.allclose(share, last.float().mean(0))  # 1,000 steps: blocks of ten
    assert ((share > 0) & (share < 1)).all()
    assert greedy_one.metrics()["non_greedy_share"].tolist() == [0, 0]


PRIORS = [
    (spaces.Box(0, 1, (11,)), 4, UADQNConfig(hidden=(100, 100), posterior_gain=3.0), 0.135),
    (spaces.Box(0, 1, (4, 10, 10)), 6, UADQNConfig(), 0.128),
]


@pytest.mark.parametrize(("observation", "n_actions", "config", "expected"), PRIORS)
def test_the_prior_has_the_known_scale(observation, n_actions, config, expected):
    agent = UADQN(EnvironmentInfo(observation, n_actions, 0.99, 100), [0, 1, 2], config, CPU)
    assert agent.anchor.scale.shape == (3, 2)
    assert torch.allclose(agent.anchor.scale, torch.tensor(expected), atol=0.002)


# --- lanes, resuming, capture, compilation --------------------------------------------------------


@pytest.mark.long  # DQN's kinds stay, whose code it shares
@pytest.mark.parametrize("exploration", ["epsilon-greedy", "none"])
def test_it_conforms(exploration, conforms):
    config = UADQNConfig(
        learning_starts=40, target_sync_period=45, replay_capacity=150, hidden=(16,), channels=4,
        exploration=exploration,
    )  # fmt: skip
    conforms(UADQN, config)


def filled() -> UADQN:
    """On vectors, so that there is less to compile, with 40 transitions."""
    agent = small_agent([3, 5], learning_starts=1_000)
    for step in transitions([3, 5], (3,), 4, 40):
        agent.observe(step)
    return agent


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.long)])
def test_compiled_updates_agree_with_eager_ones(backend, monkeypatch):
    """Traced whole, gradients with it; what is generated from the traces is torch's own."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    eager, compiled = filled(), filled()
    compile_agent(compiled)  # what is not called is not compiled: only ``learn`` is
    index = torch.arange(32).repeat(2, 1)
    losses = [agent.learn(index) for agent in (eager, compiled)]
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
    states = [agent.optimizer.state_dict() for agent in (eager, compiled)]
    torch.testing.assert_close(states[1]["means"], states[0]["means"], rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(states[1]["squares"], states[0]["squares"], rtol=1e-4, atol=1e-9)
