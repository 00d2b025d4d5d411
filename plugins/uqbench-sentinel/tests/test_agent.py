"""SENTINEL-K, its members' data sets and FTRL weights, against plain formulas and closed forms."""

import math
from collections.abc import Sequence
from copy import deepcopy
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.networks import q_network
from uqbench_sentinel import ftrl
from uqbench_sentinel.agent import Sentinel
from uqbench_sentinel.bootstrap import Bootstrap
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes
from uqbench_sentinel.config import SentinelConfig
from uqbench_sentinel.estimation import beliefs as gaussians
from uqbench_sentinel.estimation import composite as composites
from uqbench_sentinel.estimation.beliefs import BeliefConfig, Beliefs, gaussian_mixture_cvar
from uqbench_sentinel.estimation.composite import CompositeRiskConfig, CompositeRiskEstimator

from uqbench.agent import EnvironmentInfo
from uqbench.environment import TimeLimit
from uqbench.lanes import Clock
from uqbench.registry import Host
from uqbench.risk import CVaR, Expectation, Wang, compose
from uqbench.risk import additive as additive_risk
from uqbench.suites import read_suites
from uqbench.testing.same_bits import same
from uqbench.testing.worlds import RotatingPixels, act, as_step, asked_once

CPU = torch.device("cpu")
SMALL: dict[str, Any] = {
    "members": 3, "update_period": 10, "updates_per_event": 2, "target_sync_updates": 3,
    "replay_capacity": 90,  # the ring goes round
    "epsilon_decay_steps": 150, "learning_rate": 1e-2, "atoms": 11, "batch_size": 7,
    "hidden": (9, 6),  # odd sizes: a lane's share is no multiple of a vector
}  # fmt: skip
VARIANTS = [
    {},
    {"minibatch": "shared"},
    {"ftrl_use": "scale", "ftrl_sign": 1, "ftrl_kl": "mix-to-member"},
    {"risk": compose(Wang(0.1), Wang(0.1)), "schedule": "triangular", "channels": 4},
]


def poles(seeds: Sequence[int]) -> CartPoleLanes:
    return CartPoleLanes(CartPoleConfig(), seeds, TimeLimit(200, "terminal"))


def make(seeds: Sequence[int], **settings: Any) -> Sentinel:
    info = EnvironmentInfo(poles(seeds).observation_space, 2, 0.99, total_steps=100_000)
    return Sentinel(info, seeds, SentinelConfig(**SMALL | settings), CPU)


def train(agent: Sentinel, seeds: Sequence[int], steps: int, look: Any = None) -> None:
    """Train on CartPole; ``look`` is called after every step, with its number."""
    env = poles(seeds)
    obs, _ = env.reset()
    for t in range(1, steps + 1):
        action = act(agent, obs)
        outcome = env.step(action)
        agent.observe(as_step(obs, action, outcome))
        obs = outcome.obs
        if look is not None:
            look(t)


@pytest.mark.parametrize("schedule", ["periodic", "triangular"])
def test_the_config_knows_how_many_gradient_steps_a_run_takes(schedule):
    agent, counted = make([3], schedule=schedule), []
    train(agent, [3], 40, lambda _: counted.append(int(agent.optimizer.state_dict()["step"])))
    assert counted == [agent.config.gradient_steps(steps) for steps in range(1, 41)]
    assert counted[-1] > 0


# --- the paper's numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2, 4, 8])
@pytest.mark.parametrize(("size", "n_actions", "each"), [(4, 2, 12_019), (25, 5, 12_691)])
def test_the_networks_have_the_papers_number_of_parameters(members, size, n_actions, each):
    """(32 |S| + 11891) K |A|: CartPole and highway, Tables 5 to 8."""
    assert each == 32 * size + 11_891
    info = EnvironmentInfo(spaces.Box(-1, 1, (size,)), n_actions, 0.99, total_steps=10)
    agent = Sentinel(info, [0], SentinelConfig(members=members), CPU)
    assert sum(p.numel() for p in agent.online.parameters()) == each * members * n_actions


@pytest.mark.parametrize("channels", [0, 4])
def test_a_law_may_start_at_its_lowest_atom(channels):
    """.999 at 0, the rest at the other ten atoms of [0, 8.66], whose mean is 4.76."""
    settings = SMALL | {"start": "zero", "channels": channels}
    shape = (3, 5, 5) if channels else (4,)
    info = EnvironmentInfo(spaces.Box(-1, 1, shape), 2, 0.99, total_steps=1_000)
    agent = Sentinel(info, [0, 1], SentinelConfig(**settings, v_max=8.66), CPU)
    mean = agent.uncertainty(torch.randn(2, 3, *shape)).mean
    torch.testing.assert_close(mean, torch.full((2, 3, 2), 0.001 * 8.66 * 0.55))


def test_steps_learn_and_sync_when_the_schedule_says_so():
    agent = make([0])
    networks, held = (agent.online, agent.target), []

    def look(t: int) -> None:
        held.append([deepcopy(network.state_dict()) for network in networks])
        if t > 1:
            learned, synced = (not same(*pair) for pair in zip(*held[-2:], strict=True))
            assert (learned, synced) == (t % 10 == 0, t % 30 == 0)

    train(agent, [0], 60, look)


# --- what it computes ----------------------------------------------------------------------------


def member_logits(network: Any, lane: int, k: int, a: int, obs: Tensor) -> Tensor:
    """One observation through one member's network of one action, by plain products."""
    x = obs
    for number, layer in enumerate(network.layers):
        x = x @ layer.weight[lane, k * 2 + a] + layer.bias[lane, k * 2 + a, 0]
        x = x.relu() if number < len(network.layers) - 1 else x
    return x


def member_laws(network: Any, lane: int, a: int, obs: Tensor) -> Tensor:
    """The three members' distributions ``[K, N]`` of one action."""
    return torch.stack([member_logits(network, lane, k, a, obs) for k in range(3)]).softmax(-1)


FTRL = [
    (CVaR(0.6), {}), (Expectation(), {}), (CVaR(0.25), {"ftrl_use": "scale", "ftrl_sign": 1}),
    (CVaR(0.25), {"ftrl_use": "scale-k", "ftrl_sign": 1})]  # fmt: skip


@pytest.mark.parametrize(("epistemic", "use"), FTRL)
def test_the_composite_risk_is_lines_16_to_20_by_hand(epistemic, use):
    """At levels where every member counts, by its weight; and with weights as factors of equals."""
    agent = make([3, 4], ftrl_lambda=2.0, risk=compose(epistemic, CVaR(0.25)), **use)
    train(agent, [3, 4], 60)
    obs = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    given = agent.composite(obs)
    for lane, m, a in product(range(2), range(3), range(2)):
        laws = member_laws(agent.online, lane, a, obs[lane, m])
        mixture = laws.mean(0)
        loss = (laws * (laws / mixture).log()).sum(-1)
        weights = (2.0 * use.get("ftrl_sign", -1) * loss).softmax(-1)
        values = torch.stack([CVaR(0.25)(agent.support, law) for law in laws])
        factor = {"scale": 1, "scale-k": 3}.get(use.get("ftrl_use"))
        expected = epistemic(values, weights) if not factor else (factor * weights * values).min()
        torch.testing.assert_close(given[lane, m, a], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("minibatch", ["per_member", "shared"])
def test_losses_are_lines_7_to_10_by_hand(minibatch):
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
        laws = torch.stack([member_laws(agent.target, lane, a, after) for a in range(2)])
        risk = CVaR(0.25).of_quantiles(CVaR(0.25)(support, laws))
        law = laws[risk.argmax(), k]
        values = batch["reward"][lane, g, b] + 0.99 * support * (~batch["terminated"][lane, g, b])
        share = 1 - (values.clamp(support[0], support[-1]) - support[:, None]).abs() / width
        target = (share.clamp(0, 1) * law).sum(-1)
        action = int(batch["action"][lane, g, b])
        logits = member_logits(agent.online, lane, k, action, batch["obs"][lane, g, b])
        expected = -(target * logits.log_softmax(-1)).sum()
        torch.testing.assert_close(given[lane, k, b], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("minibatch", ["per_member", "shared"])
def test_a_member_learns_from_its_own_transitions_alone(minibatch):
    """Without any mask a member stays what it was; the others do not."""
    agent, mask = make([3], minibatch=minibatch, mask_probability=1.0), torch.arange(3) != 1
    before, add = deepcopy([*agent.online.parameters()]), agent.bootstrap.add
    agent.bootstrap.add = lambda drawn: add(drawn & mask)
    train(agent, [3], 40)
    for parameter, old in zip(agent.online.parameters(), before, strict=True):
        moved = (parameter != old).unflatten(1, (3, 2)).flatten(3).any(-1)[0]
        assert not moved[1].any()
    assert moved[[0, 2]].all()


def test_a_shared_minibatch_is_weighed_by_the_masks_of_its_transitions():
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


def test_masks_are_bernoulli_and_independent_between_members():
    """8,000 draws of each of three: five standard errors, wrong once in 10⁶ tries."""
    agent = make([3], members=3, replay_capacity=8_000, update_period=10_000)
    for _ in range(8_000):
        agent.bootstrap.add(agent._masks.at(agent.clock) < agent.config.mask_probability)
        agent.clock.advance()
    masks, error = agent.bootstrap._masks[:, 0].double(), 5 * (2 / 9 / 8_000) ** 0.5
    assert (masks.mean(0) - 1 / 3).abs().max() < error
    assert abs((masks[:, 0] * masks[:, 1]).mean() - 1 / 9) < 5 * (8 / 81 / 8_000) ** 0.5


def test_uncertainty_is_the_law_of_total_variance_of_the_marginal():
    agent = make([3, 4])
    train(agent, [3, 4], 60)
    stated = agent.uncertainty(torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0)))
    assert stated.return_probs.shape == (2, 5, 2, 11)
    mean = (stated.return_probs * stated.return_atoms).sum(-1)
    square = (stated.return_probs * stated.return_atoms.square()).sum(-1)
    torch.testing.assert_close(stated.mean, mean)
    members = SMALL["members"]  # K networks are a sample: their variance is over K − 1
    between = stated.epistemic_var * (members - 1) / members
    total = between + stated.aleatoric_var
    torch.testing.assert_close(total, square - mean**2, rtol=1e-3, atol=1e-2)
    assert (stated.epistemic_var > 0).all()


# --- lanes, resuming, what all agents do -------------------------------------------------------


LATER = [pytest.param(one, marks=pytest.mark.long) for one in VARIANTS[1:3]]


@pytest.mark.parametrize("settings", [VARIANTS[0], *LATER, VARIANTS[3]], ids=str)
def test_it_conforms(settings, conforms):
    """Learning, synced targets, a buffer that is overwritten."""
    conforms(Sentinel, SentinelConfig(**SMALL | settings))


def test_a_member_with_a_convolution_is_the_network_that_all_others_have():
    """On MinAtar: 16 filters of side 3 and 128 units, as DQN's, and 51 atoms an action."""
    config = SentinelConfig(members=3, hidden=(128,), channels=16)
    agent = Sentinel(RotatingPixels.info(), [3, 5], config, CPU)
    obs = torch.rand(2, 3, 7, *RotatingPixels.SHAPE)
    logits = agent.online(obs)  # a batch of each member's own
    assert logits.shape == (2, 3, 4, 7, 51)
    family = q_network(1, RotatingPixels.info(), DQNConfig(), 51)
    for lane, member in product(range(2), range(3)):
        row = 3 * lane + member
        for own, theirs in zip(family.parameters(), agent.online.parameters(), strict=True):
            own.data.copy_(theirs[row : row + 1])
        expected = family(obs[lane, member, None])[0].transpose(0, 1)
        torch.testing.assert_close(logits[lane, member], expected)
    shared = agent.online(obs[:, :1])
    torch.testing.assert_close(shared[:, 0], logits[:, 0])
    assert not torch.allclose(shared[:, 1], logits[:, 1])


@pytest.mark.parametrize("only", [0, 1])
def test_invalid_actions_are_not_bootstrapped_from(only):
    agent = make([5])
    obs = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
    valid = (torch.arange(2) == only).expand(1, 3, 5, 2)
    batch = {"next_obs": obs[:, None].expand(-1, 3, -1, -1), "next_valid": valid}
    zeros = torch.zeros(1, 3, 5)
    batch |= {"reward": zeros, "terminated": zeros > 0, "action": zeros.long()}
    mean = (agent.target(obs[:, None]).softmax(-1)[:, :, only] * agent.support).sum(-1)
    found = (agent.bellman_target(batch) * agent.support).sum(-1)
    torch.testing.assert_close(found, 0.99 * mean, rtol=1e-3, atol=1e-3)


# --- learning, settings --------------------------------------------------------------------------


REFUSED = [
    ({"members": 0}, "members must be at least 1, got 0"),
    ({"mask_probability": 0.0}, "mask_probability must be in"),
    ({"ftrl_lambda": -1.0}, "ftrl_lambda must not be negative"),
    ({"v_min": 1.0, "v_max": 1.0}, "v_min < v_max"),
    ({"epsilon_final": 1.5}, "epsilon_final is a probability"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SentinelConfig(**settings)


LANES, MEMBERS = 2, 3


def filled(steps: int, capacity: int, p: float) -> tuple[Bootstrap, list[list[list[int]]]]:
    """Data sets after some steps, and the slots they should hold, oldest first."""
    clock = Clock(torch.device("cpu"))
    bootstrap = Bootstrap(LANES, MEMBERS, capacity, clock)
    masks = torch.rand(steps, LANES, MEMBERS, generator=torch.Generator().manual_seed(steps)) < p
    for mask in masks:
        bootstrap.add(mask[:, None])
        clock.advance()

    def held(lane: int, k: int) -> list[int]:
        return [t % capacity for t in range(max(0, steps - capacity), steps) if masks[t, lane, k]]

    return bootstrap, [[held(lane, k) for k in range(MEMBERS)] for lane in range(LANES)]


def test_every_data_set_holds_the_masked_transitions_that_are_in_the_replay():
    """Before the ring is full, at that moment and after it went round, with every density."""
    for capacity, steps, p in product((1, 7, 50), (1, 5, 49, 50, 51, 173), (0.0, 1 / 3, 1.0)):
        bootstrap, expected = filled(steps, capacity, p)
        for lane, k in product(range(LANES), range(MEMBERS)):
            own = expected[lane][k]
            assert bootstrap.sizes[lane, k] == len(own)
            if own:
                u = (torch.arange(len(own)) + 0.5) / len(own)
                assert bootstrap.draw(u.expand(LANES, MEMBERS, -1))[lane, k].tolist() == own


def test_masks_are_of_slots_and_the_largest_number_draws_the_newest():
    bootstrap, expected = filled(173, 50, 1 / 3)
    masks = bootstrap.masks(torch.arange(50).expand(LANES, -1))
    last = bootstrap.draw(torch.full((LANES, MEMBERS, 1), 1 - 2**-24))
    for lane, k in product(range(LANES), range(MEMBERS)):
        assert torch.nonzero(masks[lane, :, k]).flatten().tolist() == sorted(expected[lane][k])
        assert last[lane, k].item() == expected[lane][k][-1]
    empty, _ = filled(20, 50, 0.0)
    assert not empty.masks(empty.draw(torch.rand(LANES, MEMBERS, 4)).flatten(1)).any()


def scores(belief: BeliefConfig, seeds: range, **config: object) -> dict[str, torch.Tensor]:
    task, own = Beliefs(belief), CompositeRiskConfig(**config)
    estimator = CompositeRiskEstimator(task.problem, list(seeds), own, CPU)
    estimator.fit(task.data(seeds), task.reference_model(seeds), 1)
    return dict(task.score(seeds, asked_once(task, seeds, estimator.predict)))


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.9])
def test_cvar_of_one_gaussian_is_its_closed_form(alpha):
    z = NormalDist().inv_cdf(alpha)
    expected = 2 - 3 * NormalDist().pdf(z) / alpha
    law = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    assert gaussian_mixture_cvar(*law, alpha).item() == pytest.approx(expected, abs=1e-9)


def test_cvar_of_a_mixture_is_the_mean_of_the_worst_quarter_of_a_sample():
    """10⁶ draws; the standard error is 0.003, six of them are allowed."""
    rng = np.random.default_rng(0)
    law = np.array([[0.2, 0.5, 0.3], [-1.0, 0.5, 2.0], [2, 0.3, 1]])
    which = rng.choice(3, 1_000_000, p=law[0])
    worst = np.sort(rng.normal(law[1, which], law[2, which]))[:250_000].mean()
    given = gaussian_mixture_cvar(*torch.from_numpy(law), 0.25)
    assert given.item() == pytest.approx(worst, abs=0.02)


def test_the_atoms_of_a_gaussian_have_its_mean_and_tail_means():
    atoms = composites.standard_atoms()
    assert atoms.mean().item() == pytest.approx(0, abs=1e-12)
    tail = -NormalDist().pdf(NormalDist().inv_cdf(0.25)) * 4
    assert atoms[:100].mean().item() == pytest.approx(tail)


EXAMPLE_4 = [
    ({"ftrl_lambda": 1.0}, 0.414), ({"ftrl_lambda": 1.0, "ftrl_sign": 1}, 0.26), ({}, 1 / 3),
    ({"ftrl_lambda": 1e6}, 1), ({"ftrl_lambda": 1e6, "ftrl_sign": 1}, 0)]  # fmt: skip


@pytest.mark.parametrize(("settings", "expected"), EXAMPLE_4)
def test_example_4_in_the_texts_reading_and_with_the_printed_sign(settings, expected):
    found = scores(BeliefConfig("three"), range(1), **settings)["nearest_weight"].item()
    assert found == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.75])
def test_on_example_1_composite_is_below_total_below_additive_in_every_run(alpha):
    """And the additive one is the nearer in most runs where α ≤ ½: the claim does not hold."""
    belief, seeds = BeliefConfig("mixture", alpha), range(25)
    composite = scores(belief, seeds, risk=compose(CVaR(alpha), CVaR(alpha)))
    additive = scores(belief, seeds, risk=additive_risk(CVaR(alpha)))
    assert (composite["error"] < 0).all()
    assert (additive["error"] > 0).all()
    if alpha <= 0.5:
        assert (additive["abs_error"] < composite["abs_error"]).double().mean() > 0.6


def test_on_example_3_both_are_averse_and_agree_with_the_total_as_the_belief_concentrates():
    gaps = []
    for concentration in (1.0, 10.0, 100.0, 1_000.0):
        belief = BeliefConfig("beta", 0.25, concentration)
        for risk in (compose(CVaR(0.25), CVaR(0.25)), additive_risk(CVaR(0.25))):
            given = scores(belief, range(1), risk=risk)
            assert given["margin"].item() > 0  # a₁
            gaps.append(given["abs_error"].item())
    assert gaps[0::2] == sorted(gaps[0::2], reverse=True)
    assert gaps[1::2] == sorted(gaps[1::2], reverse=True)
    assert gaps[-2] < 0.05
    assert gaps[-1] < 0.01
    neutral = scores(BeliefConfig("beta"), range(1), risk=compose(Expectation(), Expectation()))
    assert neutral["stated"].item() == pytest.approx(0, abs=1e-9)


def test_the_parts_add_up():
    task = Beliefs(BeliefConfig("mixture"))
    estimator = CompositeRiskEstimator(task.problem, [0], CompositeRiskConfig(), CPU)
    given = estimator.predict(task.data([0, 1]).inputs)
    assert given.total.shape == (2, 1)
    torch.testing.assert_close(given.aleatoric + given.epistemic, given.total)
    assert (given.epistemic < 0).all()
    config = CompositeRiskConfig(risk=additive_risk(CVaR(0.25)))
    stated = CompositeRiskEstimator(task, [0], config, CPU).predict(task.data([0, 1]).inputs)
    torch.testing.assert_close(given.aleatoric, stated.total)


def test_the_normalization_constants_of_the_suite_are_the_error_of_the_mean():
    """Zero: |mean − CVaR_α| averaged over seeds 0 to 999."""
    suite = read_suites(Host.load(), check=()).suite("risk-estimation")
    constants = suite.normalization["abs_error"].constants
    for task in suite.tasks:
        belief = BeliefConfig(**task.config)
        beliefs = Beliefs(belief)._beliefs(range(1_000 if belief.example == "mixture" else 1))
        weights, means, stds = beliefs[:, 0].flatten(1, 2).unbind(-1)
        total = gaussian_mixture_cvar(weights, means, stds, belief.alpha)
        error = ((weights * means).sum(-1) - total).abs().mean().item()
        assert constants[task.name].zero == pytest.approx(error, abs=1e-3), task.name


MEANS, STDS = (0.0, -2.0, 2.0), (1.0, 0.5, 1.0)
every_kl = pytest.mark.parametrize("kl", ["member-to-mix", "mix-to-member"])


def example_4() -> Tensor:
    """Log-masses of the three Gaussians on a fine grid, ``[3, N]``."""
    z = torch.linspace(-12, 12, 24_001, dtype=torch.float64)
    mean, std = (torch.tensor(numbers, dtype=torch.float64)[:, None] for numbers in (MEANS, STDS))
    return (-((z - mean) ** 2) / (2 * std**2) - std.log()).log_softmax(-1)


LOSSES = [("member-to-mix", [0.481, 0.922, 0.740]), ("mix-to-member", [0.725, 13.157, 2.725])]


@pytest.mark.parametrize(("kl", "expected"), LOSSES)
def test_the_losses_of_example_4_are_divergences_from_the_member_to_the_mixture(kl, expected):
    """The example prints [.48, .92, .74] as KL(P̂ ‖ P_i): they are KL(P_i ‖ P̂)."""
    expected = torch.tensor(expected).double()
    torch.testing.assert_close(ftrl.losses(example_4(), kl), expected, atol=1e-3, rtol=0)
    torch.testing.assert_close(
        gaussians.divergences(gaussians.three_gaussians(), kl), expected, atol=1e-3, rtol=0
    )


WEIGHTS = [(1, [0.26, 0.40, 0.34], [0, 1, 0]), (-1, [0.414, 0.267, 0.319], [1, 0, 0])]


@pytest.mark.parametrize(
    ("sign", "at_one", "in_the_limit"), WEIGHTS, ids=["printed", "of the text"]
)
def test_the_weights_of_example_4_are_those_of_the_printed_sign(sign, at_one, in_the_limit):
    """At λ = 1, equal at 0; as λ grows all on the farthest member, or the text's nearest."""
    loss = ftrl.losses(example_4(), "member-to-mix")
    expected = torch.tensor(at_one).double()
    torch.testing.assert_close(ftrl.weights(loss, 1.0, sign), expected, atol=5e-3, rtol=0)
    torch.testing.assert_close(ftrl.weights(loss, 0.0, sign), torch.full((3,), 1 / 3).double())
    assert ftrl.weights(loss, 1e6, sign).tolist() == in_the_limit


logits = st.lists(st.floats(-30, 30), min_size=12, max_size=12).map(
    lambda numbers: torch.tensor(numbers, dtype=torch.float64).view(4, 3)
)


@every_kl
@settings(max_examples=40, deadline=None, derandomize=True)
@given(logits=logits, lam=st.floats(0, 20), sign=st.sampled_from([-1, 1]))
def test_weights_are_a_distribution_and_losses_are_bounded(kl, logits, lam, sign):
    loss = ftrl.losses(logits.log_softmax(-1), kl)
    assert (loss >= -1e-9).all()
    if kl == "member-to-mix":
        assert (loss <= math.log(4) + 1e-9).all()
    weights = ftrl.weights(loss, lam, sign)
    assert (weights >= 0).all()
    assert weights.sum().item() == pytest.approx(1)
    rises = weights[loss.argsort()].diff() * sign
    assert (rises >= -1e-12).all()  # monotone in the loss, in the direction of the sign


@every_kl
def test_equal_members_have_no_loss_and_equal_weights(kl):
    same = torch.randn(51, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    loss = ftrl.losses(same.expand(2, 4, 51), kl)
    torch.testing.assert_close(loss, torch.zeros(2, 4), atol=1e-6, rtol=0)
    torch.testing.assert_close(ftrl.weights(loss, 5.0, -1), torch.full((2, 4), 0.25))
