"""The Gaussian process of infinite width."""

import torch
from uqbench_predictive.networks.architectures import Mlp
from uqbench_predictive.problems.infinite_width import kernel, posterior

from uqbench.lanes import lane_generators


def test_the_kernel_is_the_covariance_of_wide_random_networks():
    # 4,000 networks: the standard error of a covariance is below 3 % of the variances' root product
    network, count, width = Mlp(1, (64, 64), 1), 4_000, 64
    (generator,) = lane_generators([0])
    weights = {}
    for name, shape in network.shapes.items():
        variance = {"0.weight": 2.0, "1.weight": 3 / width, "head.weight": 1.5 / width}.get(name, 1)
        weights[name] = torch.randn(count, *shape, generator=generator) * variance**0.5
    x = torch.tensor([-2.0, 0.3, 1.5])
    outputs = network(weights, x[:, None].expand(count, -1, -1)).squeeze(-1).double()
    exact = kernel(x.double()[:, None], x.double()[:, None], 2.0, (3.0, 1.5))
    spread = exact.diagonal().sqrt()
    found = (outputs.T @ outputs / count) / spread / spread[:, None]
    assert torch.allclose(found, exact / spread / spread[:, None], atol=0.12)


def test_the_posterior_without_hidden_layers_is_bayesian_linear_regression():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 12, generator=generator, dtype=torch.float64)
    points = torch.tensor([-3.0, 0.0, 2.0], dtype=torch.float64)
    mean, spread = posterior(x[:, None], y, points[:, None], 0.2, 1.7, ())
    phi, at = (torch.stack([p, torch.ones_like(p)], 1) for p in (x, points))
    covariance = torch.linalg.inv(phi.T @ phi / 0.2 + torch.diag(torch.tensor([1 / 1.7, 1.0])))
    assert torch.allclose(mean, at @ covariance @ phi.T @ y / 0.2)
    assert torch.allclose(spread, at @ covariance @ at.T)
