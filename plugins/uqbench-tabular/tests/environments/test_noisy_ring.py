"""The ring on which noise and ignorance are told apart."""

from __future__ import annotations

import pytest
import torch
from uqbench_tabular.environments.config import NoisyRingConfig
from uqbench_tabular.environments.noisy_ring import (
    JUMP,
    STATES,
    STEP,
    NoisyRing,
    noisy_ring,
    ring_truth,
)
from uqbench_tabular.planning import policy_iteration

from uqbench.registry.plugins import Host
from uqbench.suites.reading import read_suites

CPU = torch.device("cpu")


@pytest.mark.parametrize("sigma", [0.0, 0.5, 2.0])
def test_the_noise_is_all_that_varies_in_every_state_and_under_every_policy(sigma):
    policies = torch.tensor([[STEP] * STATES, [JUMP] * STATES, [JUMP, STEP, JUMP, STEP]])
    truth = ring_truth(NoisyRingConfig(sigma=sigma), 0.9, []).evaluate(policies)
    expected = torch.full((3, STATES, 2), sigma**2 / (1 - 0.81)).double()
    torch.testing.assert_close(truth.return_var, expected)


def test_values_do_not_depend_on_the_noise_and_are_the_suites_constants(monkeypatch):
    """``V(0) = ½ + γ² / 1 …``: a jump and two steps pay 1.5 in three steps."""
    monkeypatch.setenv("UQBENCH_PLUGINS", "tabular,ube,dqn")
    quiet, loud = (policy_iteration(noisy_ring(NoisyRingConfig(sigma=s)).mdp, 0.9) for s in (0, 2))
    assert torch.equal(quiet, loud)
    assert quiet[0, JUMP].item() == pytest.approx((0.5 + 0.81) / (1 - 0.9**3))
    suite = read_suites(Host.load()).suite("noise-and-ignorance")
    constants = suite.normalization_constants(suite.metric("q_error"))
    root = quiet.square().mean().sqrt().item()
    assert len(constants) == len(suite.tasks) == 12
    assert [c.zero for c in constants.values()] == pytest.approx([root] * 12, abs=1e-12)


def test_observations_are_one_hot_and_rewards_have_the_noise():
    """8,000 rewards: their standard deviation has a relative error of 0.8 %."""
    env = NoisyRing(NoisyRingConfig(sigma=2.0), range(2_000), None, CPU)
    obs, _ = env.reset()
    assert obs[0].tolist() == [1, 0, 0, 0]
    rewards = []
    for at in ((0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0)):
        out = env.step(torch.zeros(2_000, dtype=torch.int64))
        assert out.obs[7].tolist() == out.next_obs[7].tolist() == list(at)
        rewards.append(out.reward)
    assert rewards[3].mean().item() == pytest.approx(1, abs=0.2)
    spread = torch.cat([rewards[0], rewards[1], rewards[2], rewards[3] - 1]).std().item()
    assert spread == pytest.approx(2, rel=0.04)
