"""What is stated about states that have features, beyond a constant width.

Every score is of widths alone, 0 for the best constant one and 1 for the exact posterior's;
what is not stated has none. A common factor of all widths is told apart, in ``scale``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from uqbench_dqn.sizes import at_sizes, covariance

from uqbench.contract.agent import Uncertainty
from uqbench.contract.truth import Climatology, ExactTruth, Truth
from uqbench_profile.config import FeatureConfig
from uqbench_profile.feature_posterior import Known, posterior, prior_moments, true_values
from uqbench_profile.feature_worlds import SIGMA, FeatureWorld
from uqbench_profile.widths import LOWEST, centered, constants, decisions, scale, shape

JOINT, SETS = 10, 50
"""Pairs that are predicted together, and how many sets of them."""
NOISE = 0.01
"""Variance of what is predicted together, Q seen with it."""


def unseen(std: Tensor, exact: Tensor, never: Tensor) -> Tensor:
    """Spearman's correlation of stated and exact standard deviations of pairs never shown, ``[L]``.

    0 where all that is stated is the same.
    """
    found = []
    for own, known, which in zip(std, exact, never, strict=True):
        ranks = [centered(_ranks(x[which])) for x in (own, known)]
        norm = (ranks[0].square().sum() * ranks[1].square().sum()).sqrt()
        found.append((ranks[0] * ranks[1]).sum() / norm if norm > 0 else norm)
    return torch.stack(found)


def joint(own: Tensor, exact: Known) -> Tensor:
    """``1 − KL(stated) / KL(best constant)`` of joint predictions of ten pairs, ``[L]``.

    ``own`` is the stated covariance, ``[L, K, K]``. KL is of the exact posterior, by its moments,
    from what is stated; the constant is independent between pairs. All are about the exact mean,
    as in :func:`uqbench_profile.widths.decisions`.
    """
    generator = torch.Generator().manual_seed(JOINT)
    pairs = own.shape[-1]
    drawn = torch.stack([torch.randperm(pairs, generator=generator)[:JOINT] for _ in range(SETS)])
    block = (..., drawn[:, :, None], drawn[:, None])
    identity = torch.eye(JOINT, dtype=own.dtype)
    known = exact.covariance[block] + NOISE * identity
    stated = divergence(own[block] + NOISE * identity, known).mean(-1)
    of = [
        divergence((c[:, None, None, None] ** 2 + NOISE) * identity, known).mean(-1)
        for c in constants(exact.std)
    ]
    return 1 - stated / torch.stack(of).amin(0)


def divergence(own: Tensor, exact: Tensor) -> Tensor:
    """KL(exact ‖ own) in nats of normal laws ``[..., D, D]`` of one mean: ``[...]``."""
    trace = torch.linalg.solve(own, exact).diagonal(dim1=-2, dim2=-1).sum(-1) - own.shape[-1]
    found: Tensor = 0.5 * (trace + torch.logdet(own) - torch.logdet(exact))
    return found


def scores(
    stated: Uncertainty, exact: Known, never: Tensor, form: Uncertainty | None = None
) -> Mapping[str, Tensor]:
    """The scores ``[L]`` by name of what is stated ``[L, M, A, …]``; no score of what is not.

    ``score``, the mean of the four, is there only where all of them are.

    Args:
        stated: by an agent, at any size.
        exact: the posterior.
        never: pairs that were never shown, ``[L, M, A]``.
        form: what was stated before a factor, whose shape and order count: widths below the least
            that are told apart would be a constant.
    """
    if stated.mean is None or (stated.epistemic_var is None and stated.value_samples is None):
        return {}
    of_all = covariance(stated).cpu()
    std = of_all.diagonal(dim1=1, dim2=2).sqrt()
    own = std if form is None else covariance(form).cpu().diagonal(dim1=1, dim2=2).sqrt()
    found = {
        "shape": shape(own, exact.std),
        "unseen": unseen(own, exact.std, never.flatten(1)),
        "decisions": decisions(std, exact.std),
        "joint": joint(of_all, exact),
    }
    found = {name: value.clamp(min=LOWEST) for name, value in found.items()}
    return {
        "score": torch.stack([*found.values()]).mean(0),
        **found,
        "scale": scale(std, exact.std),
    }


def exact_truth(config: FeatureConfig, discount: float, seeds: Sequence[int]) -> ExactTruth:
    """Every world's Q, whatever an agent's policy, and the scores of this module."""
    world = FeatureWorld.drawn(config, seeds)
    exact, never = posterior(config, world, discount, seeds), world.count == 0
    q = true_values(config, world, discount)
    mean, std = prior_moments(config, discount)
    noise = SIGMA**2 / (1 - discount**2) if config.family == "ring" else SIGMA**2
    truth = Truth(q, torch.zeros_like(q), return_var=torch.full_like(q, noise))
    return ExactTruth(
        world.asked.float(),
        None,
        lambda _: truth,
        scores=lambda stated, _: at_sizes(
            lambda said: scores(said, exact, never, stated), stated, ("score", "decisions", "joint")
        ),
        climatology=Climatology(mean, std, (std**2 + noise) ** 0.5),
        of_lanes=True,
    )


def _ranks(values: Tensor) -> Tensor:
    """Ranks ``[K]``, ties averaged."""
    less = (values[:, None] > values).sum(-1)
    return less + 0.5 * (values[:, None] == values).sum(-1)
