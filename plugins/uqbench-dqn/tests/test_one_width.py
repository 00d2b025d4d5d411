"""The row that states one width, and statements at every size."""

import torch
from gymnasium import spaces
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.one_width import OneWidth
from uqbench_dqn.sizes import SIZES, at_sizes

from uqbench.agent import EnvironmentInfo, Uncertainty


def test_its_mean_is_dqn_s_and_its_width_is_the_same_everywhere():
    info = EnvironmentInfo(spaces.Box(0, 1, (3,)), 2, 0.9, 10)
    config = DQNConfig(hidden=(8,), batch_size=4, replay_capacity=8)
    obs = torch.rand(2, 5, 3)
    agent, dqn = (kind(info, [1, 2], config, torch.device("cpu")) for kind in (OneWidth, DQN))
    said = agent.uncertainty(obs)
    assert torch.equal(said.mean, dqn.uncertainty(obs).mean)
    assert said.epistemic_var.eq(1).all()
    assert said.epistemic_dof.isinf().all()


def test_at_a_size_widths_and_samples_are_that_many_times_as_far_from_the_same_mean():
    samples = torch.randn(1, 2, 2, 6).double()
    said = Uncertainty(mean=samples.mean(-1), epistemic_var=samples.var(-1), value_samples=samples)

    def score(of: Uncertainty) -> dict[str, torch.Tensor]:
        assert torch.equal(of.mean, said.mean)
        assert torch.allclose(of.value_samples.var(-1), of.epistemic_var)
        assert torch.allclose(of.value_samples.mean(-1), said.mean)
        return {"std": of.epistemic_var.sqrt().flatten(1).mean(1), "other": torch.zeros(1)}

    found = at_sizes(score, said, ("std",))
    assert len(found) == 2 + len(SIZES)
    for k, size in enumerate(SIZES):
        assert torch.allclose(found[f"std@{k}"], size * found["std"])
