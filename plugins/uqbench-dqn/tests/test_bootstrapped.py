"""Bootstrapped DQN: heads, their targets, one head per episode."""

from itertools import product
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.bootstrapped_network import heads_network
from uqbench_dqn.config import BootstrappedDQNConfig

from uqbench.agent import EnvironmentInfo, Step
from uqbench.lanes import initialize, lane_generators
from uqbench.risk import CVaR, MarginalRisk
from uqbench.testing.worlds import RotatingPixels, act, step_of_actors

CPU = torch.device("cpu")
SMALL = {
    "hidden": (6,), "heads": 4, "learning_starts": 40, "target_sync_period": 45,
    "epsilon_decay_steps": 60}  # fmt: skip


def make(seeds=(3, 5), **settings: Any) -> BootstrappedDQN:
    """On vectors of three numbers."""
    info = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, discount=0.9, total_steps=1_000)
    return BootstrappedDQN(info, seeds, BootstrappedDQNConfig(**{**SMALL, **settings}), CPU)


def observations(seed: int = 0) -> Tensor:
    return torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(seed))


def transitions() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    valid = torch.rand(2, 7, 4, generator=generator) < 0.7
    valid[..., 1] = True
    seen = {"obs": observations(0), "next_obs": observations(2), "next_valid": valid}
    return seen | {
        "action": torch.randint(4, (2, 7), generator=generator),
        "reward": torch.randn(2, 7, generator=generator),
        "terminated": torch.rand(2, 7, generator=generator) < 0.3,
    }


def head_by_hand(agent: BootstrappedDQN, lane: int, head: int, x: Tensor) -> Tensor:
    """One head's values ``[B, A]`` with plain matrix products."""
    for number, layer in enumerate(agent.online.layers):
        x = x @ layer.weight[lane, head] + layer.bias[lane, head]
        x = x.relu() if number == 0 else x
    return x


def test_every_head_is_a_network_of_its_own():
    agent, obs = make(), observations()
    values = agent.online(obs)
    assert values.shape == (2, 7, 4, 4)
    for lane, head in product(range(2), range(4)):
        expected = head_by_hand(agent, lane, head, obs[lane])
        assert torch.allclose(values[lane, ..., head], expected, atol=1e-6)
    assert torch.allclose(agent.q_values(values), values.mean(-1))


def test_heads_share_one_convolution():
    config = BootstrappedDQNConfig(**SMALL, channels=4)
    agent = BootstrappedDQN(RotatingPixels.info(), (3, 5), config, CPU)
    trunk = agent.online.convolutions[0].product.weight
    assert trunk.shape == (2, 27, 4)  # no dimension of heads
    before = agent.online(torch.ones(2, 1, *RotatingPixels.SHAPE, dtype=torch.bool))
    with torch.no_grad():
        trunk[0] += 1.0
    after = agent.online(torch.ones(2, 1, *RotatingPixels.SHAPE, dtype=torch.bool))
    assert (before[0] != after[0]).any(1).all()  # every head of the lane, and no other lane
    assert torch.equal(before[1], after[1])


@pytest.mark.parametrize("shared", ["own", "mean", "min"])
def test_every_head_learns_from_its_own_target_or_from_a_shared_one(shared):
    agent, data = make(targets=shared), transitions()
    of = {"own": None, "mean": lambda q: sum(q) / len(q), "min": min}[shared]
    with torch.no_grad():
        for parameter in agent.target.parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
    targets, values = agent.bellman_target(data), agent.target(data["next_obs"])
    for lane, b, head in product(range(2), range(7), range(4)):
        valid = values[lane, b, data["next_valid"][lane, b]].tolist()
        allowed = [heads[head] if of is None else of(heads) for heads in valid]
        goes_on = 0.0 if data["terminated"][lane, b] else 0.9
        expected = data["reward"][lane, b].item() + goes_on * max(allowed)
        assert targets[lane, b, head].item() == pytest.approx(expected, abs=1e-5)


def test_the_loss_is_huber_averaged_over_heads():
    agent = make()
    predicted, target = torch.tensor([[0.0, 0.0, 1.0, 3.0]]), torch.tensor([[0.5, -2.0, 1.0, 0.0]])
    assert agent.loss(predicted, target).item() == pytest.approx((0.125 + 1.5 + 0.0 + 2.5) / 4)


@pytest.mark.parametrize("shape", [(3, 6, 6), (5,)])
def test_one_head_alone_has_the_bits_that_it_has_among_the_others(shape):
    config = BootstrappedDQNConfig(heads=4, hidden=(24, 16))
    network = heads_network(5, EnvironmentInfo(spaces.Box(-1, 1, shape), 3, 0.9, 100), config)
    initialize(network, lane_generators(range(5)), 1.0)
    obs = torch.randn(5, 7, *shape, generator=torch.Generator().manual_seed(0))
    head = torch.randint(4, (5, 7), generator=torch.Generator().manual_seed(1))
    among = network(obs).gather(-1, head[..., None, None].expand(-1, 7, 3, 1)).squeeze(-1)
    assert torch.equal(network.of_heads(obs, head), among)
    for one in range(7):
        alone, own = (obs[:, one, None], head[:, one, None]), head[:, one, None, None, None]
        among = network(alone[0]).gather(-1, own.expand(-1, 1, 3, 1)).squeeze(-1)
        assert torch.equal(network.of_heads(*alone), among)


def test_a_head_learns_from_the_transitions_of_its_mask_alone():
    agent = make(mask_probability=0.5, hidden=())
    masks = torch.rand(2, 7, 4, generator=torch.Generator().manual_seed(3)) < 0.5
    masks[0, :, 2] = False
    batch = transitions()
    objective = agent.objective(batch | {"mask": masks}).sum()
    (gradient,) = torch.autograd.grad(objective, [agent.online.layers[0].weight])
    assert (gradient[0, 2] == 0).all()  # nothing is its own
    plain = make(hidden=())
    for lane, head in product(range(2), range(4)):
        own = plain.objective({n: value[:, masks[lane, :, head]] for n, value in batch.items()})
        (expected,) = torch.autograd.grad(own.sum(), [plain.online.layers[0].weight])
        torch.testing.assert_close(gradient[lane, head], expected[lane, head])


def test_a_transition_keeps_its_masks_which_are_bernoulli():
    assert make().masks is None  # ones are not stored
    agent = make(mask_probability=0.25, learning_starts=10_000)
    for t in range(500):
        agent.observe(step(t))
    every = agent.minibatch(torch.arange(500).expand(2, -1))["mask"]
    assert every.shape == (2, 500, 4)
    # binomial, n = 4000, p = 1/4: five standard deviations are 137; wrong once in a million
    assert abs(int(every.sum()) - 1000) < 137
    some = agent.minibatch(torch.tensor([[7, 3], [9, 9]]))["mask"]
    assert torch.equal(some, torch.stack([every[0, [7, 3]], every[1, [9, 9]]]))


def test_an_episode_is_played_greedily_by_its_head():
    agent, obs = make(epsilon_initial=0.0, epsilon_final=0.0), observations()[:, 0]
    for heads in ([0, 3], [2, 1]):
        agent._head.copy_(torch.tensor(heads)[:, None])
        chosen = act(agent, obs)
        for lane, head in enumerate(heads):
            assert chosen[lane] == head_by_hand(agent, lane, head, obs[lane, None])[0].argmax()
    only = torch.tensor([[False, False, True, False], [True, False, False, False]])
    assert act(agent, obs, only).tolist() == [2, 0]


def step(t: int, terminated: bool = False, truncated: bool = False) -> Step:
    obs = torch.zeros(2, 3)
    ends, cut = torch.tensor([[terminated, False], [truncated, False]])
    return step_of_actors(obs, torch.zeros(2).long(), torch.zeros(2), ends, cut, obs)


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_a_new_head_is_drawn_only_where_an_episode_ends(ending):
    agent = make(learning_starts=10_000)
    first, heads = agent._head.clone(), []
    for t in range(400):
        agent.observe(step(t))
        assert torch.equal(agent._head, first)  # neither lane's episode ended
        agent._head.copy_(first)
    for t in range(400, 1_600):
        agent.observe(step(t, **{ending: True}))
        heads.append(agent._head[0].item())
        assert agent._head[1] == first[1]
    counts = torch.bincount(torch.tensor(heads), minlength=4)
    # binomial, n = 1200, p = 1/4: five standard deviations are 75; wrong once in 400,000
    assert (counts - 300).abs().max() < 75


@pytest.mark.parametrize("risk", [None, MarginalRisk(CVaR(0.5))])
def test_it_predicts_its_heads_as_a_sample_and_is_evaluated_by_their_mean_or_risk(risk):
    agent, obs = make(risk=risk, epsilon_initial=0.0), observations()
    said, heads = agent.uncertainty(obs), agent.online(obs)
    assert torch.equal(said.value_samples, heads)
    assert torch.allclose(said.mean, heads.mean(-1))
    assert torch.allclose(said.epistemic_var, heads.var(-1))
    worth = heads.mean(-1) if risk is None else heads.sort(-1).values[..., :2].mean(-1)
    assert torch.equal(agent.policy(obs), worth.argmax(-1))
    if risk is not None:
        assert torch.equal(act(agent, obs[:, 0]), worth[:, 0].argmax(-1))


def test_heads_may_start_as_torchs_own_layers():
    agent = make(head_weights="uniform", hidden=(64,))
    assert torch.equal(agent.online.layers[0].weight, agent.target.layers[0].weight)
    for layer in agent.online.layers:
        bound = layer.weight.shape[-2] ** -0.5
        for parameter in (layer.weight, layer.bias):
            assert 0.8 * bound < parameter.abs().max() <= bound
            assert (parameter[:, 0] != parameter[:, 1]).all()  # heads differ
    alone = make([5], head_weights="uniform", hidden=(64,))
    assert torch.equal(alone.online.layers[1].bias[0], agent.online.layers[1].bias[1])
