"""The posterior over MDPs: conjugate updates, moments of its samples, independence of lanes."""

import numpy as np
import pytest
import torch
from uqbench_tabular.posteriors.mdp_posterior import MDPPosterior
from uqbench_tabular.posteriors.normal_gamma import variance_of_mean

from uqbench.lanes import generators

CPU = torch.device("cpu")
N = 40_000
SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors: a normal one is farther once in 1.7 million,
and the seeds are fixed."""


def history(lanes: int = 2, length: int = 300) -> list[tuple[torch.Tensor, ...]]:
    """(state, action, reward, following), each ``[L]``, of three states and two actions."""
    g = torch.Generator().manual_seed(0)

    def step() -> tuple[torch.Tensor, ...]:
        state, action, following = (torch.randint(n, (lanes,), generator=g) for n in (3, 2, 3))
        return state, action, torch.randn(lanes, generator=g), following

    return [step() for _ in range(length)]


def prior(lanes: int, counts: float = 1.0, rewards=(0.0, 4.0, 3.0, 3.0)) -> MDPPosterior:
    """The paper's prior by default."""
    return MDPPosterior.prior((lanes, 3, 2), counts=counts, rewards=rewards, device=CPU)


def learned(steps, counts=1.0, rewards=(0.0, 4.0, 3.0, 3.0)):
    posterior = prior(len(steps[0][0]), counts, rewards)
    for step in steps:
        posterior = posterior.updated(*step)
    return posterior


def test_the_dirichlet_parameters_are_the_prior_plus_the_counts():
    steps = history()
    expected = torch.full((2, 3, 2, 3), 1.0, dtype=torch.float64)
    for state, action, _, following in steps:
        for lane in range(2):
            expected[lane, state[lane], action[lane], following[lane]] += 1
    assert torch.equal(learned(steps).counts, expected)


def test_the_normal_gamma_parameters_are_those_of_all_rewards_at_once():
    """The closed form for n rewards: β_n = β + Σ(r − r̄)²/2 + λ n (r̄ − μ₀)² / (2 (λ + n))."""
    steps = history()
    rewards = learned(steps, rewards=(0.3, 2.0, 1.5, 0.7)).rewards
    for lane, s, a, f in np.ndindex(2, 3, 2, 3):
        own = [[part[lane].item() for part in step] for step in steps]
        seen = [
            reward for state, action, reward, after in own if (state, action, after) == (s, a, f)
        ]
        n, mean = len(seen), np.mean(seen)
        assert n > 5
        squares = np.sum((np.array(seen) - mean) ** 2)
        at = (lane, s, a, f)
        assert rewards.mu0[at].item() == pytest.approx((2.0 * 0.3 + n * mean) / (2.0 + n))
        assert rewards.lam[at].item() == 2.0 + n
        assert rewards.alpha[at].item() == 1.5 + n / 2
        assert rewards.beta[at].item() == pytest.approx(
            0.7 + squares / 2 + 2.0 * n * (mean - 0.3) ** 2 / (2 * (2.0 + n))
        )


def test_generators_are_functions_of_seed_stream_and_step():
    def numbers(seed: int, stream: str, t: int) -> list[float]:
        return generators([9, seed], stream, t)[1].random(4).tolist()

    assert numbers(1, "a", 5) == numbers(1, "a", 5)
    others = [numbers(2, "a", 5), numbers(1, "b", 5), numbers(1, "a", 6)]
    assert all(set(other).isdisjoint(numbers(1, "a", 5)) for other in others)


def test_the_variance_of_a_backup_is_that_of_sampled_models(generator):
    """Of ``Σ p (r̄ + γ V)`` with dynamics and mean rewards both unknown, V known.

    The rewards' part is exact where it is ``Σ E[p²] Var r̄``; the paper has ``Σ E[p] Var r̄``, which
    is larger by ``Σ (E[p] − E[p²]) Var r̄``.
    """
    posterior = learned(history(lanes=1, length=60))
    values = torch.tensor([[2.0, -3.0, 10.0]], dtype=torch.float64)
    mdps = posterior.sample([generator(5)], N, torch.ones(1, 3, 2, dtype=torch.bool))
    drawn = (mdps.transitions * (mdps.rewards + 0.9 * values[:, None, None, None])).sum(-1)[0]
    squares = (drawn - drawn.mean(0)) ** 2
    mean = posterior.counts / posterior.counts.sum(-1, keepdim=True)
    of_squares = mean**2 + mean * (1 - mean) / (posterior.counts.sum(-1, keepdim=True) + 1)
    more = ((mean - of_squares) * variance_of_mean(posterior.rewards)).sum(-1)
    given = posterior.variance_of_backup(values, 0.9) - more
    error = squares.std(0) / N**0.5
    assert ((squares.mean(0) - given[0]).abs() < SIGMAS * error).all()
    assert (more > SIGMAS * error).all()  # the difference would be seen
