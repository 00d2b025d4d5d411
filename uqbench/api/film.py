"""Pictures of play: frames with what the agent knows, and the uncertainty about every state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from uqbench.api.playing import Beliefs, Moment
from uqbench.errors import UqbenchError
from uqbench.pictures import StateMap
from uqbench.results.files import check_output

Image = Any
"""An image of Pillow, which is imported when one is drawn."""
SIDE = 60
"""Pixels of a state on a map."""
LINE = 14
"""Pixels of a line of text."""
PALEST, DARKEST = np.array([250, 250, 248]), np.array([0, 114, 178])
LABELS = {"mean": "Q", "epistemic": "epistemic sd of Q", "aleatoric": "aleatoric sd of the return"}
FRAME_MS = 100


def frames(moments: Sequence[Moment], title: str) -> list[Image]:
    """Each moment as a picture, under its return, action, and the uncertainty about that.

    Raises:
        UqbenchError: the environment draws no pictures, or Pillow is not installed.
    """
    images = []
    for moment in moments:
        if moment.picture is None:
            raise UqbenchError(f"{title}: its environment draws no pictures.")
        times = max(1, 320 // max(moment.picture.shape[:2]))  # enlarged by a whole number
        picture = np.kron(moment.picture, np.ones((times, times, 1), np.uint8))
        about = [title, f"episode {moment.episode}, step {moment.step}"]
        about += [f"return {moment.collected:g}, action {moment.action}"]
        about += [
            f"{LABELS[name]} {own[moment.action]:.3g}" for name, own in moment.beliefs.items()
        ]
        above, (height, width) = LINE * (len(about) + 1), picture.shape[:2]
        module, canvas, draw = _canvas(width, above + height)
        draw.text((6, 6), "\n".join(about), fill="black")
        canvas.paste(module.fromarray(picture), (0, above))
        images.append(canvas)
    return images


def state_map_picture(states: StateMap, beliefs: Beliefs, title: str) -> Image:
    """Epistemic and aleatoric uncertainty of each state's greedy action, as two maps.

    Raises:
        UqbenchError: the agent predicts neither, or Pillow is not installed.
    """
    kinds = [kind for kind in ("epistemic", "aleatoric") if kind in beliefs]
    if not kinds:
        raise UqbenchError(f"{title}: the agent predicts no uncertainty.")
    greedy = beliefs.get("mean", beliefs[kinds[0]]).argmax(-1)
    rows, columns = (int(n) + 1 for n in states.places.max(axis=0))
    tall = rows * SIDE + 3 * LINE
    _, canvas, draw = _canvas(columns * SIDE, len(kinds) * tall)
    for number, kind in enumerate(kinds):
        values = beliefs[kind][np.arange(len(greedy)), greedy]
        colors = PALEST + (values / (values.max() or 1.0))[:, None] * (DARKEST - PALEST)
        about = f"{title}\n{kind} sd at the greedy action; darkest {values.max():.3g}"
        draw.text((6, number * tall + 6), about, fill="black")
        for place, value, color, action in zip(states.places, values, colors, greedy, strict=True):
            y, x = (int(n) * SIDE for n in place)
            y += number * tall + 3 * LINE
            fill = tuple(color.astype(int))
            draw.rectangle((x, y, x + SIDE - 2, y + SIDE - 2), fill=fill, outline="lightgray")
            draw.text((x + 4, y + 3), f"{value:.2g}\n{states.actions[action]}", fill="black")
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
    canvas = Image.new("RGB", (width, height), tuple(PALEST))
    return Image, canvas, ImageDraw.Draw(canvas)
