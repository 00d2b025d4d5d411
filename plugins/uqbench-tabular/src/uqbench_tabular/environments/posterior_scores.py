"""How far what an agent states is from an exact posterior, where that has a closed form.

Not from the truth: an exact Bayesian is wrong about a single world, too. Shapes: ``L`` lanes, ``K``
pairs of states and actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from uqbench_dqn.sizes import SIZES, covariance

from uqbench.contract.agent import Uncertainty

JOINT = (1, 10)
"""τ: of how many pairs, drawn with repeats, the values are predicted at once."""
DRAWS = 100
SMALLEST = 1e-4
"""Standard deviations below it are not told apart."""
LEFT = 0.617
"""The distance that a size of 0 has: what the best of three empty rules leaves of four tasks."""


@dataclass(frozen=True)
class Posterior:
    """What an exact Bayesian knows of Q after all data of a run, a normal distribution.

    Attributes:
        mean: ``[L, M, A]`` float64.
        covariance: of all pairs, the same in all lanes, ``[M · A, M · A]``.
        fitted: what a network predicts that fits all data and nothing else, ``[L, M, A]``.
        noise: variance of what is predicted jointly, Q seen with it.
    """

    mean: Tensor
    covariance: Tensor
    fitted: Tensor
    noise: float


def score_posterior(stated: Uncertainty, exact: Posterior) -> Mapping[str, Tensor]:
    """Scores ``[L]`` by name; none without a mean, and fewer without a standard deviation.

    - ``fit_error``: root mean square of the stated mean minus what fits all data, over the
      posterior's standard deviation: how far optimization is from its end.
    - ``sd_ratio``: log10 of stated over exact standard deviations, mean over pairs; 0 is right.
    - ``size``: ``(R − D) / (R + D)`` of D, the root mean square of the log of stated over exact
      standard deviations, and R, what one width for all tasks leaves of them at its best, one that
      follows the noise alone, or the number of rewards alone, whichever leaves least: 1 is exact.
      Without a width it is that of a certain value. ``size@k`` is of widths times ``SIZES[k]``.
    - ``joint_kl_1``, ``joint_kl_10``: Kullback–Leibler divergence in nats, of the joint prediction
      of Q at τ pairs, seen with the posterior's ``noise``, from the exact one (Osband et al. 2022,
      "The neural testbed", section 3), by :func:`uqbench_dqn.sizes.covariance`.
    """
    if stated.mean is None:
        return {}
    mean = stated.mean.double().flatten(1)
    pairs = mean.shape[1]
    error = mean - exact.fitted.flatten(1).to(mean)
    known, own = exact.covariance.to(mean), covariance(stated)
    sd = known.diagonal().sqrt()
    scores = {"fit_error": error.square().mean(1).sqrt() / sd.square().mean().sqrt()}
    std = own.diagonal(dim1=1, dim2=2).sqrt()
    ratio = std.clamp(min=SMALLEST) / sd
    for name, factor in {"size": 1.0, **{f"size@{k}": of for k, of in enumerate(SIZES)}}.items():
        distance = ((factor * std).clamp(min=SMALLEST) / sd).log().square().mean(1).sqrt()
        scores[name] = (LEFT - distance) / (LEFT + distance)
    if stated.value_samples is not None or stated.epistemic_var is not None:
        scores["sd_ratio"] = ratio.log10().mean(1)
    difference = mean - exact.mean.flatten(1).to(mean)
    for size in JOINT:
        drawn = drawn_pairs(pairs, size).to(mean.device)
        noise = exact.noise * torch.eye(size, dtype=mean.dtype, device=mean.device)
        block = (drawn[:, :, None], drawn[:, None])
        scores[f"joint_kl_{size}"] = _divergence(
            difference[:, drawn], own[:, *block] + noise, known[block] + noise
        ).mean(1)
    return scores


def drawn_pairs(pairs: int, size: int) -> Tensor:
    """The sets of ``size`` pairs that are predicted together, ``[DRAWS, size]``."""
    generator = torch.Generator().manual_seed(size)
    return torch.randint(pairs, (DRAWS, size), generator=generator)


def _divergence(difference: Tensor, own: Tensor, exact: Tensor) -> Tensor:
    """KL(exact ‖ own) of normal distributions, ``[L, B]``, with means ``difference`` apart."""
    ratio = torch.linalg.solve(own, exact.expand_as(own))
    distance = torch.linalg.solve(own, difference[..., None])[..., 0]
    trace = ratio.diagonal(dim1=-2, dim2=-1).sum(-1) - difference.shape[-1]
    found: Tensor = 0.5 * (
        trace + (difference * distance).sum(-1) + torch.logdet(own) - torch.logdet(exact)
    )
    return found
