"""Pictures of CartPole: the cart on its track, between the ends, and the pole."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uqbench.pictures import Frame
from uqbench_sentinel.cartpole import FARTHEST

HEIGHT, WIDTH = 120, 240
TRACK = 96
"""Row of the track."""
POLE = 70
"""Pixels."""


def frame(_: object, obs: NDArray[Any]) -> Frame:
    """The cart, for an observation of position, velocity, angle and its velocity."""
    picture = np.full((HEIGHT, WIDTH, 3), 236, np.uint8)
    picture[TRACK : TRACK + 2] = 90
    middle = WIDTH / 2 * (1 + float(obs[0]) / FARTHEST * 0.85)
    for end in (-0.85, 0.85):
        column = int(WIDTH / 2 * (1 + end))
        picture[TRACK - 14 : TRACK + 2, column - 1 : column + 1] = (180, 40, 40)
    left, right = (min(max(int(middle) + side, 0), WIDTH) for side in (-18, 18))
    picture[TRACK - 14 : TRACK, left:right] = (50, 70, 120)
    for length in np.linspace(0, POLE, 4 * POLE):
        x = int(middle + length * math.sin(float(obs[2])))
        y = int(TRACK - 14 - length * math.cos(float(obs[2])))
        if 2 <= x < WIDTH - 2 and 2 <= y < HEIGHT - 2:
            picture[y - 2 : y + 2, x - 2 : x + 2] = (190, 120, 50)
    return picture
