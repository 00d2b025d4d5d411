"""Facts about the estimators: each lane by itself, and each against what it approximates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from uqbench_quam.config import (
    CyclicalConfig,
    DeepEnsembleConfig,
    HMCConfig,
    LaplaceConfig,
    MCDropoutConfig,
    QuamConfig,
)
from uqbench_quam.cyclical import CyclicalSGHMC, keeps, step_size
from uqbench_quam.ensemble import DeepEnsemble
from uqbench_quam.entropy import ReferenceConfig, ReferenceEntropy
from uqbench_quam.given import GivenNetwork, train
from uqbench_quam.hmc import HMC, Posterior
from uqbench_quam.laplace import Laplace, class_curvature, log_evidence
from uqbench_quam.learning import Stack
from uqbench_quam.mc_dropout import MCDropout
from uqbench_quam.networks import Mlp, initial_weights
from uqbench_quam.quam import Quam
from uqbench_quam.uncertainty import entropy

from uqbench.estimator import Data, Dataset, Estimator
from uqbench.lanes import lane_generators

CPU = torch.device("cpu")
NETWORK = Mlp(2, (8,), 3)
SMALL = {"hidden": (8,)}


class Toy(Dataset):
    """Three classes, or a line, in two dimensions; with a given model, or without."""

    inputs = (2,)

    def __init__(self, n_classes: int = 3, given: bool = False) -> None:
        self.n_classes = n_classes
        self.given = given

    def data(self, seeds: Sequence[int]) -> Data:
        inputs = torch.stack(
            [torch.randn(24, 2, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        )
        if self.n_classes == 0:
            return Data(inputs, inputs.sum(-1))
        return Data(inputs, (inputs[..., 0] > 0).long() + (inputs[..., 1] > 0).long())

    def reference_model(self, seeds: Sequence[int]) -> GivenNetwork | None:
        if not self.given:
            return None
        config = DeepEnsembleConfig(**SMALL)
        return GivenNetwork(NETWORK, train(NETWORK, self.data(seeds), seeds, 60, config))

    def score(self, seeds, predict):
        raise NotImplementedError


CASES = {
    "quam": (Quam, QuamConfig(search_steps=6, period=2, **SMALL)),
    "quam-found": (Quam, QuamConfig(search_steps=6, period=2, models="found", **SMALL)),
    "quam-last-layer": (
        Quam,
        QuamConfig(search_steps=6, period=2, last_layer=True, search_batch=10, **SMALL),
    ),
    "quam-budget": (Quam, QuamConfig(search_steps=6, period=2, forward_passes=36, **SMALL)),
    "deep-ensemble": (DeepEnsemble, DeepEnsembleConfig(members=3, batch_size=10, **SMALL)),
    "mc-dropout": (MCDropout, MCDropoutConfig(passes=20, **SMALL)),
    "laplace": (Laplace, LaplaceConfig(samples=20, **SMALL)),
    "csg-hmc": (
        CyclicalSGHMC,
        CyclicalConfig(iterations=40, cycles=2, samples=5, chain_batch_size=10, **SMALL),
    ),
    "hmc": (HMC, HMCConfig(chains=2, burn_in=2, iterations=4, leapfrog=5, **SMALL)),
}
POINTS = torch.randn(7, 2, generator=torch.Generator().manual_seed(99)) * 3


def stated(kind: type[Estimator], config, task: Dataset, seeds: list[int]):
    estimator = kind(task, seeds, config, CPU)
    estimator.fit(task.data(seeds), task.reference_model(seeds), steps=30)
    return estimator.predict(POINTS.expand(len(seeds), -1, -1))


@pytest.mark.parametrize("setting", ["selected", "given", "regression"])
@pytest.mark.parametrize("name", CASES)
def test_a_lane_is_the_same_alone_and_among_others_and_parts_add_up(name, setting):
    kind, config = CASES[name]
    if setting == "regression" and name == "quam":
        config = replace(config, models="found")
    task = Toy(0 if setting == "regression" else 3, given=setting == "given")
    alone = stated(kind, config, task, [7])
    group = stated(kind, config, task, [5, 4, 7])
    for field in ("total", "aleatoric", "epistemic", "probs", "mean", "highest"):
        one, among = getattr(alone, field), getattr(group, field)
        assert (one is None) == (among is None)
        if one is not None:
            assert torch.equal(one[0], among[2]), field
            assert one.isfinite().all()
    assert torch.equal(group.total, group.aleatoric + group.epistemic)
    assert (group.epistemic > -1e-12).all()
    assert group.epistemic.shape == (3, 7)
    if setting == "regression":
        assert group.unit == "variance"
        assert group.mean.shape == (3, 7)
    else:
        assert group.unit == "nats"
        assert torch.allclose(group.probs.sum(-1), torch.ones(3, 7, dtype=torch.float64))
        if group.highest is not None:
            assert ((group.highest > 0) & (group.highest <= 1 + 1e-12)).all()


def test_in_setting_b_everybody_states_the_given_models_entropy_as_aleatoric():
    task = Toy(given=True)
    reference = task.reference_model([1]).log_probs(POINTS[None])
    for kind, config in CASES.values():
        said = stated(kind, config, task, [1])
        assert torch.allclose(said.aleatoric, entropy(reference), atol=1e-6)
        assert torch.allclose(said.probs, reference.exp(), atol=1e-6)
    said = stated(ReferenceEntropy, ReferenceConfig(), task, [1])
    assert torch.equal(said.epistemic, entropy(reference))


def test_points_are_searched_for_by_themselves():
    task = Toy(given=True)
    config = QuamConfig(search_steps=8, period=2, **SMALL)
    estimator = Quam(task, [1, 2], config, CPU)
    estimator.fit(task.data([1, 2]), task.reference_model([1, 2]), steps=1)
    many = torch.randn(2, 900, 2, generator=torch.Generator().manual_seed(1))
    together = estimator.predict(many).epistemic
    for point in (0, 411, 899):  # to rounding: the reference's products have other shapes
        alone = estimator.predict(many[:, [point]]).epistemic
        assert torch.allclose(alone[:, 0], together[:, point], rtol=1e-6)
    single = Quam(task, [2], config, CPU)
    single.fit(task.data([2]), task.reference_model([2]), steps=1)
    # a lane's searches fall into other groups where another lane's come before: still the same bits
    assert torch.equal(single.predict(many[1:]).epistemic[0], together[1])


def test_a_search_of_one_step_meets_the_reference_alone():
    said = stated(Quam, QuamConfig(search_steps=1, **SMALL), Toy(given=True), [1])
    assert said.epistemic.abs().max() < 1e-6
    assert torch.allclose(said.highest, said.probs, atol=1e-6)


def test_a_search_of_the_last_layer_keeps_the_features():
    task = Toy(given=True)
    config = QuamConfig(search_steps=30, search_rate=1e-2, last_layer=True, **SMALL)
    estimator = Quam(task, [1], config, CPU)
    estimator.fit(task.data([1]), task.reference_model([1]), steps=1)
    assert estimator.searched == Mlp(8, (), 3)
    assert estimator.data.inputs.shape == (1, 24, 8)
    outputs = estimator.searched(estimator.start, estimator.data.inputs)
    assert torch.allclose(outputs, NETWORK(estimator.weights, task.data([1]).inputs), atol=1e-6)
    assert (estimator.predict(POINTS[None]).epistemic > 1e-4).any()


def test_searches_are_for_the_most_probable_classes_where_not_for_all():
    task = Toy(given=True)
    estimator = Quam(task, [1], QuamConfig(search_steps=6, classes=2, **SMALL), CPU)
    log_probs = torch.tensor([[[0.1, 0.7, 0.2], [0.5, 0.1, 0.4]]]).log()
    assert estimator._sought(log_probs).tolist() == [[[1, 2], [0, 2]]]
    every = Quam(task, [1], QuamConfig(search_steps=6, **SMALL), CPU)
    assert every._sought(log_probs).tolist() == [[[0, 1, 2], [0, 1, 2]]]


def test_a_regressions_searches_end_above_and_below_the_reference():
    config = QuamConfig(
        search_steps=200, period=40, search_rate=1e-2, models="found", slack=0.1, **SMALL
    )
    far = torch.tensor([[[9.0, -9.0]]])
    estimator = Quam(Toy(0), [1], config, CPU)
    estimator.fit(Toy(0).data([1]), None, steps=200)
    said = estimator.predict(far)
    reference = estimator.network(estimator.weights, far)[0, 0, 0].item()
    std = said.epistemic.sqrt().item()
    assert std > 0.5
    assert abs(said.mean.item() - reference) < std


def test_mc_dropout_without_dropout_is_one_model():
    said = stated(MCDropout, MCDropoutConfig(passes=5, probability=0.0, **SMALL), Toy(), [1])
    assert said.epistemic.abs().max() < 1e-12
    with pytest.raises(ValueError, match="this task gives none"):
        stated(MCDropout, MCDropoutConfig(trains=False), Toy(), [1])


def test_given_models_with_closed_weights_are_refused_with_a_way_out():
    class Closed:
        def log_probs(self, inputs):
            return inputs.double().log_softmax(-1)

    estimator = Quam(Toy(), [1], QuamConfig(**SMALL), CPU)
    with pytest.raises(TypeError, match=r"open weights.*got a Closed; take .* deep-ensemble"):
        estimator.fit(Toy().data([1]), Closed(), steps=1)


def test_laplaces_curvature_is_the_hessian_of_the_loss_in_the_logits():
    logits = torch.randn(1, 1, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(lambda z: -z.log_softmax(-1)[2], logits.flatten())
    assert torch.allclose(class_curvature(logits)[0], hessian)


def test_laplace_of_a_linear_regression_is_its_exact_posterior():
    # one layer, a squared loss: the posterior is normal, and Kronecker's factors are exact
    task = Toy(0)
    estimator = Laplace(task, [3], LaplaceConfig(hidden=(), noise_precision=5.0), CPU)
    estimator.fit(task.data([3]), None, steps=200)
    phi = torch.cat([task.data([3]).inputs[0], torch.ones(24, 1)], 1).double()
    x = torch.cat([POINTS, torch.ones(7, 1)], 1).double()
    covariance = torch.linalg.inv(5.0 * phi.T @ phi + estimator.precision[0] * torch.eye(3))
    expected = (x @ covariance * x).sum(-1)
    assert torch.allclose(estimator.predict(POINTS[None]).epistemic[0], expected)


def test_the_evidence_of_a_linear_regression_is_its_marginal_likelihood():
    phi = torch.randn(24, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = phi @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) + 0.3
    noise, prior = 5.0, 0.7
    precision = noise * phi.T @ phi + prior * torch.eye(3)
    w = torch.linalg.solve(precision, noise * phi.T @ y)
    likelihood = torch.distributions.Normal(phi @ w, noise**-0.5).log_prob(y).sum()
    spectrum = noise * torch.linalg.eigvalsh(phi.T @ phi)
    ours = log_evidence(likelihood[None], w.square().sum()[None], spectrum[None, :, None], prior)
    covariance = torch.eye(24) / noise + phi @ phi.T / prior
    exact = torch.distributions.MultivariateNormal(torch.zeros(24).double(), covariance).log_prob(y)
    assert ours.item() == pytest.approx(exact.item())


def test_the_step_size_falls_by_a_cosine_in_every_cycle_and_models_are_kept_late_in_it():
    config = CyclicalConfig(iterations=100, cycles=2, step_size=0.4, exploration=0.8, samples=10)
    assert step_size(config, 0) == (0.4, 0.0)
    assert step_size(config, 25)[0] == pytest.approx(0.2)
    assert step_size(config, 50)[0] == 0.4
    kept = keeps(config)
    assert len(kept) == 10
    assert all(step_size(config, k)[1] >= 0.8 for k in kept)
    assert keeps(replace(config, samples=1000)) == {*range(40, 50), *range(90, 100)}


def test_hmc_conserves_energy_to_second_order_and_its_gradient_is_that_of_the_energy():
    data = Toy().data([1])
    start = initial_weights(NETWORK, lane_generators([0]))

    def error(step: float) -> float:
        stack = Stack(start)
        config = HMCConfig(leapfrog=round(0.2 / step), step_size=step, **SMALL)
        posterior = Posterior(NETWORK, stack, data, config)
        momentum = torch.randn(stack.flat.shape, generator=torch.Generator().manual_seed(1))
        momentum *= posterior._moves
        before = posterior.energy() + 0.5 * momentum.double().square().sum(-1)
        momentum -= step / 2 * posterior._gradient()
        for k in range(config.leapfrog):
            stack.flat.add_(step * momentum)
            last = k == config.leapfrog - 1
            momentum -= (step / 2 if last else step) * posterior._gradient()
        after = posterior.energy() + 0.5 * momentum.double().square().sum(-1)
        return abs((after - before).item())

    assert error(0.02) < 0.1
    assert error(0.005) < error(0.02) / 4


def test_hmc_samples_the_posterior_of_a_linear_regression():
    # 2 chains × 400 states; the standard error of a mean is below a tenth of the posterior's std
    task = Toy(0)
    config = HMCConfig(
        hidden=(), chains=2, burn_in=50, iterations=400, leapfrog=20, step_size=0.05,
        noise_precision=2.0,
    )  # fmt: skip
    chains = HMC(task, [3], config, CPU)
    chains.fit(task.data([3]), None, steps=1)
    assert chains.acceptance.min() > 0.8
    phi = torch.cat([task.data([3]).inputs[0], torch.ones(24, 1)], 1).double()
    x = torch.cat([POINTS, torch.ones(7, 1)], 1).double()
    covariance = torch.linalg.inv(2.0 * phi.T @ phi + torch.eye(3))
    mean = covariance @ (2.0 * phi.T @ task.data([3]).targets[0].double())
    variance = (x @ covariance * x).sum(-1)
    said = chains.predict(POINTS[None])
    assert ((said.mean[0] - x @ mean).abs() < 0.4 * variance.sqrt()).all()
    assert torch.allclose(said.epistemic[0], variance, rtol=0.35)
