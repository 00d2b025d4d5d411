"""Pictures of MinAtar: a color a channel, later channels over earlier ones."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uqbench.pictures import Frame

SIDE = 16
"""Pixels of a cell."""


def frame(_: object, obs: NDArray[Any]) -> Frame:
    """The screen, for an observation ``[channels, 10, 10]`` of booleans."""
    channels, height, width = obs.shape
    small = np.full((height, width, 3), 24, np.uint8)
    for channel in range(channels):
        color = colorsys.hsv_to_rgb(channel / channels, 0.55, 0.95)
        small[obs[channel].astype(bool)] = (255 * np.array(color)).astype(np.uint8)
    return np.kron(small, np.ones((SIDE, SIDE, 1), np.uint8))
