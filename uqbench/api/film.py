"""Pictures of play: a frame, and beside it return, action, and the agent's uncertainty as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from uqbench.api.playing import Beliefs, Moment
from uqbench.errors import UqbenchError
from uqbench.pictures import StateMap
from uqbench.results.files import check_output

Image = Any
"""An image of Pillow, which is imported when one is drawn."""
WIDE = 300
"""Pixels of the panel beside a frame."""
LEAST_HEIGHT = 240
BACKGROUND, INK, PALE = (250, 250, 248), (30, 30, 30), (205, 205, 200)
COLORS = {"epistemic": (0, 114, 178), "aleatoric": (230, 159, 0)}
"""Okabe and Ito's blue and orange, which differ for all eyes; the labels say which is which too."""
LABELS = {"epistemic": "epistemic sd of Q(s, ·)", "aleatoric": "aleatoric sd of the return"}
FRAME_MS = 100


def frames(moments: Sequence[Moment], title: str, *, uncertainty: bool = True) -> list[Image]:
    """Each moment as a picture; bars keep one scale over all of them.

    Raises:
        UqbenchError: the environment draws no pictures, or Pillow is not installed.
    """
    if not moments or moments[0].picture is None:
        raise UqbenchError(f"{title}: its environment draws no pictures.")
    scales = {
        kind: max(float(moment.beliefs[kind].max()) for moment in moments)
        for kind in COLORS
        if uncertainty and kind in moments[0].beliefs
    }
    return [_frame(moment, title, scales, uncertainty) for moment in moments]


def _frame(moment: Moment, title: str, scales: Mapping[str, float], uncertainty: bool) -> Image:
    """A picture, and beside it two bars an action; the chosen action has a mark."""
    assert moment.picture is not None
    times = max(1, 320 // max(moment.picture.shape[:2]))  # enlarged by a whole number
    picture = np.kron(moment.picture, np.ones((times, times, 1), np.uint8))
    height, width = max(picture.shape[0], LEAST_HEIGHT), picture.shape[1]
    image_module, canvas, draw = _canvas(width + WIDE, height + 24)
    canvas.paste(image_module.fromarray(picture), (0, 24 + (height - picture.shape[0]) // 2))
    draw.text((6, 6), title, fill=INK)
    left, top = width + 12, 30
    about = f"episode {moment.episode}, step {moment.step}\nreturn {moment.collected:g}\n"
    draw.text((left, top), f"{about}action {moment.action}", fill=INK)
    top += 56
    for kind, color in COLORS.items() if uncertainty else ():
        draw.text((left, top), f"{LABELS[kind]}, to {scales.get(kind, 0):.3g}", fill=color)
        top += 16
        if kind not in scales:
            draw.text((left, top), "not predicted", fill=INK)
            top += 12
        for action, value in enumerate(moment.beliefs[kind] if kind in scales else ()):
            length = int((WIDE - 90) * float(value) / scales[kind]) if scales[kind] else 0
            mark = ">" if action == moment.action else " "
            draw.text((left, top - 2), f"{mark} {action}", fill=INK)
            draw.rectangle((left + 26, top, left + 26 + WIDE - 90, top + 7), outline=PALE)
            draw.rectangle((left + 26, top, left + 26 + length, top + 7), fill=color)
            draw.text((left + WIDE - 58, top - 2), f"{float(value):.2g}", fill=INK)
            top += 12
        top += 8
    return canvas


def state_map_picture(states: StateMap, beliefs: Sequence[Beliefs], title: str) -> Image:
    """Epistemic and aleatoric uncertainty of each state's greedy action, as two maps.

    Raises:
        UqbenchError: the agent predicts neither, or Pillow is not installed.
    """
    kinds = [kind for kind in COLORS if kind in beliefs[0]]
    if not kinds:
        raise UqbenchError(f"{title}: the agent predicts no uncertainty.")
    rows, columns = (int(n) + 1 for n in states.places.max(axis=0))
    side = max(44, min(80, 900 // columns))
    _, canvas, draw = _canvas(columns * side + 24, 24 + len(kinds) * (rows * side + 34))
    draw.text((12, 6), title, fill=INK)
    top = 24
    for kind in kinds:
        greedy = [one["mean"].argmax() if "mean" in one else one[kind].argmax() for one in beliefs]
        values = [float(one[kind][action]) for one, action in zip(beliefs, greedy, strict=True)]
        highest = max(values)
        draw.text((12, top), f"{kind} sd at the greedy action; darkest {highest:.3g}", fill=INK)
        top += 16
        for (row, column), value, action in zip(states.places, values, greedy, strict=True):
            share = value / highest if highest else 0.0
            pairs = zip(BACKGROUND, COLORS[kind], strict=True)
            x, y = 12 + int(column) * side, top + int(row) * side
            fill = tuple(int(b + share * (c - b)) for b, c in pairs)
            draw.rectangle((x, y, x + side - 2, y + side - 2), fill=fill, outline=PALE)
            draw.text((x + 4, y + 3), f"{value:.2g}", fill=INK)
            if "mean" in beliefs[0]:
                draw.text((x + 4, y + side - 16), states.actions[int(action)], fill=INK)
        top += rows * side + 18
    return canvas


def save(images: Sequence[Image], path: Path) -> None:
    """Write a film: ``.gif``, or ``.png`` for its first picture.

    Raises:
        UqbenchError: the file's name ends otherwise, it cannot be written, or is no regular one.
    """
    check_output(path)
    kind, (first, *others) = path.suffix.lower(), images
    if kind not in (".gif", ".png"):
        raise UqbenchError(f"{path}: expected a name that ends with .gif or .png.")
    film = {"save_all": True, "append_images": others, "duration": FRAME_MS, "loop": 0}
    try:
        first.save(path, **(film if kind == ".gif" else {}))
    except OSError as error:
        raise UqbenchError(f"{path} cannot be written: {error}") from error


def _canvas(width: int, height: int) -> tuple[Any, Image, Any]:
    """Pillow's module of images, an empty one, and what draws on it.

    Raises:
        UqbenchError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise UqbenchError("pictures need Pillow: pip install 'uqbench[play]'.") from None
    canvas = Image.new("RGB", (width, height), BACKGROUND)
    return Image, canvas, ImageDraw.Draw(canvas)
