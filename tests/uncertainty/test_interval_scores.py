"""Scores of a predicted uncertainty, or return distribution, against an exact truth."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from commands import toy_plugin
from toy_runs import first_batch, plan_of

from uqbench.agent import Uncertainty
from uqbench.registry import Host
from uqbench.results import Store
from uqbench.runner import execute
from uqbench.suites.metrics import RECORDS
from uqbench.uncertainty import interval_scores
from uqbench.uncertainty.interval_scores import central_interval, sample_quantile, score_uncertainty

NAN = float("nan")


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_samples_go_before_a_mean_and_a_variance():
    zero, samples = torch.zeros(1, 1, 1), torch.linspace(0, 1, 41)[None, None, None]
    wide = Uncertainty(mean=zero, epistemic_var=zero + 100.0, value_samples=samples)
    low, high = central_interval(wide, 0.5)
    assert (low.item(), high.item()) == pytest.approx((0.2375, 0.7625))
    without = replace(wide, value_samples=None)
    assert central_interval(without, 0.95)[1].item() == pytest.approx(19.5996, rel=1e-5)


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("networks", [2, 4, 8])
@pytest.mark.parametrize("by", ["samples", "degrees of freedom"])
def test_few_networks_of_the_right_posterior_cover_what_they_state(networks, level, by):
    """A draw of the same normal distribution as the networks lies in their interval (Student 1908).

    The share of 20,000 has a standard error of at most 0.0036: five of them. The mean is the
    networks' own where they are predicted as samples, and known where their number is stated.
    """
    draws = torch.randn(20_000, networks + 1, generator=torch.Generator().manual_seed(1)).double()
    truth, heads = draws[:, 0], draws[:, 1:]
    if by == "samples":
        stated = Uncertainty(value_samples=heads[None, :, None])
    else:
        var = heads.var(1)[None, :, None]
        dof = torch.full_like(var, networks - 1.0)
        stated = Uncertainty(mean=0 * var, epistemic_var=var, epistemic_dof=dof)
    low, high = (end.flatten() for end in central_interval(stated, level))
    covered = ((low <= truth) & (truth <= high)).double().mean().item()
    assert covered == pytest.approx(level, abs=5 * 0.0036)


def test_an_exact_variance_beside_few_samples_keeps_the_normal_interval():
    samples, one = torch.tensor([-1.0, 1.0])[None, None, None], torch.ones(1, 1, 1)
    stated = {"mean": 0 * one, "epistemic_var": one, "epistemic_dof": torch.inf * one}
    known = Uncertainty(value_samples=samples, **stated)
    assert central_interval(known, 0.95)[1].item() == pytest.approx(1.959964, rel=1e-6)


@pytest.mark.parametrize(
    ("p", "expected"), [(0.0, 1.0), (0.1, 1.0), (0.2, 1.0), (0.3, 1.5), (0.5, 3.0), (0.95, 7.0)]
)
def test_quantiles_are_at_p_times_one_more_than_the_samples(p, expected):
    ordered = torch.tensor([1.0, 2.0, 4.0, 7.0]).double()
    assert sample_quantile(ordered, p).item() == pytest.approx(expected)
    assert sample_quantile(ordered[:1], p).item() == 1.0


def test_actions_without_a_truth_are_left_out():
    truth = torch.tensor([[0.0, NAN], [NAN, 3.0]], dtype=torch.float64)
    mean = torch.tensor([[[1.0, NAN], [50.0, 3.0]], [[0.0, 8.0], [-1.0, 5.0]]])
    predicted = Uncertainty(mean=mean, epistemic_var=torch.ones(2, 2, 2), oracle_var=None)
    scores = score_uncertainty(predicted, truth)
    assert scores["uncertainty/error"].tolist() == pytest.approx([0.5**0.5, 2**0.5])
    assert scores["uncertainty/coverage_50"].tolist() == [0.5, 0.5]
    assert scores["uncertainty/coverage_95"].tolist() == [1.0, 0.5]


def test_the_ratio_of_variances_is_their_geometric_mean_and_a_bound_holds_at_every_pair():
    """A mean of 4 hides the pair whose variance is half of the reference."""
    truth = torch.tensor([[0.0, 0.0, NAN]], dtype=torch.float64)
    for var, bound in (([2.0, 8.0, 5.0], 1), ([0.5, 32.0, 5.0], 0.5)):
        oracle = torch.tensor([[[1.0, 1.0, 9.0]]])
        stated = Uncertainty(epistemic_var=torch.tensor([[var]]), oracle_var=oracle)
        scores = {name: x.item() for name, x in score_uncertainty(stated, truth).items()}
        ratio = pytest.approx(4)
        assert scores == {"uncertainty/variance_ratio": ratio, "uncertainty/bound_share": bound}


def test_nothing_stated_nothing_scored():
    assert score_uncertainty(Uncertainty(), torch.zeros(1, 1, dtype=torch.float64)) == {}


def test_runs_record_the_scores_wherever_q_is_known(monkeypatch, tmp_path):
    """The walker says that Q is zero everywhere: its error is the root mean square of Q*."""
    toy_plugin(monkeypatch)
    host, store = Host.load(), Store(tmp_path)
    plan = plan_of(host, tasks=["short"], seeds=[0])
    execute((first_batch(plan),), store, host, lambda event: None)
    metrics, _ = store.columns(plan.runs[0])
    errors = metrics["value"][metrics["metric"] == "uncertainty/error"]
    # three cells, slip 0.1, discount 1: the values of the first two by hand
    second = (0.9 * 9.5 - 0.1 * (0.5 + 0.5 / 0.9)) / 0.9
    first = second - 0.5 / 0.9
    truth = [first, 0.1 * (second - 0.5) + 0.9 * (first - 0.5),
             second, 0.1 * 9.5 + 0.9 * (first - 0.5)]  # fmt: skip
    assert errors.tolist() == pytest.approx([np.sqrt(np.mean(np.square(truth)))] * RECORDS)
    assert not (metrics["metric"] == "uncertainty/coverage_90").any()


def test_a_distribution_goes_before_samples_of_q_and_nothing_has_no_score():
    atoms, probs = torch.zeros(1, 2, 1).double(), torch.ones(1, 2, 1).double()
    own = Uncertainty(return_atoms=torch.ones(3, 1, 2, 1), return_probs=torch.ones(3, 1, 2, 1))
    samples = Uncertainty(value_samples=torch.tensor([-2.0, 4.0]).expand(3, 1, 2, 2))
    both = replace(own, value_samples=samples.value_samples)
    for stated, distance in ((own, 1), (samples, 3), (both, 1)):
        found = interval_scores.score_return_distribution(stated, atoms, probs)[
            "uncertainty/wasserstein"
        ]
        assert found.tolist() == [distance] * 3
    assert interval_scores.score_return_distribution(Uncertainty(), atoms, probs) == {}
