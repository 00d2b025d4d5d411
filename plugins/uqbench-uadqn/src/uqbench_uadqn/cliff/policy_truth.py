"""What any policy is worth on the windy cliff, exactly: its values and return distributions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from uqbench.truth import ExactTruth, Truth
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import CELLS
from uqbench_uadqn.cliff.ground_truth import reachable, return_atoms, return_probs
from uqbench_uadqn.cliff.truth import HORIZON


def exact_truth(config: CliffConfig, discount: float, _seeds: Sequence[int]) -> ExactTruth:
    """In every cell after every number of steps that an episode can be in, whatever the seeds.

    A policy may depend on the number of steps, which agents observe.
    """
    t, cell = reachable(config).nonzero(as_tuple=True)
    atoms = return_atoms(discount)

    def evaluate(actions: Tensor) -> Truth:
        probs = torch.stack([one[t, cell] for one in (_probs(lane) for lane in actions)])
        returns = atoms.expand_as(probs)
        q = (probs * returns).sum(-1)
        return Truth(q, torch.zeros_like(q), returns=returns, probs=probs)

    def _probs(actions: Tensor) -> Tensor:
        chosen = torch.zeros(HORIZON, CELLS, dtype=torch.int64)
        chosen[t, cell] = actions
        return return_probs(config, chosen)

    obs = torch.cat([F.one_hot(cell, CELLS), t[:, None]], -1).float()
    return ExactTruth(obs, None, evaluate)
