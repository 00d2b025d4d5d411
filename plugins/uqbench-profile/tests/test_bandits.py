"""The table of bandits: its data, its exact posterior, and what planted statements score."""

from collections import deque
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from uqbench_profile.bandit_agents import Bayes, Climatology, stated
from uqbench_profile.bandit_scores import EVERYTHING, exact_truth, posterior, scores, slopes
from uqbench_profile.bandit_table import ACTIONS, CELLS, EACH, KINDS, STATES, BanditTable, Table
from uqbench_profile.laws import Law, excess, mean_distance
from uqbench_profile.widths import AVERSION, utility

from uqbench.agent import Agent, EnvironmentInfo, Uncertainty
from uqbench.specs import NoConfig
from uqbench.testing.same_bits import train

CPU = torch.device("cpu")
SEEDS = range(40)
CAPABILITIES = {"score", *EVERYTHING}


def info(total_steps: int = 3_000) -> EnvironmentInfo:
    return EnvironmentInfo(BanditTable.observation_space, ACTIONS, 0.9, total_steps)


def exact(table: Table) -> Uncertainty:
    return stated(*posterior(table), table.laws())


# --- laws ----------------------------------------------------------------------------------------


def test_distances_of_normal_laws_and_of_atoms_are_the_known_ones() -> None:
    one = torch.ones(1, dtype=torch.float64)
    normal, atom = Law(one, 0 * one, one), Law(one, 0 * one, 0 * one)
    assert mean_distance(normal, normal).item() == pytest.approx(2 / torch.pi**0.5)
    assert mean_distance(atom, Law(one, 3 * one, 0 * one)).item() == 3.0
    assert mean_distance(atom, normal).item() == pytest.approx((2 / torch.pi) ** 0.5)
    assert excess(normal, normal).item() == pytest.approx(0, abs=1e-12)
    assert excess(atom, normal).item() == pytest.approx((2 / torch.pi) ** 0.5 - 1 / torch.pi**0.5)


def test_distances_of_mixtures_are_those_of_samples() -> None:
    law = Law(*torch.tensor([[0.3, 0.7], [-2.0, 1.0], [0.5, 0.0]]).double())
    generator = torch.Generator().manual_seed(0)
    mode = (torch.rand(2, 200_000, generator=generator) > 0.3).long()
    drawn = law.means[mode] + law.stds[mode] * torch.randn(2, 200_000, generator=generator)
    away = (drawn[0] - drawn[1]).abs().mean().item()
    assert mean_distance(law, law).item() == pytest.approx(away, abs=0.015)  # standard error 0.003


# --- the table -----------------------------------------------------------------------------------


def test_every_lane_sees_its_own_rewards_once_and_then_rests() -> None:
    env, table = BanditTable(NoConfig(), range(3)), Table.drawn(range(3))
    obs, valid = env.reset()
    data = table.order.shape[1]
    assert data == EACH * ACTIONS * sum(kind.data for kind in KINDS)
    total = torch.zeros(3, STATES, ACTIONS, dtype=torch.float64)
    count = torch.zeros(3, STATES, ACTIONS)
    for _ in range(data):
        assert (valid.sum(-1) == 1).all()
        action = valid.long().argmax(-1)
        out = env.step(action)
        place = (torch.arange(3), obs.argmax(-1), action)
        total[place] += out.reward.double()
        count[place] += 1
        assert out.terminated.all()
        obs, valid = out.obs, out.valid
    assert torch.equal(count, table.of_kind("data").expand_as(count).float())
    seen = torch.arange(table.rewards.shape[-1]) < table.of_kind("data")[..., None]
    torch.testing.assert_close(total, (table.rewards * seen).sum(-1), atol=1e-4, rtol=1e-5)
    assert (obs.argmax(-1) == STATES).all()
    assert (env.step(torch.zeros(3, dtype=torch.int64)).reward == 0).all()
    with pytest.raises(ValueError, match="the one action that is valid"):
        env.step(torch.ones(3, dtype=torch.int64))


def test_the_posterior_is_bayes_rule_on_a_grid() -> None:
    table = Table.drawn([3])
    mean, std = posterior(table)
    grid = torch.linspace(-6, 6, 24_001, dtype=torch.float64)
    for cell in CELLS:
        state = int((table.kind[0] == KINDS.index(cell)).nonzero()[0])
        rewards = table.rewards[0, state, 1, : cell.data]
        log = -0.5 * grid.square() - 0.5 * ((rewards[:, None] - grid) / cell.noise).square().sum(0)
        weight = (log - log.max()).exp()
        weight = weight / weight.sum()
        expected = (weight * grid).sum()
        deviation = (weight * (grid - expected).square()).sum().sqrt()
        assert mean[0, state, 1].item() == pytest.approx(expected.item(), abs=1e-6)
        assert std[0, state, 1].item() == pytest.approx(deviation.item(), rel=1e-4)


def test_the_utility_of_a_bet_is_its_integral() -> None:
    grid = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
    for mean, std in ((0.3, 0.5), (-0.2, 1.0), (1.0, 0.1)):
        density = torch.exp(-0.5 * ((grid - mean) / std).square())
        expected = (density * torch.where(grid > 0, grid, AVERSION * grid)).sum() / density.sum()
        found = utility(torch.tensor(mean).double(), torch.tensor(std).double())
        assert found.item() == pytest.approx(expected.item(), abs=1e-5)


# --- planted statements --------------------------------------------------------------------------


def test_exact_bayes_scores_1_in_every_capability() -> None:
    table = Table.drawn(SEEDS)
    found = scores(table, exact(table))
    assert found.keys() == CAPABILITIES | {"epistemic_scale"}
    for name in CAPABILITIES:
        assert found[name].mean() > 0.995, name
    assert found["epistemic_scale"].abs().max() < 1e-9


def test_what_is_not_stated_has_no_score_and_without_one_there_is_no_mean() -> None:
    table = Table.drawn(SEEDS)
    honest = exact(table)
    for nothing in (Uncertainty(), Uncertainty(mean=posterior(table)[0])):
        assert scores(table, nothing) == {}
    without = scores(table, replace(honest, return_atoms=None, return_probs=None))
    assert without.keys() == {"epistemic_scale", *EVERYTHING} - {"aleatoric_calibration"}
    alone = scores(table, Uncertainty(mean=honest.mean, epistemic_var=honest.epistemic_var))
    assert alone.keys() == {"epistemic_shape", "epistemic_scale", "decisions", "unseen_states"}


def test_constants_score_0_or_less_whatever_they_are() -> None:
    table = Table.drawn(SEEDS)
    mean, std = posterior(table)
    for constant in (0.05, 0.3, 1.0, 20.0):
        found = scores(table, stated(mean, torch.full_like(std, constant), table.laws()))
        assert found["epistemic_shape"].abs().max() <= 1e-9
        assert found["decisions"].max() <= 0.02  # of a constant that is not among those tried
        assert found["unseen_states"].abs().max() == 0
    certain = Uncertainty(mean=mean, epistemic_var=torch.zeros_like(std))
    assert scores(table, certain)["decisions"].mean() < -0.3
    own = Uncertainty(
        mean=mean, epistemic_var=torch.full_like(std, 0.1), aleatoric_var=torch.full_like(std, 2.0)
    )
    assert scores(table, own)["disentanglement"].abs().max() <= 1e-9


DISTORTED = [
    ("epistemic_shape", lambda u: replace(u, epistemic_var=u.epistemic_var.sqrt())),
    ("epistemic_shape", lambda u: replace(u, epistemic_var=u.epistemic_var + 0.2)),
    ("disentanglement", lambda u: replace(u, epistemic_var=u.epistemic_var + u.aleatoric_var)),
    ("disentanglement", lambda u: replace(u, aleatoric_var=u.epistemic_var)),
    ("aleatoric_calibration", lambda u: replace(u, return_atoms=2 * u.return_atoms)),
    ("aleatoric_calibration", lambda u: replace(u, return_atoms=u.return_atoms + 1)),
    ("decisions", lambda u: replace(u, epistemic_var=u.epistemic_var / 16)),
    ("decisions", lambda u: replace(u, epistemic_var=16 * u.epistemic_var)),
    ("unseen_states", lambda u: replace(u, epistemic_var=1 / u.epistemic_var)),
]


@pytest.mark.parametrize(("name", "distorted"), DISTORTED)
def test_a_distorted_statement_scores_less(name: str, distorted) -> None:
    table = Table.drawn(SEEDS)
    honest = exact(table)
    own, less = (scores(table, said)[name].nanmean() for said in (honest, distorted(honest)))
    assert less < own - 0.1


def test_the_slopes_of_bayes_are_those_of_its_formula() -> None:
    table = Table.drawn(SEEDS)
    found = slopes(posterior(table)[1], table.kind)
    assert (found - found[0]).abs().max() < 1e-9  # the same in every table
    assert 0.7 < found[0, 0] < 1
    assert -0.5 < found[0, 1] < -0.35


# --- rows ----------------------------------------------------------------------------------------


def played(agent: Agent, seeds: range) -> dict[str, Tensor]:
    deque(train(agent, BanditTable(NoConfig(), seeds), 2_150), maxlen=0)
    truth = exact_truth(NoConfig(), 0.9, seeds)
    asked = truth.obs.expand(len(seeds), *truth.obs.shape)
    return dict(truth.scores(agent.uncertainty(asked), agent.policy(asked)))


def test_the_oracle_has_at_least_095_and_climatology_at_most_005() -> None:
    found = played(Bayes(info(), SEEDS, NoConfig(), CPU), SEEDS)
    assert all(found[name].mean() >= 0.95 for name in CAPABILITIES), found
    found = played(Climatology(info(), SEEDS, NoConfig(), CPU), SEEDS)
    assert all(found[name].mean() <= 0.05 for name in CAPABILITIES), found
