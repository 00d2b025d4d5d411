"""UA-DQN: its actions, uncertainties and map; its gradient steps against plain formulas."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import Tensors, check_steps, parameters
from gymnasium import spaces
from torch import Tensor
from torch.nn.functional import huber_loss
from uqbench_report.state_map import map_beliefs, map_truth
from uqbench_uadqn.agent import UADQN
from uqbench_uadqn.cliff.policy_truth import exact_truth
from uqbench_uadqn.config import UADQNConfig
from uqbench_uadqn.uncertainty import aleatoric_var, epistemic_var

import uqbench
from uqbench.agent import EnvironmentInfo
from uqbench.lanes import Normal
from uqbench.plots.render import svg
from uqbench.plots.state_map import figure
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
    chosen, main = act(agent, obs), agent.online(obs[:, None])[:, 0]
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
        exploration=exploration)  # fmt: skip
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


QUANTILES, NOISE = 4, 0.7
LEVELS = (torch.arange(QUANTILES).double() + 0.5) / QUANTILES
CONFIG: dict[str, Any] = {
    "hidden": (5,), "quantiles": QUANTILES, "batch_size": 6, "learning_starts": 30,
    "replay_capacity": 40, "learning_rate": 1e-2, "learn_period": 1, "target_sync_period": 50,
    "noise_scale": NOISE, "adam_epsilon": 1e-3}  # fmt: skip


def outputs(known: Tensors, of: str, x: Tensor) -> Tensor:
    """Quantiles ``[B, A, N]``."""
    hidden = (x @ known[f"{of}0.weight"] + known[f"{of}0.bias"]).relu()
    return (hidden @ known[f"{of}1.weight"] + known[f"{of}1.bias"]).unflatten(1, (3, QUANTILES))


@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_ua_dqn_s_gradient_steps_are_those_of_its_formulas(kappa):
    """Clements et al. 2019: equation 1 for each network, and the anchors of Pearce et al. 2018.

    Targets are the main network's, of the action that is greedy by its mean. A sample's penalty is
    ``σ² / (s² n) ‖θ − θ⁰‖²``, s the mean over its tensors of their standard deviation. Where κ = 0,
    gradients are sums of few values, and some cancel but for rounding: Adam's ε is no tiny one.
    """
    info = EnvironmentInfo(spaces.Box(-1, 1, (4,)), 3, discount=0.9, total_steps=100)
    agent = UADQN(info, [7], UADQNConfig(**CONFIG, kappa=kappa), CPU)
    networks = {"m": agent.online, "t": agent.target, "ab": agent.posterior}
    anchors = parameters(networks)

    def loss(own: Tensors, batch: Tensors) -> Tensor:
        later = outputs(own, "t", batch["next_obs"])
        best = later[torch.arange(6), later.mean(2).argmax(1)]
        target = batch["reward"][:, None] + 0.9 * (1 - batch["terminated"])[:, None] * best
        total = torch.zeros(())
        for of in "mab":
            predicted = outputs(own, of, batch["obs"])[torch.arange(6), batch["action"].long()]
            u = target[:, None] - predicted[:, :, None]  # [B, N, samples]
            size = huber_loss(u, torch.zeros_like(u), "none", kappa) if kappa else u.abs()
            total = total + ((LEVELS[:, None] - (u < 0).double()).abs() * size).mean((0, 2)).sum()
        for of in "ab":
            parts = {name: value for name, value in anchors.items() if name[0] == of}
            scale = torch.stack([value.std() for value in parts.values()]).mean()
            away = sum((own[name] - value).square().sum() for name, value in parts.items())
            total = total + NOISE**2 / (scale**2 * batch["stored"]) * away
        return total

    def stored():
        return {"stored": agent.replay.stored.double()}

    check_steps(agent, networks, "mab", loss, stored, lr=1e-2, eps=1e-3)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    found = uqbench.run(
        "windy-cliff", "smoke", methods=["ua-dqn-neutral"], seeds=1, steps=400, workers=1,
        keep_agents=True, progress=False, out=tmp_path_factory.mktemp("map"))  # fmt: skip
    return found.agent(found.runs["run"][0])


def test_the_truth_is_that_of_the_agents_own_policy(kept):
    states, beliefs = map_beliefs(kept)
    truth = map_truth(kept, states)
    exact = exact_truth(kept.task.config, kept.batch.cell.task.discount, [0])
    known = exact.evaluate(kept.agent.policy(exact.obs[None]))
    at = [exact.obs.tolist().index(row) for row in states.obs.tolist()]
    np.testing.assert_allclose(truth["mean"], known.q[0, at])
    np.testing.assert_allclose(truth["aleatoric"] ** 2, known.return_variance[0, at], atol=1e-9)
    np.testing.assert_allclose(truth["epistemic"], abs(beliefs["mean"] - truth["mean"]))


def test_a_map_has_what_is_stated_what_is_true_and_their_ratio(kept):
    states, beliefs = map_beliefs(kept)
    drawn = figure(states, beliefs, "cliff", map_truth(kept, states))
    maps = {name: own["value"].to_numpy() for name, own in drawn.data.groupby("map", sort=False)}
    assert list(maps) == [
        "epistemic, predicted", "epistemic, error of the mean",
        "epistemic, predicted over error of the mean",
        "aleatoric, predicted", "aleatoric, true", "aleatoric, predicted over true"]  # fmt: skip
    stated, true, ratio = list(maps.values())[3:]
    noisy = true > 0
    assert 0 < noisy.sum() < len(noisy)  # there is no wind on the upper row
    np.testing.assert_allclose(ratio[noisy], stated[noisy] / true[noisy])
    assert np.isnan(ratio[~noisy]).all()
    assert "null" not in svg(drawn)


def test_without_a_truth_only_what_is_stated_is_drawn(kept):
    states, beliefs = map_beliefs(kept)
    assert map_truth(kept, type(states)(states.obs + 1, states.places, states.actions)) == {}
    names = set(figure(states, beliefs, "cliff", {}).data["map"])
    assert names == {"epistemic, predicted", "aleatoric, predicted"}
