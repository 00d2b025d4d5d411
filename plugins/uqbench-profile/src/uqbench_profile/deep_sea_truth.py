"""What any policy is worth in a deep sea, exactly, by going through its rows from the last up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from uqbench.contract.truth import ExactTruth, Truth
from uqbench_profile.config import DeepSeaConfig
from uqbench_profile.deep_sea import MOVE_COST, TELEVISION, observations, right_actions


def cells(size: int) -> list[int]:
    """The cells that a dive can reach, row by row: those on the diagonal and left of it."""
    return [row * size + column for row in range(size) for column in range(row + 1)]


def exact_truth(config: DeepSeaConfig, discount: float, seeds: Sequence[int]) -> ExactTruth:
    """``Q^π`` and the returns' variance in every cell that can be reached; the policy's dive."""
    right = right_actions(config, seeds)
    reached = torch.tensor(cells(config.size))

    def everywhere(actions: Tensor) -> Tensor:
        """``[L, M] -> [L, N, N]``."""
        table = torch.zeros(len(actions), config.size**2, dtype=torch.int64)
        return table.index_copy(1, reached, actions).view(-1, config.size, config.size)

    def evaluate(actions: Tensor) -> Truth:
        q, var = _backward(config, discount, right, everywhere(actions))
        return Truth(q[:, reached], torch.zeros_like(q[:, reached]), return_var=var[:, reached])

    def score(_: object, actions: Tensor) -> Mapping[str, Tensor]:
        return {"score": dives_to_the_goal(right, everywhere(actions)).double()}

    if config.observed == "one-hot":
        return ExactTruth(torch.eye(config.size**2)[reached], None, evaluate, scores=score)
    obs = observations(config, seeds)[:, reached]
    return ExactTruth(obs, None, evaluate, scores=score, of_lanes=True)


def dives_to_the_goal(right: Tensor, actions: Tensor) -> Tensor:
    """Whether a policy ``[L, N, N]`` goes right in every cell of the diagonal, ``[L]``."""
    diagonal = (part.diagonal(dim1=1, dim2=2) for part in (right, actions))
    wanted, taken = diagonal
    return (wanted == taken).all(-1)


def _backward(
    config: DeepSeaConfig, discount: float, right: Tensor, policy: Tensor
) -> tuple[Tensor, Tensor]:
    """``Q^π`` and the variance of the return, ``[L, N², A]`` float64."""
    size, lanes = config.size, len(policy)
    column = torch.arange(size)
    after = {True: (column + 1).clamp(max=size - 1), False: (column - 1).clamp(min=0)}
    value = torch.zeros(lanes, size, dtype=torch.float64)
    variance = torch.zeros_like(value)
    rows = []
    for row in reversed(range(size)):
        last = row == size - 1
        q, var = [], []
        for action in range(config.n_actions):
            goes_right = right[:, row] == action
            pays = goes_right * ((column == size - 1) & last).double()
            pays = pays - goes_right * (MOVE_COST / size)
            noise = config.noise * last + (action == TELEVISION)
            following, further = (
                torch.where(goes_right, x[:, after[True]], x[:, after[False]])
                for x in (value, variance)
            )
            q.append(pays + discount * following)
            var.append(noise**2 + discount**2 * further)
        both = torch.stack(q, -1), torch.stack(var, -1)
        rows.append(both)
        chosen = policy[:, row, :, None]
        value, variance = (part.gather(-1, chosen).squeeze(-1) for part in both)
    q_rows, var_rows = zip(*reversed(rows), strict=True)
    return torch.cat(q_rows, 1), torch.cat(var_rows, 1)
