"""SENTINEL-K: what it computes, against plain formulas, and that it learns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.networks import q_network
from uqbench_sentinel.agent import Sentinel
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes
from uqbench_sentinel.config import CARTPOLE_V_MAX, SentinelConfig

from uqbench.agent import EnvironmentInfo
from uqbench.environment import TimeLimit
from uqbench.risk import CVaR, Expectation, RiskMeasure, Wang, additive, compose
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.testing.conformance.agent_runs import AgentSubject
from uqbench.testing.results import results
from uqbench.testing.worlds import RotatingPixels, act, as_step

CPU = torch.device("cpu")
SLOW = {
    *("agent-compiles", "agent-hash-seed", "agent-new-process"),
    *("uncertainty-values", "uncertainty-scale"),
}
"""Checks that `uqbench plugin check` makes of what is registered."""
SMALL: dict[str, Any] = {
    "members": 3,
    "update_period": 10,
    "updates_per_event": 2,
    "target_sync_updates": 3,
    "replay_capacity": 90,  # the ring goes round
    "epsilon_decay_steps": 150,
    "learning_rate": 1e-2,
    "hidden": (9, 6),  # odd sizes: a lane's share is no multiple of a vector
    "atoms": 11,
    "batch_size": 7,
}
VARIANTS = [
    {},
    {"minibatch": "shared"},
    {"ftrl_use": "scale", "ftrl_sign": 1, "ftrl_kl": "mix-to-member"},
    {"risk": compose(Wang(0.1), Wang(0.1)), "schedule": "triangular", "channels": 4},
]


def poles(seeds: Sequence[int]) -> CartPoleLanes:
    return CartPoleLanes(CartPoleConfig(), seeds, TimeLimit(200, "terminal"))


def make(seeds: Sequence[int], **settings: Any) -> Sentinel:
    env = poles(seeds)
    info = EnvironmentInfo(env.observation_space, 2, 0.99, total_steps=100_000)
    return Sentinel(info, seeds, SentinelConfig(**SMALL | settings), CPU)


def train(agent: Sentinel, seeds: Sequence[int], steps: int) -> list[Tensor]:
    """Actions of every step."""
    env, actions = poles(seeds), []
    obs, _ = env.reset()
    for _ in range(steps):
        action = act(agent, obs)
        outcome = env.step(action)
        agent.observe(as_step(obs, action, outcome))
        actions.append(action)
        obs = outcome.obs
    return actions


@pytest.mark.parametrize("schedule", ["periodic", "triangular"])
def test_the_config_knows_how_many_gradient_steps_a_run_takes(schedule, monkeypatch):
    agent, taken = make([3], schedule=schedule), [0]
    learn = agent.learn
    monkeypatch.setattr(agent, "learn", lambda slots: taken.append(taken.pop() + 1) or learn(slots))
    counted = []
    observe = agent.observe
    monkeypatch.setattr(agent, "observe", lambda step: (observe(step), counted.append(taken[0])))
    train(agent, [3], 40)
    assert counted == [agent.config.gradient_steps(steps) for steps in range(1, 41)]
    assert counted[-1] > 0


# --- the paper's numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2, 4, 8])
@pytest.mark.parametrize(("size", "n_actions", "each"), [(4, 2, 12_019), (25, 5, 12_691)])
def test_the_networks_have_the_papers_number_of_parameters(
    members: int, size: int, n_actions: int, each: int
) -> None:
    """(32 |S| + 11891) K |A|: CartPole and highway, Tables 5 to 8."""
    assert each == 32 * size + 11_891
    info = EnvironmentInfo(spaces.Box(-1, 1, (size,)), n_actions, 0.99, total_steps=10)
    agent = Sentinel(info, [0], SentinelConfig(members=members), CPU)
    assert sum(p.numel() for p in agent.online.parameters()) == each * members * n_actions


def test_the_defaults_are_the_papers_for_cartpole() -> None:
    config = SentinelConfig()
    assert pytest.approx(86.60203, abs=1e-5) == CARTPOLE_V_MAX
    assert (config.members, config.atoms, config.v_min, config.v_max) == (4, 51, 0, CARTPOLE_V_MAX)
    assert (config.update_period, config.target_sync_updates * config.update_period) == (100, 1_000)
    assert (config.learning_rate, config.batch_size, config.replay_capacity) == (
        2.5e-4,
        32,
        100_000,
    )
    assert (config.epsilon_initial, config.epsilon_final, config.epsilon_decay_steps) == (
        1.0,
        0.05,
        100_000,
    )
    assert (config.ftrl_lambda, config.mask_probability) == (1.0, 1 / 3)
    assert config.updates_per_event * config.batch_size == 128  # the least that has 100 samples


@pytest.mark.parametrize("channels", [0, 4])
def test_a_law_may_start_at_its_lowest_atom(channels: int) -> None:
    """.999 at 0, the rest at the other ten atoms of [0, 8.66], whose mean is 4.76."""
    settings = SMALL | {"start": "zero", "channels": channels}
    shape = (3, 5, 5) if channels else (4,)
    info = EnvironmentInfo(spaces.Box(-1, 1, shape), 2, 0.99, total_steps=1_000)
    agent = Sentinel(info, [0, 1], SentinelConfig(**settings, v_max=8.66), CPU)
    mean = agent.uncertainty(torch.randn(2, 3, *shape)).mean
    torch.testing.assert_close(mean, torch.full((2, 3, 2), 0.001 * 8.66 * 0.55))


def test_the_defaults_of_ftrl_are_the_texts_reading() -> None:
    """Near the marginal law is good, and weights are probabilities."""
    config = SentinelConfig()
    assert (config.ftrl_kl, config.ftrl_sign, config.ftrl_use) == (
        "member-to-mix",
        -1,
        "probability",
    )


def test_epsilon_falls_linearly_from_the_first_step_on() -> None:
    agent = make([0], epsilon_initial=0.8, epsilon_final=0.2, epsilon_decay_steps=300)
    given = []
    for t in (0, 100, 150, 300, 500):
        agent.clock.load_state_dict({"t": t})
        given.append(agent.exploration.epsilon.item())
    assert given == pytest.approx([0.8, 0.6, 0.5, 0.2, 0.2])


def test_steps_learn_and_sync_when_the_schedule_says_so() -> None:
    agent = make([0])
    online = [p.clone() for p in agent.online.parameters()]
    target = [p.clone() for p in agent.target.parameters()]
    env = poles([0])
    obs, _ = env.reset()
    for t in range(60):
        action = act(agent, obs)
        outcome = env.step(action)
        agent.observe(as_step(obs, action, outcome))
        obs = outcome.obs
        assert int(agent.optimizer.state_dict()["step"]) == 2 * ((t + 1) // 10)
        learned = any(
            not torch.equal(a, b) for a, b in zip(online, agent.online.parameters(), strict=True)
        )
        synced = any(
            not torch.equal(a, b) for a, b in zip(target, agent.target.parameters(), strict=True)
        )
        assert learned == ((t + 1) % 10 == 0)
        assert synced == ((t + 1) % 30 == 0)
        online = [p.clone() for p in agent.online.parameters()]
        target = [p.clone() for p in agent.target.parameters()]


# --- what it computes ----------------------------------------------------------------------------


def member_logits(agent: Sentinel, network: Any, lane: int, k: int, a: int, obs: Tensor) -> Tensor:
    """One observation through one member's network of one action, by plain products."""
    x = obs
    e = k * 2 + a
    for number, layer in enumerate(network.layers):
        x = x @ layer.weight[lane, e] + layer.bias[lane, e, 0]
        x = x.relu() if number < len(network.layers) - 1 else x
    return x


@pytest.mark.parametrize("epistemic", [CVaR(0.6), Expectation()], ids=str)
def test_the_composite_risk_is_lines_16_to_20_by_hand(epistemic: RiskMeasure) -> None:
    """At levels where every member counts, by its weight."""
    agent = make([3, 4], ftrl_lambda=2.0, risk=compose(epistemic, CVaR(0.25)))
    train(agent, [3, 4], 60)
    obs = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    given = agent.composite(obs)
    for lane, m, a in product(range(2), range(3), range(2)):
        laws = torch.stack(
            [
                member_logits(agent, agent.online, lane, k, a, obs[lane, m]).softmax(-1)
                for k in range(3)
            ]
        )
        mixture = laws.mean(0)
        loss = (laws * (laws / mixture).log()).sum(-1)
        weights = (-2.0 * loss).exp() / (-2.0 * loss).exp().sum()
        aleatoric = torch.stack([CVaR(0.25)(agent.support, law) for law in laws])
        expected = epistemic(aleatoric, weights)
        torch.testing.assert_close(given[lane, m, a], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("use", "factor"), [("scale", 1), ("scale-k", 3)])
def test_weights_as_factors_by_hand(use: str, factor: int) -> None:
    agent = make([3], ftrl_use=use, ftrl_sign=1)
    train(agent, [3], 60)
    obs = torch.randn(4, generator=torch.Generator().manual_seed(0))
    laws = torch.stack(
        [member_logits(agent, agent.online, 0, k, 1, obs).softmax(-1) for k in range(3)]
    )
    loss = (laws * (laws / laws.mean(0)).log()).sum(-1)
    values = torch.stack([CVaR(0.25)(agent.support, law) for law in laws])
    scaled = factor * loss.softmax(-1) * values
    expected = (scaled.min() * 1 / 3).item() / (1 / 3)  # CVaR_¼ of three equal atoms: the worst
    given = agent.composite(obs[None, None])[0, 0, 1].item()
    assert given == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("minibatch", ["per_member", "shared"])
def test_losses_are_lines_7_to_10_by_hand(minibatch: str) -> None:
    """One bootstrapped action for all members; each member's own target law; equation 7."""
    agent = make([3, 4], minibatch=minibatch)
    train(agent, [3, 4], 75)
    groups, size = (3 if minibatch == "per_member" else 1), 9
    slots = torch.randint(0, 75, (2, groups, size), generator=torch.Generator().manual_seed(1))
    batch = agent.replay.gather(slots.flatten(1))
    batch = {name: value.unflatten(1, (groups, size)) for name, value in batch.items()}
    assert batch["terminated"].any()
    given = agent.losses(batch)
    assert given.shape == (2, 3, size)
    support, width = agent.support, agent.support[1] - agent.support[0]
    for lane, k, b in product(range(2), range(3), range(size)):
        g = k if minibatch == "per_member" else 0
        after = batch["next_obs"][lane, g, b]
        laws = torch.stack(
            [
                torch.stack(
                    [
                        member_logits(agent, agent.target, lane, i, a, after).softmax(-1)
                        for i in range(3)
                    ]
                )
                for a in range(2)
            ]
        )  # [A, K, N]
        risk = CVaR(0.25).of_quantiles(CVaR(0.25)(support, laws))
        law = laws[risk.argmax(), k]
        values = batch["reward"][lane, g, b] + 0.99 * support * (~batch["terminated"][lane, g, b])
        share = 1 - (values.clamp(support[0], support[-1]) - support[:, None]).abs() / width
        target = (share.clamp(0, 1) * law).sum(-1)
        action = int(batch["action"][lane, g, b])
        logits = member_logits(agent, agent.online, lane, k, action, batch["obs"][lane, g, b])
        expected = -(target * logits.log_softmax(-1)).sum()
        torch.testing.assert_close(given[lane, k, b], expected, atol=1e-4, rtol=1e-4)


def test_a_member_learns_from_its_own_transitions_alone() -> None:
    """Without any mask a member stays what it was; the others do not."""
    for minibatch in ("per_member", "shared"):
        agent = make([3], minibatch=minibatch, mask_probability=1.0)
        before = [p.clone() for p in agent.online.parameters()]
        agent.bootstrap.add = lambda mask, add=agent.bootstrap.add: add(  # type: ignore[method-assign]
            mask & torch.tensor([True, False, True])
        )
        train(agent, [3], 40)
        for parameter, old in zip(agent.online.parameters(), before, strict=True):
            moved = (parameter != old).unflatten(1, (3, 2)).flatten(3).any(-1)[0]
            assert not moved[1].any()
        assert moved[0].all()
        assert moved[2].all()


def test_a_shared_minibatch_is_weighed_by_the_masks_of_its_transitions() -> None:
    agent = make([3, 4], minibatch="shared", mask_probability=0.5)
    train(agent, [3, 4], 75)
    slots = torch.arange(75).expand(2, 1, -1)
    batch = agent.replay.gather(slots.flatten(1))
    losses = agent.losses({name: value.unsqueeze(1) for name, value in batch.items()})
    masks = agent._masks  # drawn once a step: drawn again here, they are the same
    own = torch.stack([masks.at(t)[:, 0] < 0.5 for t in range(75)], -1)
    assert own.any(-1).all()
    assert not own.all()
    torch.testing.assert_close(agent.learn(slots).unflatten(1, (3, 75)), losses * own)


def test_masks_are_bernoulli_and_independent_between_members() -> None:
    """8,000 draws of each of three: five standard errors, wrong once in 10⁶ tries."""
    agent = make([3], members=3, replay_capacity=8_000, update_period=10_000)
    for _ in range(8_000):
        agent.bootstrap.add(agent._masks.at(agent.clock) < agent.config.mask_probability)
        agent.clock.advance()
    masks = agent.bootstrap._masks[:, 0].double()
    error = 5 * (2 / 9 / 8_000) ** 0.5
    assert (masks.mean(0) - 1 / 3).abs().max() < error
    assert abs((masks[:, 0] * masks[:, 1]).mean() - 1 / 9) < 5 * (8 / 81 / 8_000) ** 0.5


def test_uncertainty_is_the_law_of_total_variance_of_the_marginal() -> None:
    agent = make([3, 4])
    train(agent, [3, 4], 60)
    stated = agent.uncertainty(torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0)))
    assert stated.return_probs is not None
    assert stated.return_probs.shape == (2, 5, 2, 11)
    mean = (stated.return_probs * stated.return_atoms).sum(-1)
    square = (stated.return_probs * stated.return_atoms.square()).sum(-1)
    torch.testing.assert_close(stated.mean, mean)
    members = SMALL["members"]  # K networks are a sample: their variance is over K − 1
    between = stated.epistemic_var * (members - 1) / members
    total = between + stated.aleatoric_var
    torch.testing.assert_close(total, square - mean**2, rtol=1e-3, atol=1e-2)
    assert (stated.epistemic_var > 0).all()


def test_a_risk_neutral_member_alone_is_a_categorical_dqn() -> None:
    """K = 1 and no risk: the composite is the mean return."""
    agent = make([3], members=1, risk=additive(Expectation()))
    obs = torch.randn(1, 5, 4)
    torch.testing.assert_close(agent.composite(obs), agent.uncertainty(obs).mean)


# --- lanes, resuming, what all agents do -------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [pytest.param(one, marks=pytest.mark.long if one in VARIANTS[1:3] else ()) for one in VARIANTS],
    ids=str,
)
def test_it_conforms(settings: dict[str, Any]) -> None:
    """Learning, synced targets, a buffer that is overwritten."""
    config = SentinelConfig(**SMALL | settings)
    subject = AgentSubject(name="sentinel", factory=Sentinel, config=config)
    made = results([subject], without=SLOW)
    assert sum(result.status == "passed" for result in made) > 10
    assert not [str(result) for result in made if not result.ok]


def test_a_member_with_a_convolution_is_the_network_that_all_others_have() -> None:
    """On MinAtar: 16 filters of side 3 and 128 units, as DQN's, and 51 atoms an action."""
    config = SentinelConfig(members=3, hidden=(128,), channels=16)
    agent = Sentinel(RotatingPixels.info(), [3, 5], config, CPU)
    obs = torch.rand(2, 3, 7, *RotatingPixels.SHAPE)
    logits = agent.online(obs)  # a batch of each member's own
    assert logits.shape == (2, 3, 4, 7, 51)
    family = q_network(1, RotatingPixels.info(), DQNConfig(), 51)
    for lane in range(2):
        for member in range(3):
            row = 3 * lane + member
            for own, theirs in zip(family.parameters(), agent.online.parameters(), strict=True):
                own.data.copy_(theirs[row : row + 1])
            expected = family(obs[lane, member, None])[0].transpose(0, 1)
            torch.testing.assert_close(logits[lane, member], expected)
    shared = agent.online(obs[:, :1])
    torch.testing.assert_close(shared[:, 0], logits[:, 0])
    assert not torch.allclose(shared[:, 1], logits[:, 1])


def test_invalid_actions_are_neither_chosen_nor_bootstrapped_from() -> None:
    agent = make([5], epsilon_initial=0.0, epsilon_final=0.0)
    obs = torch.randn(1, 20, 4, generator=torch.Generator().manual_seed(0))
    for only in (0, 1):
        valid = torch.zeros(1, 20, 2, dtype=torch.bool)
        valid[..., only] = True
        assert (agent.policy(obs, valid) == only).all()
        assert act(agent, obs[:, 0], valid[:, 0]).item() == only
        batch = {
            "obs": obs[:, None, :5].expand(-1, 3, -1, -1),
            "next_obs": obs[:, None, :5].expand(-1, 3, -1, -1),
            "next_valid": valid[:, None, :5].expand(-1, 3, -1, -1),
            "reward": torch.zeros(1, 3, 5),
            "terminated": torch.zeros(1, 3, 5, dtype=torch.bool),
            "action": torch.zeros(1, 3, 5, dtype=torch.int64),
        }
        target = agent.bellman_target(batch)
        expected = agent.target(obs[:, None, :5]).softmax(-1)[:, :, only]
        mean = (expected * agent.support).sum(-1)
        torch.testing.assert_close(
            (target * agent.support).sum(-1), 0.99 * mean, rtol=1e-3, atol=1e-3
        )


# --- learning, settings --------------------------------------------------------------------------


def test_it_learns_to_keep_the_pole_up() -> None:
    """Twice random's return in the last episodes, with a lot of updates; deterministic."""
    seeds = [0, 1]
    agent = make(
        seeds,
        replay_capacity=4_000,
        risk=additive(Expectation()),
        epsilon_final=0.02,
        epsilon_decay_steps=1_000,
        update_period=4,
        updates_per_event=1,
        target_sync_updates=50,
        hidden=(32,),
        atoms=21,
        batch_size=32,
        learning_rate=3e-3,
        mask_probability=0.6,
    )
    recorder = Recorder(2, 2_000, ("falls",), CPU, 0.99)
    for _ in interact(agent, poles(seeds), 2_000, recorder):
        pass
    for _, episodes in recorder.finish():
        late = episodes["step"] > 1_400
        assert episodes["return"][late].mean() > 45  # random: 22


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"members": 0}, "members must be at least 1, got 0"),
        ({"mask_probability": 0.0}, "mask_probability must be in"),
        ({"ftrl_lambda": -1.0}, "ftrl_lambda must not be negative"),
        ({"v_min": 1.0, "v_max": 1.0}, "v_min < v_max"),
        ({"epsilon_final": 1.5}, "epsilon_final is a probability"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SentinelConfig(**settings)
