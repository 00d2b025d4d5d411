"""Steps toward a goal that keep away from danger, on the board of 10 × 10."""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench_minatar.games.board import DOWN, LAST, LEFT, RIGHT, UP, WIDTH

NOTHING = 0
MOVES = ((NOTHING, 0, 0), (LEFT, -1, 0), (RIGHT, 1, 0), (UP, 0, -1), (DOWN, 0, 1))
FAR = 2 * WIDTH
CONTACT, CLOSE = 1000, 100
"""Costs of a step into danger, and next to it; a step away from the goal costs one."""


def place(plane: Tensor) -> tuple[Tensor, Tensor]:
    """Column and row of the first cell set in ``[..., 10, 10]``."""
    first = plane.flatten(-2).to(torch.uint8).argmax(-1)
    return first % WIDTH, first // WIDTH


def widened(plane: Tensor) -> Tensor:
    """The cells set in ``[..., 10, 10]``, and their neighbors to the left and right."""
    wide = plane.clone()
    wide[..., 1:] |= plane[..., :-1]
    wide[..., :-1] |= plane[..., 1:]
    return wide


def safe_step(
    x: Tensor, y: Tensor, goals: Tensor, danger: Tensor, lowest: int, highest: int
) -> Tensor:
    """The move toward the nearest goal that is neither into danger nor next to it.

    Args:
        x: the player's column, ``[...]``.
        y: its row.
        goals: cells ``[..., 10, 10]``; without one only danger counts.
        danger: cells ``[..., 10, 10]``.
        lowest: first row that the player can be in.
        highest: last row.
    """
    columns = torch.stack([(x + dx).clamp(0, LAST) for _, dx, _ in MOVES], -1)
    rows = torch.stack([(y + dy).clamp(lowest, highest) for _, _, dy in MOVES], -1)
    cells = WIDTH * rows + columns
    near = widened(danger)
    distance = _distances(x.device)[cells]
    cost = torch.where(goals.flatten(-2)[..., None, :], distance, FAR).amin(-1)
    for plane, price in ((near, CONTACT), (widened(near), CLOSE)):
        cost = cost + price * plane.flatten(-2).gather(-1, cells)
    actions = torch.tensor([action for action, _, _ in MOVES], device=x.device)
    return actions[cost.argmin(-1)]


def _distances(device: torch.device) -> Tensor:
    """Steps between any two cells, ``[100, 100]``."""
    cell = torch.arange(WIDTH * WIDTH, device=device)
    row, column = cell // WIDTH, cell % WIDTH
    return (row[:, None] - row).abs() + (column[:, None] - column).abs()
