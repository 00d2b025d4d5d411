"""Pictures of play: a frame, and beside it return, action, and the agent's uncertainty as bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uqbench.api.playing import Beliefs, Moment
from uqbench.errors import UqbenchError
from uqbench.pictures import Frame, StateMap
from uqbench.results.files import check_output

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

WIDE = 300
"""Pixels of the panel beside a frame."""
LEAST_HEIGHT = 240
BACKGROUND, INK, PALE = (250, 250, 248), (30, 30, 30), (205, 205, 200)
EPISTEMIC, ALEATORIC = (0, 114, 178), (230, 159, 0)
"""Okabe and Ito's blue and orange, which differ for all eyes; the labels say which is which too."""
FRAMES_PER_SECOND = 10


def pillow() -> Any:
    """Pillow's modules.

    Raises:
        UqbenchError: it is not installed.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise UqbenchError(
            "pictures need Pillow: pip install 'uqbench[play]', which also installs imageio."
        ) from None
    return Image, ImageDraw


def frames(moments: Iterable[Moment], title: str, *, uncertainty: bool = True) -> list[Image.Image]:
    """Each moment as a picture; bars keep one scale over all of them.

    Raises:
        UqbenchError: the environment draws no pictures, or Pillow is not installed.
    """
    seen = list(moments)
    if not seen or seen[0].picture is None:
        raise UqbenchError(f"{title}: its environment draws no pictures.")
    scales = [
        max(
            (float(v.max()) for m in seen if (v := getattr(m.beliefs, kind)) is not None), default=0
        )
        for kind in ("epistemic", "aleatoric")
    ]
    return [_frame(moment, title, scales, uncertainty) for moment in seen]


def _frame(moment: Moment, title: str, scales: Sequence[float], uncertainty: bool) -> Image.Image:
    image_module, draw_module = pillow()
    picture = _scaled(moment.picture)
    height, width = max(picture.shape[0], LEAST_HEIGHT), picture.shape[1]
    canvas: Image.Image = image_module.new("RGB", (width + WIDE, height + 24), BACKGROUND)
    canvas.paste(image_module.fromarray(picture), (0, 24 + (height - picture.shape[0]) // 2))
    draw = draw_module.Draw(canvas)
    draw.text((6, 6), title, fill=INK)
    left, top = width + 12, 30
    draw.text(
        (left, top),
        f"episode {moment.episode}, step {moment.step}\nreturn {moment.collected:g}\n"
        f"action {moment.action}",
        fill=INK,
    )
    if uncertainty:
        _bars(draw, moment, scales, left, top + 56)
    return canvas


def _bars(
    draw: ImageDraw.ImageDraw, moment: Moment, scales: Sequence[float], left: int, top: int
) -> None:
    """Two bars an action: epistemic above aleatoric; the chosen action has a mark."""
    kinds = (("epistemic", EPISTEMIC), ("aleatoric", ALEATORIC))
    for number, (kind, color) in enumerate(kinds):
        values = getattr(moment.beliefs, kind)
        title = f"{kind} sd of Q(s, ·)" if kind == "epistemic" else f"{kind} sd of the return"
        draw.text((left, top), f"{title}, to {scales[number]:.3g}", fill=color)
        top += 16
        if values is None:
            draw.text((left, top), "not predicted", fill=INK)
            top += 22
            continue
        for action, value in enumerate(values):
            length = int((WIDE - 90) * float(value) / scales[number]) if scales[number] else 0
            mark = ">" if action == moment.action else " "
            draw.text((left, top - 2), f"{mark} {action}", fill=INK)
            draw.rectangle((left + 26, top, left + 26 + WIDE - 90, top + 7), outline=PALE)
            draw.rectangle((left + 26, top, left + 26 + length, top + 7), fill=color)
            draw.text((left + WIDE - 58, top - 2), f"{float(value):.2g}", fill=INK)
            top += 12
        top += 8


def state_map_picture(states: StateMap, beliefs: Sequence[Beliefs], title: str) -> Image.Image:
    """Epistemic and aleatoric uncertainty of each state's greedy action, as two maps.

    Raises:
        UqbenchError: the agent predicts neither, or Pillow is not installed.
    """
    kinds = [k for k in ("epistemic", "aleatoric") if getattr(beliefs[0], k) is not None]
    if not kinds:
        raise UqbenchError(f"{title}: the agent predicts no uncertainty.")
    image_module, draw_module = pillow()
    rows, columns = (int(n) + 1 for n in states.places.max(axis=0))
    side = max(44, min(80, 900 // columns))
    canvas: Image.Image = image_module.new(
        "RGB", (columns * side + 24, 24 + len(kinds) * (rows * side + 34)), BACKGROUND
    )
    draw = draw_module.Draw(canvas)
    draw.text((12, 6), title, fill=INK)
    top = 24
    for kind in kinds:
        values = np.array([_greedy(one, kind) for one in beliefs])
        highest = float(values.max())
        draw.text((12, top), f"{kind} sd at the greedy action; darkest {highest:.3g}", fill=INK)
        top += 16
        color = EPISTEMIC if kind == "epistemic" else ALEATORIC
        for (row, column), value, one in zip(states.places, values, beliefs, strict=True):
            share = float(value) / highest if highest else 0.0
            fill = tuple(int(b + share * (c - b)) for b, c in zip(BACKGROUND, color, strict=True))
            x, y = 12 + int(column) * side, top + int(row) * side
            draw.rectangle((x, y, x + side - 2, y + side - 2), fill=fill, outline=PALE)
            draw.text((x + 4, y + 3), f"{float(value):.2g}", fill=INK)
            if one.mean is not None:
                draw.text((x + 4, y + side - 16), states.actions[int(one.mean.argmax())], fill=INK)
        top += rows * side + 18
    return canvas


def save(images: Sequence[Image.Image], path: Path) -> None:
    """Write a film: ``.gif``, ``.mp4``, or ``.png`` for its first picture.

    Raises:
        UqbenchError: the file's name ends otherwise, it cannot be written, or is no regular one.
    """
    check_output(path)
    kind = path.suffix.lower()
    try:
        if kind == ".png":
            images[0].save(path)
        elif kind == ".gif":
            first, *others = images
            duration = 1000 // FRAMES_PER_SECOND
            first.save(path, save_all=True, append_images=others, duration=duration, loop=0)
        elif kind == ".mp4":
            _mp4(images, path)
        else:
            raise UqbenchError(f"{path}: expected a name that ends with .gif, .mp4 or .png.")
    except OSError as error:
        raise UqbenchError(f"{path} cannot be written: {error}") from error


def _mp4(images: Sequence[Image.Image], path: Path) -> None:
    try:
        import imageio.v2 as imageio
        import imageio_ffmpeg  # noqa: F401  what imageio writes films by
    except ImportError:
        raise UqbenchError(
            "films as .mp4 need imageio with ffmpeg: pip install 'uqbench[play]'; .gif needs "
            "Pillow alone."
        ) from None
    pictures = [np.asarray(image) for image in images]
    imageio.mimwrite(path, pictures, fps=FRAMES_PER_SECOND, macro_block_size=2)


def _greedy(beliefs: Beliefs, kind: str) -> float:
    values = getattr(beliefs, kind)
    mean = beliefs.mean
    return float(values.max() if mean is None else values[int(mean.argmax())])


def _scaled(picture: NDArray[Any] | None) -> Frame:
    """The picture, enlarged by a whole number towards 320 pixels."""
    assert picture is not None
    times = max(1, 320 // max(picture.shape[:2]))
    return np.kron(picture, np.ones((times, times, 1), np.uint8))
