"""What stated standard deviations are worth beyond a constant, against exact ones.

Shapes: ``L`` lanes, ``K`` pairs of states and actions; means and deviations are ``[L, K]``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from uqbench_dqn.sizes import LARGEST

SMALLEST = 1e-4
"""Standard deviations below it are not told apart."""
AVERSION = 5.0
"""What a loss weighs, where a gain weighs 1."""
LOWEST = -1.0
"""The least score."""
PRICES = torch.linspace(0.1, 2.5, 13, dtype=torch.float64)
"""How far below its exact mean a bet's price is, in typical exact standard deviations."""
CONSTANTS = 40
"""Constant widths that are tried for the best."""


def shape(std: Tensor, exact: Tensor) -> Tensor:
    """``1 − Σ (x − x*)² / Σ x*²``, x = log s minus its mean, of ``[L, K]``: ``[L]``."""
    stated, known = (centered(x.clamp(SMALLEST, LARGEST).log()) for x in (std, exact))
    score: Tensor = 1 - (stated - known).square().sum(-1) / known.square().sum(-1)
    return score


def scale(std: Tensor, exact: Tensor) -> Tensor:
    """log10 of the factor by which stated standard deviations are too large, ``[L]``."""
    ratio: Tensor = (std.clamp(SMALLEST, LARGEST).log10() - exact.log10()).mean(-1)
    return ratio


def utility(mean: Tensor, std: Tensor) -> Tensor:
    """Expected utility of a bet that pays ``μ ~ N(m, s²)``, losses weighing ``AVERSION`` times.

    ``λ m − (λ − 1) E[μ⁺]`` with ``E[μ⁺] = m Φ(m/s) + s φ(m/s)``.
    """
    s = std.clamp(min=1e-12)
    density = torch.exp(-0.5 * (mean / s).square()) / math.sqrt(2 * math.pi)
    gain: Tensor = mean * torch.special.ndtr(mean / s) + s * density
    return AVERSION * mean - (AVERSION - 1) * gain


def decisions(std: Tensor, exact_std: Tensor) -> Tensor:
    """Gain of bets by the stated widths over the best constant's, as a share of exact Bayes's.

    A bet on a pair pays Q less a price, losses weighing five times; it is taken where the stated
    utility is positive, and worth its utility by the exact posterior. All are about the exact
    means: about a method's own, worse means would lower what its widths are compared with.
    """
    lead = (PRICES * exact_std.log().mean(-1).exp()[:, None])[:, None].expand(*std.shape, -1)
    worth = utility(lead, exact_std[..., None])

    def lost(width: Tensor) -> Tensor:
        taken = utility(lead, width[..., None]) > 0
        return (worth.clamp(min=0) - worth * taken).mean((-1, -2))

    of = [lost(c[:, None].expand_as(std)) for c in constants(exact_std)]
    share: Tensor = 1 - lost(std) / torch.stack(of).amin(0)
    return share


def constants(exact_std: Tensor) -> Tensor:
    """Widths that are tried, ``[CONSTANTS, L]``: from a third of the least to thrice the most."""
    low, high = exact_std.amin(-1) / 3, 3 * exact_std.amax(-1)
    steps = torch.linspace(0, 1, CONSTANTS, dtype=exact_std.dtype)[:, None]
    return low * (high / low) ** steps


def centered(values: Tensor) -> Tensor:
    """Minus the mean over the last dimension, ``[..., K]``."""
    return values - values.mean(-1, keepdim=True)
