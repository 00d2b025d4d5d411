"""What any policy is worth on the windy cliff, exactly: its values and return distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from uqbench.contract.risk import CVaR
from uqbench.contract.truth import ExactTruth, Truth
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import CELLS, START
from uqbench_uadqn.cliff.ground_truth import reachable, return_atoms, return_probs
from uqbench_uadqn.cliff.truth import HORIZON, SAFE_PATH, optimal_values

ALPHA = 0.25
"""As for the returns of training, and in the other suites of risk here."""


def exact_truth(config: CliffConfig, discount: float, _seeds: Sequence[int]) -> ExactTruth:
    """In every cell after every number of steps that an episode can be in, whatever the seeds.

    A policy may depend on the number of steps, which agents observe. Its own scores are about an
    episode from the start: see :func:`learned`.
    """
    t, cell = reachable(config).nonzero(as_tuple=True)
    atoms = return_atoms(discount)

    def evaluate(actions: Tensor) -> Truth:
        laws = (return_probs(config, policy) for policy in _policies(actions))
        probs = torch.stack([law[t, cell] for law in laws])
        returns = atoms.expand_as(probs)
        q = (probs * returns).sum(-1)
        return Truth(q, torch.zeros_like(q), returns=returns, probs=probs)

    def _policies(actions: Tensor) -> Tensor:
        chosen = torch.zeros(len(actions), HORIZON, CELLS, dtype=torch.int64)
        chosen[:, t, cell] = actions
        return chosen

    obs = torch.cat([F.one_hot(cell, CELLS), t[:, None]], -1).float()
    return ExactTruth(
        obs, None, evaluate, scores=lambda _, actions: learned(config, discount, _policies(actions))
    )


def learned(config: CliffConfig, discount: float, policies: Tensor) -> Mapping[str, Tensor]:
    """What an episode from the start is worth by each policy ``[L, HORIZON, CELLS]``, ``[L]`` each.

    ``learned_cvar25`` and ``learned_return`` are the return's CVaR and mean, ``learned_arrival`` is
    the probability of the goal. ``risk_control`` is that CVaR on a scale where 0 is that of the
    best policy for the mean, or less, and 1 that of the way around the ledge; NaN where the wind is
    so weak or so strong that going around has no higher CVaR.
    """
    best = optimal_values(config, discount=discount).argmax(-1)
    laws = [
        return_probs(config, policy)[0, START, policy[0, START]] for policy in (best, *policies)
    ]
    probs, atoms = torch.stack(laws), return_atoms(discount)
    cvar = CVaR(ALPHA)(atoms.expand_as(probs), probs)
    around = atoms[HORIZON + len(SAFE_PATH) - 1]
    room = around - cvar[0]
    share = ((cvar[1:] - cvar[0]) / room).clamp(min=0)
    return {
        "risk_control": share if room > 0 else torch.full_like(share, torch.nan),
        "learned_cvar25": cvar[1:],
        "learned_return": probs[1:] @ atoms,
        "learned_arrival": probs[1:, HORIZON:].sum(-1),
    }
