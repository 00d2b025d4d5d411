"""What stated values of given policies are worth: intervals, choice by lower bounds, pessimism.

Q of ten policies is asked in all states. A policy is chosen by the lower bound of its value from a
state drawn uniformly; then actions by the lower bound of its Q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from uqbench_dqn.sizes import LARGEST, at_sizes, consistent

from uqbench.contract.agent import Uncertainty
from uqbench.contract.truth import Climatology, ExactTruth, Truth
from uqbench_profile.config import OfflineConfig
from uqbench_profile.feature_posterior import Known, Seen, linear_posterior
from uqbench_profile.feature_worlds import ACTIONS, SIGMA
from uqbench_profile.laws import Law, excess
from uqbench_profile.offline_worlds import (
    POLICIES,
    STATES,
    OfflineWorld,
    observed,
    policy_values,
    resolvent,
)
from uqbench_profile.widths import LOWEST, constants, scale, shape

QUANTILE = 1.2815515655446004
"""Standard normal quantile of .9: bounds that one value in ten lies below."""


def basis(features: Tensor, successor: Tensor, policies: Tensor, discount: float) -> Tensor:
    """``B`` of ``Q = B w`` for every policy, state and action, ``[L, K · S · A, A · F]``."""
    lanes, _, width = features.shape
    rewards = features.new_zeros(lanes, STATES, ACTIONS, ACTIONS, width)
    for action in range(ACTIONS):
        rewards[:, :, action, action] = features
    flat = rewards.flatten(1, 2).flatten(2)[:, None]
    found: Tensor = (resolvent(successor, policies, discount) @ flat).flatten(1, 2)
    return found


def posterior(world: OfflineWorld, discount: float) -> Known:
    """Given the logged data, of Q of every policy."""
    lane = torch.arange(len(world.state))[:, None]
    seen = Seen(world.features[lane, world.state], world.action, world.reward)
    of = basis(world.features, world.successor, world.policies, discount)
    return linear_posterior(seen, of)


def chosen(mean: Tensor, std: Tensor, samples: Tensor | None, policies: Tensor) -> Tensor:
    """The policy whose value has the highest lower bound, ``[L]``.

    The value is a mean over states. Its deviation is that of the samples' means; of marginals,
    which say nothing of dependence, the mean of their deviations, an upper bound.

    Args:
        mean: of Q, ``[L, K, S, A]``.
        std: likewise.
        samples: ``[L, K, S, A, C]``; None where marginals alone are stated.
        policies: ``[L, K, S]``.
    """
    own = policies[..., None]
    width = std.gather(-1, own).squeeze(-1).mean(-1)
    if samples is not None:
        index = own[..., None].expand(*own.shape, samples.shape[-1])
        width = samples.gather(-2, index).squeeze(-2).mean(-2).std(-1)
    return (mean.gather(-1, own).squeeze(-1).mean(-1) - QUANTILE * width).argmax(-1)


def value_of(world: OfflineWorld, actions: Tensor, discount: float) -> Tensor:
    """V of one policy ``[L, S]`` a lane, from a state drawn uniformly: ``[L]``."""
    rewards = (world.features @ world.weights.mT).flatten(1)
    of = resolvent(world.successor, actions[:, None], discount)[:, 0]
    q = (of @ rewards[..., None]).squeeze(-1).unflatten(-1, (STATES, ACTIONS))
    value: Tensor = q.gather(-1, actions[..., None]).squeeze(-1).mean(-1)
    return value


def best_value(world: OfflineWorld, discount: float) -> Tensor:
    """V of the best policy there is, by policy iteration, ``[L]``."""
    rewards = (world.features @ world.weights.mT).flatten(1)
    actions = world.policies[:, 0]
    for _ in range(STATES * ACTIONS):
        of = resolvent(world.successor, actions[:, None], discount)[:, 0]
        q = (of @ rewards[..., None]).squeeze(-1).unflatten(-1, (STATES, ACTIONS))
        actions = q.argmax(-1)
    return value_of(world, actions, discount)


def distance(std: Tensor, exact: Known) -> Tensor:
    """Mean over pairs of the CRPS of ``N(m, std²)`` beyond the exact posterior's, ``[L]``.

    Expected by the posterior, whose means m are: no truth is drawn (Gneiting & Raftery 2007, eq.
    22), and a method's own means are not in it.
    """
    one, middle = torch.ones_like(exact.mean)[..., None], torch.zeros_like(exact.mean)[..., None]
    own, known = (Law(one, middle, s[..., None]) for s in (std, exact.std))
    return excess(own, known).mean(-1)


def least(exact: Known) -> Tensor:
    """The least distance that one width for all pairs has, ``[L]``."""
    each = [distance(c[:, None].expand_as(exact.std), exact) for c in constants(exact.std)]
    return torch.stack(each).amin(0)


def scores(
    stated: Uncertainty, exact: Known, world: OfflineWorld, discount: float, constant: Tensor
) -> Mapping[str, Tensor]:
    """Scores ``[L]`` by name; none of what is not stated.

    - ``selection``: V of the policy chosen by lower bound; 0 the average policy, 1 the best of ten;
    - ``selection_by_mean``: the same without the widths;
    - ``pessimism``: V of acting by the lower bound of that policy's Q; 0 the average policy, 1 the
      best policy there is;
    - ``pessimism_by_mean``: V of acting by the mean of Q of the policy chosen by means;
    - ``shape`` and ``scale`` of the widths, against the exact posterior's;
    - ``skill``: 1 less the mean distance of the widths from the exact posterior's (the CRPS beyond
      its own, expected by it), over ``constant``, the best single width's: 1 for the exact
      posterior, 0 for that width.
    """
    stated = consistent(stated)
    known = {name: x.double().cpu() for name, x in vars(stated).items() if x is not None}
    if "mean" not in known:
        return {}
    form = (POLICIES, STATES)
    mean = known["mean"].unflatten(1, form)
    samples = known.get("value_samples")
    var = known.get("epistemic_var", None if samples is None else samples.var(-1))
    values = policy_values(world, discount)
    average, best = values.mean(-1), values.amax(-1)

    def selected(number: Tensor) -> Tensor:
        taken = values.gather(-1, number[:, None]).squeeze(-1)
        return (taken - average) / (best - average)

    most = best_value(world, discount) - average

    def gained(bound: Tensor, number: Tensor) -> Tensor:
        actions = bound[torch.arange(len(number)), number].argmax(-1)
        return (value_of(world, actions, discount) - average) / most

    by_mean = chosen(mean, torch.zeros_like(mean), None, world.policies)
    found = {"selection_by_mean": selected(by_mean), "pessimism_by_mean": gained(mean, by_mean)}
    std = torch.zeros_like(mean) if var is None else var.clamp(0, LARGEST**2).sqrt()
    found["skill"] = 1 - distance(std.flatten(1), exact) / constant
    if var is None:
        return {name: value.clamp(min=LOWEST) for name, value in found.items()}
    std = std.unflatten(1, form)
    drawn = None if samples is None else samples.unflatten(1, form)
    number = chosen(mean, std, drawn, world.policies)
    found["selection"] = selected(number)
    found["pessimism"] = gained(mean - QUANTILE * std, number)
    widths = std.flatten(1), exact.std
    found["shape"] = shape(*widths)
    found = {name: value.clamp(min=LOWEST) for name, value in found.items()}
    return {**found, "scale": scale(*widths)}


def exact_truth(config: OfflineConfig, discount: float, seeds: Sequence[int]) -> ExactTruth:
    """Q of the ten policies in every world, and the scores of this module."""
    world = OfflineWorld.drawn(config, seeds)
    exact = posterior(world, discount)
    q = world.values(discount).flatten(1, 2)
    noise = SIGMA**2 / (1 - discount**2)
    truth = Truth(q, torch.zeros_like(q), return_var=torch.full_like(q, noise))
    one = OfflineWorld.drawn(config, [0])
    constant = least(exact)
    of = basis(one.features, one.successor, one.policies, discount)
    std = float(of.square().sum(-1).mean().sqrt())
    return ExactTruth(
        observed(world.features).flatten(1, 2).float(),
        None,
        lambda _: truth,
        scores=lambda stated, _: at_sizes(
            lambda said: scores(said, exact, world, discount, constant), stated, ("skill",)
        ),
        climatology=Climatology(0.0, std, (std**2 + noise) ** 0.5),
        of_lanes=True,
    )
