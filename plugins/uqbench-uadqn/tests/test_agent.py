"""UA-DQN: its actions, its objective, its uncertainties."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from gymnasium import spaces
from uqbench_dqn.deep_q import of_action
from uqbench_dqn.quantiles import quantile_loss
from uqbench_uadqn.agent import UADQN
from uqbench_uadqn.config import UADQNConfig
from uqbench_uadqn.uncertainty import aleatoric_var, epistemic_var

from uqbench.agent import EnvironmentInfo
from uqbench.lanes import Normal
from uqbench.registry import Host
from uqbench.runner.train.compiling import compile_agent
from uqbench.testing.conformance.agent_runs import AgentSubject
from uqbench.testing.results import results
from uqbench.testing.same_bits import train
from uqbench.testing.worlds import RotatingPixels, act, step_of_actors, transitions

CPU = torch.device("cpu")
SLOW = {
    *("agent-compiles", "agent-hash-seed", "agent-new-process"),
    *("uncertainty-values", "uncertainty-scale"),
}
"""Checks that `uqbench plugin check` makes of what is registered."""
NAMES = Host.load().risk_names
SMALL = UADQNConfig(
    hidden=(16,), quantiles=5, learning_starts=40, target_sync_period=50, batch_size=8
)


def small_agent(seeds=(0, 1), **changes) -> UADQN:
    info = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
    config = UADQNConfig(**{**SMALL.__dict__, **changes})
    return UADQN(info, seeds, config, CPU)


def batch(lanes: int = 2, size: int = 8, seed: int = 0) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return {
        "obs": torch.randn(lanes, size, 3, generator=g),
        "action": torch.randint(4, (lanes, size), generator=g),
        "reward": torch.randn(lanes, size, generator=g),
        "terminated": torch.rand(lanes, size, generator=g) < 0.3,
        "next_obs": torch.randn(lanes, size, 3, generator=g),
        "next_valid": torch.ones(lanes, size, 4, dtype=torch.bool),
    }


def test_actions_follow_the_formula_of_section_2_4():
    agent = small_agent(aleatoric_weight=0.5, epistemic_weight=2.0)
    obs = torch.randn(2, 3, generator=torch.Generator().manual_seed(5))
    chosen = act(agent, obs)
    main = agent.online(obs[:, None])[:, 0]
    a, b = agent.posterior(obs[:, None])[:, :, 0].unbind(1)
    noise = Normal((0, 1), "thompson", (4,)).at(0)
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
    obs = torch.randn(2, 3, generator=torch.Generator().manual_seed(5))
    assert torch.equal(act(agent, obs), agent.policy(obs[:, None])[:, 0])
    only = torch.tensor([[False, False, True, False], [True, False, False, False]])
    assert act(small_agent(epistemic_weight=9.0), obs, only).tolist() == [2, 0]


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
    obs = torch.randn(2, 200, 3, generator=torch.Generator().manual_seed(5))
    predicted = agent.uncertainty(obs)
    averse = predicted.mean - 3.0 * predicted.aleatoric_var.sqrt()
    assert torch.equal(agent.policy(obs), averse.argmax(-1))
    assert not torch.equal(agent.policy(obs), predicted.mean.argmax(-1))


def test_a_decision_rule_takes_the_place_of_the_penalty():
    rule = NAMES.rule("cvar(0.25) of expectation")
    agent = small_agent(risk=rule, epistemic_weight=0.0)
    obs = torch.randn(2, 50, 3, generator=torch.Generator().manual_seed(5))
    samples = agent.posterior(obs)
    worse = samples.mean(-1).amin(1)  # a quarter of two equally likely models is the worse one
    assert torch.equal(agent.policy(obs), worse.argmax(-1))
    assert torch.equal(act(agent, obs[:, 0]), agent.policy(obs[:, :1])[:, 0])
    with pytest.raises(ValueError, match="either a risk or an aleatoric_weight"):
        small_agent(risk=rule, aleatoric_weight=0.5)


def test_the_variance_of_q_is_that_of_the_samples_means_and_the_quantiles_is_larger():
    agent = small_agent()
    obs = torch.randn(2, 9, 3, generator=torch.Generator().manual_seed(5))
    predicted = agent.uncertainty(obs)
    a, b = agent.posterior(obs).unbind(1)
    assert torch.allclose(predicted.epistemic_var, (a.mean(-1) - b.mean(-1)).square() / 2)
    assert torch.allclose(predicted.quantile_epistemic_var, epistemic_var(a, b))
    assert (predicted.epistemic_var < predicted.quantile_epistemic_var).all()


def test_the_biased_variant_penalizes_the_spread_of_the_main_network():
    obs = torch.randn(2, 1, 3, generator=torch.Generator().manual_seed(5))
    biased = small_agent(aleatoric="biased")
    expected = biased.online(obs).var(-1, correction=1)
    assert torch.allclose(biased.uncertainty(obs).aleatoric_var, expected)
    unbiased = small_agent()
    a, b = unbiased.posterior(obs).unbind(1)
    predicted = unbiased.uncertainty(obs).aleatoric_var
    assert torch.allclose(predicted, aleatoric_var(a, b).clamp(min=0))


def test_one_target_vector_of_the_main_network_trains_all_three():
    agent, data = small_agent(), batch()
    next_atoms = agent.target(data["next_obs"])
    best = next_atoms.mean(-1).argmax(-1)
    target = data["reward"][..., None] + 0.9 * (~data["terminated"])[..., None] * of_action(
        next_atoms, best
    )
    networks = [agent.online(data["obs"]), *agent.posterior(data["obs"]).unbind(1)]
    losses = sum(
        quantile_loss(of_action(outputs, data["action"]), target, agent.levels).mean(-1)
        for outputs in networks
    )
    agent.clock.load_state_dict(
        {"t": 6}
    )  # with the step's own 7: at the anchors themselves the penalty is zero, whatever n
    assert torch.allclose(agent.objective(data).mean(-1), losses)


def test_the_objective_adds_the_penalty_of_both_samples_with_the_transitions_in_the_replay():
    agent = small_agent(noise_scale=2.0, replay_capacity=25, kappa=0.5)
    with torch.no_grad():
        for parameter in agent.posterior.parameters():
            parameter += 0.1
    agent.clock.load_state_dict({"t": 40})  # the ring holds 25
    data = batch()
    target = agent.bellman_target(data)
    outputs = [agent.online(data["obs"]), *agent.posterior(data["obs"]).unbind(1)]
    losses = sum(
        quantile_loss(of_action(o, data["action"]), target, agent.levels, 0.5).mean(-1)
        for o in outputs
    )
    penalty = agent.anchor.penalty(agent.posterior, 2.0, transitions=25).sum(1)
    assert torch.allclose(agent.objective(data).mean(-1), losses + penalty)
    assert (penalty > 0).all()


def test_levels_are_midpoints():
    assert torch.allclose(small_agent().levels, torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9]))


def test_the_noise_is_normal_and_new_at_every_step():
    agent = small_agent(epistemic_weight=5.0)
    obs = torch.randn(2, 3, generator=torch.Generator().manual_seed(5))
    noise = Normal((0, 1), "thompson", (4,))
    for t in range(6):
        agent.clock.load_state_dict({"t": t})
        predicted = agent.uncertainty(obs[:, None])
        std = (predicted.quantile_epistemic_var[:, 0] + 1e-8).sqrt()
        score = predicted.mean[:, 0] + 5.0 * std * noise.at(t)
        assert torch.equal(act(agent, obs), score.argmax(-1))


def test_the_share_of_non_greedy_actions_is_that_of_the_last_full_hundredth_of_the_run():
    greedy_one, curious = small_agent(epistemic_weight=0.0), small_agent(epistemic_weight=2.0)
    obs = torch.randn(2, 3, generator=torch.Generator().manual_seed(5))
    differs = []
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
    assert (share > 0).all()
    assert (share < 1).all()
    assert greedy_one.metrics()["non_greedy_share"].tolist() == [0, 0]


def test_the_share_of_non_greedy_actions_counts_random_ones():
    settings = {"exploration": "epsilon-greedy", "epsilon_initial": 1.0, "epistemic_weight": 0.0}
    agent = small_agent(range(400), **settings)
    obs = torch.randn(400, 3, generator=torch.Generator().manual_seed(5))
    own = agent.policy(obs[:, None])[:, 0]
    share = torch.zeros(400)
    for t in range(10):
        agent.clock.load_state_dict({"t": t})
        share += (act(agent, obs) != own) / 10
    assert torch.allclose(agent.metrics()["non_greedy_share"], share)
    # three of four actions: 3,000 of 4,000, ± 165 with a probability of 2e-9
    assert abs(4_000 * share.mean() - 3_000) < 165


def test_the_policy_keeps_to_valid_actions():
    agent = small_agent()
    obs = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(5))
    only = torch.zeros(2, 3, 4, dtype=torch.bool)
    only[..., 2] = True
    assert (agent.policy(obs, only) == 2).all()


@pytest.mark.parametrize("group", [[0, 1], [2, 3], [0, 1, 2], [7, 6, 5, 4, 3]])
def test_a_lanes_anchor_does_not_depend_on_the_lanes_beside(group):
    config = UADQNConfig()
    info = EnvironmentInfo(spaces.Box(0, 1, (4, 10, 10)), 6, 0.99, 100)

    def anchor(seeds):
        agent = UADQN(info, seeds, config, CPU)
        with torch.no_grad():
            for parameter in agent.posterior.parameters():
                parameter += parameter.square()
        return agent.anchor.scale, agent.anchor.penalty(agent.posterior, 1.0, 100)

    scales, penalties = anchor(group)
    for lane, seed in enumerate(group):
        scale, penalty = anchor([seed])
        assert torch.equal(scales[lane], scale[0])
        assert torch.equal(penalties[lane], penalty[0])


def test_the_anchor_pulls_with_noise_over_prior_and_transitions():
    agent = small_agent(noise_scale=2.0)
    with torch.no_grad():
        for parameter in agent.posterior.parameters():
            parameter += 0.1
    count = sum(parameter[0, 0].numel() for parameter in agent.posterior.parameters())
    scales = torch.stack([w.flatten(2).std(-1) for w in agent.anchor.weights]).mean(0)
    expected = 4.0 * count * 0.01 / (scales**2 * 25)
    penalty = agent.anchor.penalty(agent.posterior, 2.0, transitions=25)
    assert penalty.shape == (2, 2)
    assert torch.allclose(penalty, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("observation", "n_actions", "config", "expected"),
    [
        (spaces.Box(0, 1, (11,)), 4, UADQNConfig(hidden=(100, 100), posterior_gain=3.0), 0.135),
        (spaces.Box(0, 1, (4, 10, 10)), 6, UADQNConfig(), 0.128),
    ],
)
def test_the_prior_has_the_known_scale(observation, n_actions, config, expected):
    agent = UADQN(EnvironmentInfo(observation, n_actions, 0.99, 100), [0, 1, 2], config, CPU)
    assert agent.anchor.scale.shape == (3, 2)
    assert torch.allclose(agent.anchor.scale, torch.tensor(expected), atol=0.002)


def test_the_defaults_are_the_papers():
    config = UADQNConfig()
    assert (config.learning_rate, config.adam_epsilon, config.batch_size) == (1e-4, 1e-8, 32)
    assert (config.learning_starts, config.replay_capacity) == (5_000, 100_000)
    assert (config.target_sync_period, config.quantiles, config.kappa) == (1_000, 50, 0.0)
    assert (config.epistemic_weight, config.aleatoric_weight) == (0.2, 0.0)
    assert (config.gain, config.posterior_gain) == (math.sqrt(2), 3.0)


def test_it_learns_both_uncertainties_of_a_bandit():
    """Action 0 pays ±1 evenly, action 1 pays 0; actions 2 and 3 are never tried."""
    agent = small_agent(seeds=[0, 1, 2], hidden=(32,), learning_rate=3e-3, quantiles=10,
                        batch_size=32, learning_starts=64)  # fmt: skip
    g = torch.Generator().manual_seed(0)
    obs = torch.ones(3, 3)
    done = torch.ones(3, dtype=torch.bool)
    for _ in range(1_000):
        action = torch.randint(2, (3,), generator=g)
        sign = torch.randint(2, (3,), generator=g) * 2.0 - 1.0
        reward = torch.where(action == 0, sign, 0.0)
        agent.observe(step_of_actors(obs, action, reward, done, ~done, obs))
    predicted = agent.uncertainty(obs[:, None])
    aleatoric, epistemic = predicted.aleatoric_var[:, 0], predicted.epistemic_var[:, 0]
    assert torch.allclose(aleatoric[:, 0], torch.tensor(1.0), atol=0.3)
    assert (aleatoric[:, 1] < 0.1).all()
    assert (epistemic[:, :2].amax(1) < epistemic[:, 2:].amin(1)).all()


# --- lanes, resuming, capture, compilation --------------------------------------------------------


SHORT = UADQNConfig(
    learning_starts=40, target_sync_period=45, replay_capacity=150, hidden=(16,), channels=4
)


@pytest.mark.long  # DQN's kinds stay, whose code it shares
@pytest.mark.parametrize("exploration", ["epsilon-greedy", "none"])
def test_it_conforms(exploration):
    config = replace(SHORT, exploration=exploration)
    subject = AgentSubject(name="ua-dqn", factory=UADQN, config=config)
    made = results([subject], without=SLOW)
    assert sum(result.status == "passed" for result in made) > 10
    assert not [str(result) for result in made if not result.ok]


def filled() -> UADQN:
    """On vectors, so that there is less to compile, with 40 transitions."""
    config = UADQNConfig(learning_starts=1_000, hidden=(16,), quantiles=10)
    info = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, discount=0.9, total_steps=10_000)
    agent = UADQN(info, [3, 5], config, torch.device("cpu"))
    for step in transitions([3, 5], (3,), 4, 40):
        agent.observe(step)
    return agent


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.long)])
def test_compiled_updates_agree_with_eager_ones(backend: str, monkeypatch) -> None:
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


def test_a_short_run_ends_with_the_numbers_that_it_always_had() -> None:
    """Whoever changes these numbers has changed the algorithm, not its speed."""
    agent = UADQN(RotatingPixels.info(), [3, 5], SHORT, CPU)
    list(train(agent, RotatingPixels(2), 120))
    stored = agent.replay.gather(torch.arange(100).repeat(2, 1))
    predicted = agent.uncertainty(stored["obs"])
    found = [
        agent.metrics()["loss"][0],
        predicted.mean[0].mean(),
        predicted.quantile_epistemic_var[0].mean(),
    ]
    pinned = [28.8393, 0.0036157, 0.121186]
    assert [value.item() for value in found] == pytest.approx(pinned, rel=1e-3)
