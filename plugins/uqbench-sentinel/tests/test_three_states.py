"""The three-state process: rewards of the stated laws, lanes alone, resuming, what is known."""

from functools import partial

import pytest
import torch
from uqbench_sentinel.three_states import ThreeStates, ThreeStatesConfig, return_distributions

from uqbench.testing.conformance.environments import EnvironmentSubject
from uqbench.testing.results import results

BIMODAL = ThreeStatesConfig(first_mean=0.95, second_mean=-0.95)


def rewards(seeds: list[int], action: int, steps: int) -> torch.Tensor:
    env = ThreeStates(BIMODAL, seeds)
    env.reset()
    chosen = torch.full((len(seeds),), action)
    return torch.stack([env.step(chosen).reward for _ in range(steps)])


def test_rewards_have_the_stated_laws():
    """4,000 draws; six standard errors."""
    mixed, plain = rewards([0], 0, 4_000), rewards([0], 1, 4_000)
    low, high = mixed[mixed < 0], mixed[mixed > 0]
    assert abs(len(high) / len(mixed) - 0.5) < 6 * 0.5 / 4_000**0.5
    for sample, mean in ((low, -0.95), (high, 0.95), (plain[:, 0], -0.95)):
        assert abs(sample.mean() - mean) < 6 * 0.1 / len(sample) ** 0.5
        assert abs(sample.std() - 0.1) < 6 * 0.1 / (2 * len(sample)) ** 0.5


def test_an_episode_is_one_step_to_the_actions_state():
    env = ThreeStates(BIMODAL, [0, 1])
    obs, _ = env.reset()
    outcome = env.step(torch.tensor([0, 1]))
    assert obs.tolist() == outcome.obs.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert outcome.next_obs.tolist() == [[0, 1, 0], [0, 0, 1]]
    assert outcome.terminated.all()
    assert not outcome.truncated.any()


@pytest.mark.parametrize("rule", ["environment-lanes", "environment-state"])
def test_a_lane_does_the_same_alone_and_goes_on_from_what_was_saved(rule):
    (found,) = results([EnvironmentSubject(name="three", make=partial(ThreeStates, BIMODAL))], rule)
    assert found.status == "passed", str(found)


def test_what_is_known_of_it_has_the_moments_of_the_mixture():
    truth = return_distributions(BIMODAL, 0.99)
    torch.testing.assert_close(truth.return_probs.sum(-1), torch.ones(1, 2).double())
    assert truth.values[0].tolist() == pytest.approx([0.0, -0.95], abs=1e-6)
    variance = (truth.return_probs * truth.return_atoms.square()).sum(-1) - truth.values**2
    expected = torch.tensor([[0.95**2 + 0.01, 0.01]]).double()
    torch.testing.assert_close(variance, expected, rtol=1e-2, atol=0)
    uneven = ThreeStatesConfig(first_mean=1.0, second_mean=-1.0, first_weight=0.2)
    values = return_distributions(uneven, 0.99).values
    assert values[0].tolist() == pytest.approx([-0.6, -1.0], abs=1e-6)
