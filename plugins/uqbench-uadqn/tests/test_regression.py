"""Facts about the regressions: their data, what is exact about them, and what estimators state."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from uqbench_uadqn.regression import config as of
from uqbench_uadqn.regression.anchored import AnchoredOutputs, AnchoredQuantiles
from uqbench_uadqn.regression.differences import Differences, DifferencesConfig
from uqbench_uadqn.regression.infinite_width import kernel, posterior_var
from uqbench_uadqn.regression.networks import Perceptrons, draw_from
from uqbench_uadqn.regression.noisy_cosine import CLUSTERS, NoisyCosine, off_data, target
from uqbench_uadqn.regression.prior_function import OFF, ON, PriorFunction
from uqbench_uadqn.regression.scores import epistemic_scores
from uqbench_uadqn.uncertainty import aleatoric_var, biased_aleatoric_var, epistemic_var

from uqbench.estimator import Data, PredictiveUncertainty, Problem
from uqbench.lanes import lane_generators
from uqbench.testing.worlds import asked_once

CPU = torch.device("cpu")
COSINE = NoisyCosine(of.NoisyCosineConfig())
FUNCTION = PriorFunction(of.PriorFunctionConfig())


def predicted(epistemic, aleatoric=1.0) -> PredictiveUncertainty:
    """A statement about as many points as there are numbers, in one lane."""
    epistemic = torch.as_tensor(epistemic)[None]
    aleatoric = torch.full_like(epistemic, aleatoric)
    return PredictiveUncertainty(epistemic + aleatoric, aleatoric, epistemic, None, "variance")


# -- the data -------------------------------------------------------------------------------------


def test_the_cosine_has_two_clusters_and_noise_of_a_third():
    data = COSINE.data(range(200))
    x, y = data.inputs[..., 0].double(), data.targets.double()
    assert x.shape == (200, 200)
    assert (x.diff() >= 0).all()
    noise = y - target(x)
    n = noise.numel()
    assert abs(noise.mean().item()) < 5 / 3 / n**0.5  # wrong once in 1.7 million, as below
    assert abs(noise.std().item() * 3 - 1) < 5 / (2 * n) ** 0.5
    mean = sum(m for m, _ in CLUSTERS) / 2
    spread = sum(m**2 + s**2 for m, s in CLUSTERS) / 2 - mean**2
    assert abs(x.mean().item() - mean) < 5 * (spread / n) ** 0.5


def test_points_off_the_data_are_far_from_every_cluster():
    x = off_data()
    assert len(x) > 40
    assert min((x - m).abs().min().item() / s for m, s in CLUSTERS) > 5
    assert (x[:, None] - COSINE.data(range(50)).inputs.flatten()).abs().min() > 0.05


@pytest.mark.parametrize("task", [COSINE, FUNCTION])
def test_data_are_a_function_of_the_seed(task):
    both, one = task.data([4, 7]), task.data([7])
    assert torch.equal(both.inputs[1], one.inputs[0])
    assert torch.equal(both.targets[1], one.targets[0])
    assert not torch.equal(both.targets[0], both.targets[1])


def test_the_cosine_is_scored_against_its_own_noise():
    def twice_too_much(x):
        return predicted(torch.full((x.shape[1],), 0.04), aleatoric=4 / 9)

    scores = COSINE.score([0], asked_once(COSINE, [0], twice_too_much))
    expected = {"aleatoric_error": 1 / 3, "aleatoric_on": 2 / 3, "epistemic_on": 0.2}
    expected["off_data_auroc"] = 0.5
    assert {name: scores[name].item() for name in expected} == pytest.approx(expected, rel=1e-5)


def test_the_noise_off_the_data_is_what_is_predicted_there():
    def by_place(x):
        near = torch.stack([(x[..., 0] - mean).abs() < 4.9 * std for mean, std in CLUSTERS]).any(0)
        noise = torch.where(near, 1 / 9, 4.0)
        return PredictiveUncertainty(noise, noise, torch.zeros_like(noise), None, "variance")

    scores = COSINE.score([0], asked_once(COSINE, [0], by_place))
    assert scores["aleatoric_off"].item() == pytest.approx(2.0)
    assert scores["aleatoric_on"].item() == pytest.approx(1 / 3)  # at every one of 400 inputs


def test_the_area_counts_the_pairs_that_are_in_order_and_ties_by_half():
    scores = epistemic_scores(predicted([1.0, 2.0]), predicted([2.0, 3.0, 0.5]))
    assert scores["off_data_auroc"].item() == pytest.approx((1.5 + 2 + 0) / 6)
    assert scores["epistemic_on"].item() == pytest.approx(math.sqrt(1.5))


def test_the_exact_posterior_has_the_best_score_and_twice_it_is_wrong_by_log_two():
    for factor in (1.0, 2.0):

        def exact(x, f=factor):
            return predicted(f**2 * FUNCTION.exact_var(x[0, :, 0]))

        found = FUNCTION.score([0], asked_once(FUNCTION, [0], exact))
        assert found["off_data_log_error"].item() == pytest.approx(math.log(factor), abs=1e-5)
        assert found["on_data_ratio"].item() == pytest.approx(factor, rel=1e-5)
        assert found["off_data_ratio"].item() == pytest.approx(factor, rel=1e-5)


# -- the infinitely wide network ------------------------------------------------------------------


def test_wide_networks_have_the_kernels_covariance():
    prior, lanes, width = of.Prior(weight_std=1.3, bias_std=0.7), 4_000, 100
    networks = Perceptrons(lanes, 1, (width, width), 1, torch.erf)
    draw_from(prior, networks, lane_generators(range(lanes)))
    x = torch.tensor([-1.0, 0.3, 2.0])
    with torch.no_grad():
        outputs = networks(x.expand(lanes, 1, -1)[..., None])[:, 0, :, 0].double()
    found = outputs.T @ outputs / lanes
    expected = kernel(prior, x.double()[:, None], x.double())
    # products of normals: error √((k_xx k_yy + k_xy²) / lanes); wrong once in 10⁵ for nine of them,
    # and 2 % for the finite width
    own = expected.diagonal()
    error = ((own[:, None] * own + expected.square()) / lanes).sqrt()
    assert ((found - expected).abs() < 5 * error + 0.02 * own.max()).all()


def test_the_posterior_is_the_prior_without_data_and_the_noise_at_data_seen_often():
    prior, x = of.Prior(), torch.linspace(-2, 2, 7, dtype=torch.float64)
    nothing = torch.zeros(0, dtype=torch.float64)
    assert torch.allclose(posterior_var(prior, 0.1, nothing, x), kernel(prior, x, x))
    once, own = posterior_var(prior, 0.5, x[:1], x[:1]), kernel(prior, x[:1], x[:1])
    assert torch.allclose(once, own * 0.25 / (own + 0.25))  # precision is added
    often = posterior_var(prior, 0.5, x[:1].repeat(100), x[:1])
    assert often.item() == pytest.approx(0.0025, rel=0.01)


def test_the_function_is_drawn_from_the_prior_with_noise():
    targets = FUNCTION.data(range(3_000)).targets.double()
    x = FUNCTION.data([0]).inputs[0, :, 0].double()
    expected, found = kernel(FUNCTION.config, x, x) + 0.01, targets.square().mean(0)
    # relative error of a variance of 3,000 normals: √(2/3000); twenty of them, correlated
    assert ((found / expected - 1).abs() < 5 * (2 / 3_000) ** 0.5).all()
    assert (FUNCTION.exact_var(ON).max() < FUNCTION.exact_var(OFF).median()).item()


# -- the estimators -------------------------------------------------------------------------------

SMALL = of.AnchoredQuantilesConfig(hidden=(8,), quantiles=5, batch_size=16, learning_rate=1e-2)


def test_two_samples_state_the_papers_estimators():
    inputs = torch.linspace(-2, 2, 9).expand(2, -1)[..., None]
    unbiased = AnchoredQuantiles(COSINE, [0, 1], SMALL, CPU)
    said = unbiased.predict(inputs)
    a, b = unbiased.networks(inputs[:, None]).unbind(1)
    assert torch.allclose(said.epistemic, epistemic_var(a, b))
    assert torch.allclose(said.aleatoric, aleatoric_var(a, b).clamp(min=0))
    assert torch.allclose(said.total, said.aleatoric + said.epistemic)
    config = replace(SMALL, aleatoric="biased")
    biased = AnchoredQuantiles(COSINE, [0, 1], config, CPU).predict(inputs)
    assert torch.allclose(biased.aleatoric, biased_aleatoric_var(a))


def test_the_quantile_objective_is_the_mean_loss_and_the_anchors_penalty():
    estimator = AnchoredQuantiles(COSINE, [0], replace(SMALL, anchor=0.3), CPU)
    quantiles, targets = torch.randn(1, 2, 4, 5), torch.randn(1, 2, 4)
    by_hand = 0.0
    for member, point, i in product(range(2), range(4), range(5)):
        error = (targets[0, member, point] - quantiles[0, member, point, i]).item()
        level = (i + 0.5) / 5
        by_hand += (level * error if error > 0 else (level - 1) * error) / 20
    assert estimator.objective(quantiles, targets).item() == pytest.approx(by_hand, rel=1e-5)
    with torch.no_grad():
        estimator.networks.layers[0].bias += 2.0  # 2 networks of 8
    moved = estimator.objective(quantiles, targets).item()
    assert moved == pytest.approx(by_hand + 0.3 * 16 * 4, rel=1e-5)


def test_anchored_outputs_end_at_the_maximum_a_posteriori():
    """Linear in one weight and one bias: the minimum has a closed form."""
    size = {"hidden": (), "networks": 3, "outputs": 2}
    config = of.AnchoredOutputsConfig(**size, noise=0.5, learning_rate=0.1)
    data = FUNCTION.data([0])
    estimator = AnchoredOutputs(FUNCTION, [0], config, CPU)
    prior = torch.diag(torch.tensor([1 / config.weight_std**2, 1 / config.bias_std**2]))
    features = torch.stack([data.inputs[0, :, 0], torch.ones(20)], dim=1)
    weight, bias = estimator.anchors
    anchors = torch.stack([weight[0, :, 0], bias[0, :, 0]])  # [2, networks, outputs]
    estimator.fit(data, None, 1_200)
    precision = features.T @ features / 0.25 + prior
    own = torch.einsum("ij,jek->iek", prior, anchors)
    pull = (features.T @ data.targets[0] / 0.25)[:, None, None] + own
    expected = torch.linalg.solve(precision, pull.flatten(1)).unflatten(1, (3, 2))
    weight, bias = (parameter.detach() for parameter in estimator.networks.parameters())
    assert torch.allclose(torch.stack([weight[0, :, 0], bias[0, :, 0]]), expected, atol=1e-3)


def test_anchored_outputs_state_the_variance_over_all_predictions():
    config = of.AnchoredOutputsConfig(hidden=(4,), networks=2, outputs=3, noise=0.2)
    estimator = AnchoredOutputs(FUNCTION, [5], config, CPU)
    x = torch.tensor([0.3, -2.0])[None, :, None]
    said = estimator.predict(x)
    values = estimator.networks(x[:, None])[0].movedim(-2, 0).flatten(1)  # [points, 6]
    assert torch.allclose(said.epistemic[0], values.var(-1))
    assert torch.allclose(said.aleatoric, torch.tensor(0.04))


OUTPUTS = of.AnchoredOutputsConfig(hidden=(6,), networks=2, outputs=3)


ESTIMATORS = [(AnchoredQuantiles, COSINE, SMALL), (AnchoredOutputs, FUNCTION, OUTPUTS)]


@pytest.mark.parametrize(("kind", "task", "config"), ESTIMATORS)
def test_a_lane_is_the_same_alone_and_among_others_bit_for_bit(kind, task, config):
    found = []
    for seeds in ([7], [3, 7, 9]):
        estimator = kind(task.problem, seeds, config, CPU)
        estimator.fit(task.data(seeds), None, 30)
        scores = task.score(seeds, asked_once(task, seeds, estimator.predict))
        lane = seeds.index(7)
        found.append([p[lane].detach() for p in estimator.networks.parameters()])
        found[-1] += [scores[name][lane] for name in sorted(scores)]
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


REFUSED = [
    (of.NoisyCosineConfig, {"points": 3}), (of.PriorFunctionConfig, {"noise": 0.0}),
    (of.Prior, {"bias_std": 0.0}), (of.AnchoredQuantilesConfig, {"samples": 1}),
    (of.AnchoredOutputsConfig, {"networks": 1, "outputs": 1})]  # fmt: skip


@pytest.mark.parametrize(("config", "settings"), REFUSED)
def test_settings_that_make_no_sense_are_refused(config, settings):
    with pytest.raises(ValueError, match="got"):
        config(**settings)


def test_a_line_without_a_network_knows_noise_by_neighbours_and_ignorance_by_distance():
    line = Differences(Problem((1,), 0), [0], DifferencesConfig(), CPU)
    line.fit(Data(torch.tensor([[[3.0], [0.0], [1.0]]]), torch.tensor([[1.0, 0.0, 1.0]])), None, 0)
    said = line.predict(torch.tensor([[[0.25], [5.0]]]))
    assert said.aleatoric.tolist() == [[0.25, 0.25]]  # ½ (1² + 0²) / 2
    assert said.epistemic.tolist() == [[0.0625, 4.0]]
    assert said.mean.tolist() == [[0.0, 1.0]]
    with pytest.raises(ValueError, match="got 3 classes"):
        Differences(Problem((1,), 3), [0], DifferencesConfig(), CPU)
