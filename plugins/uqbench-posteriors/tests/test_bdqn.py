"""A Bayesian last layer: the posterior in closed form, one update by another program, capture."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from uqbench_posteriors import bdqn
from uqbench_posteriors.bdqn import BDQN
from uqbench_posteriors.config import BDQNConfig

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {"hidden": (8, 6), "learning_starts": 500}


def filled(steps: int = 90, **settings: Any) -> BDQN:
    """An agent whose buffer holds random transitions, and that has not learned."""
    agent = BDQN(FLAT, [4, 8], BDQNConfig(**SMALL | settings), CPU)
    agent.target.load_state_dict(BDQN(FLAT, [9, 3], BDQNConfig(**SMALL), CPU).online.state_dict())
    for step in transitions([7, 2], (3,), 4, steps):
        agent.observe(step)
    return agent


def targets(agent: BDQN, lane: int, index: np.ndarray) -> tuple[np.ndarray, ...]:
    """Features, actions and double-DQN targets of stored transitions, by NumPy."""
    minibatch = agent.minibatch(torch.tensor(index)[None].expand(2, -1))
    batch = {name: values[lane].numpy() for name, values in minibatch.items()}

    def features(network: Any, obs: np.ndarray) -> np.ndarray:
        x = obs
        for layer in network.layers:
            weight, bias = layer.weight[lane].detach().numpy(), layer.bias[lane].detach().numpy()
            x = np.maximum(x @ weight + bias, 0)
        return x.astype(np.float64)

    drawn, mean = agent.drawn[lane].numpy(), agent.mean[lane].numpy()
    best = (features(agent.online, batch["next_obs"]) @ drawn.T).argmax(-1)
    following = (features(agent.target, batch["next_obs"]) @ mean.T)[np.arange(len(best)), best]
    y = batch["reward"] + 0.9 * ~batch["terminated"] * following
    return features(agent.online, batch["obs"]), batch["action"], y


@pytest.mark.parametrize("kept", [100_000, 40])
def test_the_posterior_is_the_closed_form(kept, monkeypatch):
    """All that is stored, or forty of ninety; in chunks that do not divide it."""
    monkeypatch.setattr(bdqn, "CHUNK", 17)
    agent = filled(posterior_transitions=kept, prior_var=0.5, noise_var=0.2)
    agent.mean.normal_(generator=torch.Generator().manual_seed(0))
    index = np.arange(90) if kept > 90 else np.arange(40) * 90 // 40
    by_numpy = [targets(agent, lane, index) for lane in range(2)]
    agent.update_posterior()
    for lane, (phi, action, y) in enumerate(by_numpy):
        for a in range(4):
            rows = phi[action == a]
            cov = np.linalg.inv(rows.T @ rows / 0.2 + np.eye(6) / 0.5)
            mean = cov @ rows.T @ y[action == a] / 0.2
            np.testing.assert_allclose(agent.mean[lane, a].numpy(), mean, rtol=2e-4, atol=2e-5)
            factor = agent.factor[lane, a].numpy()
            np.testing.assert_allclose(factor @ factor.T, cov, rtol=2e-4, atol=2e-5)


def test_before_any_data_it_is_the_prior():
    agent = BDQN(FLAT, [0], BDQNConfig(**SMALL, prior_var=0.09), CPU)
    obs = torch.randn(1, 5, 3)
    stated = agent.uncertainty(obs)
    assert not stated.mean.any()
    norms = 0.09 * agent.online(obs).square().sum(-1)
    torch.testing.assert_close(stated.epistemic_var, norms[..., None].expand(1, 5, 4))


def test_what_is_stated_is_the_posterior_of_the_values():
    """Variance ``φᵀ Ξ φ``; samples of one draw of all weights: a tenth at 4,000 draws, 4σ."""
    agent = filled(samples=4_000, prior_var=0.5)
    agent.update_posterior()
    obs = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(3))
    stated, phi = agent.uncertainty(obs), agent.online(obs).detach().numpy()
    for lane in range(2):
        for a in range(4):
            factor = agent.factor[lane, a].numpy()
            joint = phi[lane] @ factor @ factor.T @ phi[lane].T
            np.testing.assert_allclose(stated.epistemic_var[lane, :, a], np.diag(joint), rtol=1e-4)
            found = np.cov(stated.value_samples[lane, :, a].numpy())
            scale = np.sqrt(np.outer(np.diag(joint), np.diag(joint)))
            assert (np.abs(found - joint) <= 0.1 * scale).all()


def test_one_update_is_that_of_another_program():
    """Squared error of the draw's values; its weights are not learned, the features are."""
    agent = filled(learning_rate=1e-2, prior_var=1.0)
    agent.mean.normal_(generator=torch.Generator().manual_seed(0))
    index, expected = np.arange(20, 52), []
    for lane in range(2):
        _, action, y = targets(agent, lane, index)
        obs = agent.minibatch(torch.tensor(index)[None].expand(2, -1))["obs"][lane]
        weights = [p[lane].detach().clone().requires_grad_() for p in agent.online.parameters()]
        x = obs
        for weight, bias in zip(weights[::2], weights[1::2], strict=True):
            x = torch.relu(x @ weight + bias)
        values = x @ agent.drawn[lane].T
        error = torch.tensor(y, dtype=torch.float32) - values[range(32), torch.tensor(action)]
        error.square().mean().backward()
        torch.optim.Adam(weights, lr=1e-2, eps=1e-8).step()
        expected.append(weights)
    drawn = agent.drawn.clone()
    agent.learn(torch.tensor(index)[None].expand(2, -1))
    assert torch.equal(agent.drawn, drawn)
    for lane in range(2):
        for found, one in zip(agent.online.parameters(), expected[lane], strict=True):
            torch.testing.assert_close(found[lane], one, rtol=2e-5, atol=2e-6)


def test_the_posterior_follows_every_tenth_sync_and_a_draw_lasts_a_period():
    config = BDQNConfig(learning_starts=50, target_sync_period=20, sample_period=30)
    agent = BDQN(FLAT, [0], config, CPU)
    phases = {t: agent.phase(t) for t in range(1_000)}
    synced = [t for t, (_, syncs, *_) in phases.items() if syncs]
    updated = [t for t, (*_, due, _) in phases.items() if due]
    assert updated == list(range(200, 1_000, 200))
    assert len(synced) // len(updated) in (9, 10, 11)
    assert set(updated) <= set(synced)
    assert [t for t, phase in phases.items() if phase[-1]] == list(range(29, 1_000, 30))


def test_the_actions_are_those_of_the_draw():
    agent, obs = filled(prior_var=1.0), torch.randn(2, 9, 3)
    expected = torch.einsum("lbd,lad->lba", agent.online(obs), agent.drawn).argmax(-1)
    assert torch.equal(agent.act(obs), expected)
    agent.drawn.neg_()
    assert not torch.equal(agent.act(obs), expected)
