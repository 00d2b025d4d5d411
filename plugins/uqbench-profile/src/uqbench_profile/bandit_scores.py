"""What a statement about the table of bandits is worth, against the exact posterior.

Every score is 1 for exact Bayes, 0 for one who knows only how the table was drawn, and at least −1.
What is not stated has no score. ``score`` is the mean of all. Shapes: ``[L, S, A]``, float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from uqbench_dqn.sizes import LARGEST, at_sizes

from uqbench.contract.agent import Uncertainty
from uqbench.contract.specs import NoConfig
from uqbench.contract.truth import ExactTruth, Truth
from uqbench_profile.bandit_table import (
    CELLS,
    FEW,
    KINDS,
    LOUD,
    MANY,
    QUIET,
    STATES,
    Table,
)
from uqbench_profile.laws import Law, excess
from uqbench_profile.widths import LOWEST, SMALLEST, decisions, scale, shape

EVERYTHING = (
    "epistemic_shape",
    "aleatoric_calibration",
    "disentanglement",
    "unseen_states",
    "decisions",
)
"""Scores of a method that states all that is asked; of any other there is no mean."""


def posterior(table: Table) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of μ given the rewards seen, ``[L, S, A]``.

    With ``μ ~ N(0, 1)`` and n rewards ``N(μ, σ²)``: ``1/s² = 1 + n/σ²``, ``m = s² Σ r / σ²``. Where
    σ = 0 it is certain: the middle of the least and the greatest reward.
    """
    count, var = table.of_kind("data"), table.of_kind("noise").square()
    seen = torch.arange(MANY) < count[..., None]
    total = (table.rewards * seen).sum(-1)
    low = table.rewards.masked_fill(~seen, torch.inf).amin(-1)
    high = table.rewards.masked_fill(~seen, -torch.inf).amax(-1)
    mean = torch.where((count > 0) & (var == 0), 0.5 * (low + high), total / (count + var))
    return mean, (var / (var + count)).sqrt().expand_as(mean)


def slopes(std: Tensor, kind: Tensor) -> Tensor:
    """``d log s / d log σ`` and ``d log s / d log n`` over the cells, ``[L, 2]``."""
    logs = std.clamp(SMALLEST, LARGEST).log().mean(-1)
    of = {cell: _mean_of(logs, kind == KINDS.index(cell)) for cell in CELLS}
    few_quiet, many_quiet, few_loud, many_loud = (of[cell] for cell in CELLS)
    noise = (few_loud - few_quiet + many_loud - many_quiet) / (2 * math.log(LOUD / QUIET))
    data = (many_quiet - few_quiet + many_loud - few_loud) / (2 * math.log(MANY / FEW))
    return torch.stack([noise, data], -1)


def disentanglement(stated: Tensor, exact: Tensor) -> Tensor:
    """``1 − ‖S − S*‖ / ‖S*‖`` of the four slopes ``[L, 4]``: 0 for constants."""
    squared = (stated - exact).square().sum(-1) / exact.square().sum(-1)
    return 1 - squared.sqrt()


def unseen_states(std: Tensor, unseen: Tensor) -> Tensor:
    """``2 AUROC − 1`` of the states' standard deviations, unseen ones ``[L, S]`` against seen."""
    each = std.mean(-1)
    found = []
    for values, new in zip(each, unseen, strict=True):
        above = values[new][:, None] - values[~new]
        found.append(above.sign().mean())
    return torch.stack(found)


def aleatoric_calibration(stated: Law, truth: Law, reference: Law) -> Tensor:
    """``1 − Σ excess(stated) / Σ excess(climatology)``, CRPS beyond the truth's own, ``[L]``."""
    return 1 - excess(stated, truth).sum(-1) / excess(reference, truth).sum(-1)


def climatology() -> Law:
    """The law of a reward of a state seen often, before anything is known of it, ``[C]``."""
    many = [kind for kind in KINDS if kind.data == MANY]
    modes = [(kind, sign) for kind in many for sign in (-1.0, 1.0)]
    return Law(
        torch.full((len(modes),), 1 / len(modes), dtype=torch.float64),
        torch.tensor([sign * kind.gap for kind, sign in modes], dtype=torch.float64),
        torch.tensor([math.hypot(1, kind.noise) for kind, _ in modes], dtype=torch.float64),
    )


def scores(table: Table, stated: Uncertainty) -> Mapping[str, Tensor]:
    """The capabilities that show in what is stated about every state, ``[L]`` by name.

    What is not stated has no score, and the mean, ``score``, is there only where all of it is.
    """
    known = {name: x.double().cpu() for name, x in vars(stated).items() if x is not None}
    lanes = len(table.mu)
    cell = table.kind < len(CELLS)
    often = (table.of_kind("data") == MANY).squeeze(-1)
    _, std = posterior(table)

    def of(values: Tensor, states: Tensor) -> Tensor:
        """``[L, S, A, *] -> [L, K, *]`` of the states of each lane."""
        chosen = values[states]
        return chosen.reshape(lanes, -1, *chosen.shape[2:])

    found = {}
    own = _epistemic_std(known)
    if own is not None:
        widths = of(own, cell), of(std, cell)
        found["epistemic_shape"] = shape(*widths)
        found["decisions"] = decisions(*widths)
        found["unseen_states"] = unseen_states(own, (table.of_kind("data") == 0).squeeze(-1))
    if own is not None and "aleatoric_var" in known:
        aleatoric = known["aleatoric_var"].clamp(min=0).sqrt()
        right = torch.tensor([[1.0, 0.0]], dtype=torch.float64).expand(lanes, -1)
        found["disentanglement"] = disentanglement(
            torch.cat([slopes(own, table.kind), slopes(aleatoric, table.kind)], -1),
            torch.cat([slopes(std, table.kind), right], -1),
        )
    if "return_atoms" in known:
        atoms, probs = (of(known[name], often) for name in ("return_atoms", "return_probs"))
        truth = Law(*(of(part, often) for part in table.laws()))
        found["aleatoric_calibration"] = aleatoric_calibration(
            Law(probs, atoms, torch.zeros_like(atoms)), truth, climatology()
        )
    found = {name: values.clamp(min=LOWEST) for name, values in found.items()}
    if found.keys() == set(EVERYTHING):
        found["score"] = torch.stack([*found.values()]).mean(0)
    return found if own is None else {**found, "epistemic_scale": scale(*widths)}


def exact_truth(_config: NoConfig, _discount: float, seeds: Sequence[int]) -> ExactTruth:
    """The mean of every bandit that is seen, whatever the policy, and the scores of this module."""
    table = Table.drawn(seeds)
    seen = table.of_kind("data").expand_as(table.mu) > 0
    q = table.mu.masked_fill(~seen, torch.nan)
    var = (table.of_kind("noise").square() + table.of_kind("gap").square()).expand_as(q)
    truth = Truth(q, torch.zeros_like(q), return_var=var)
    obs = torch.eye(STATES, STATES + 1)

    def scored(stated: Uncertainty, _: Tensor) -> Mapping[str, Tensor]:
        return at_sizes(lambda said: scores(table, said), stated, ("decisions",))

    return ExactTruth(obs, None, lambda _: truth, scores=scored)


def _epistemic_std(known: Mapping[str, Tensor]) -> Tensor | None:
    if "epistemic_var" in known:
        return known["epistemic_var"].clamp(min=0).sqrt()
    return known["value_samples"].std(-1) if "value_samples" in known else None


def _mean_of(values: Tensor, chosen: Tensor) -> Tensor:
    """Means ``[L]`` of the chosen of ``[L, S]``."""
    return (values * chosen).sum(-1) / chosen.sum(-1)
