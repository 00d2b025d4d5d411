"""Stacked layers: the weights of all lanes in one tensor, applied by batched products.

Shapes: ``L`` lanes, ``E`` members of an ensemble (an optional second dimension), ``B`` a batch.
"""

import copy
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from uqbench.lanes.execution import NUMERICS
from uqbench_lanes.products import product

M = TypeVar("M", bound=nn.Module)


class LaneLinear(nn.Module):
    """An affine layer per lane, or per lane and ensemble member.

    Args:
        lanes: L.
        inputs: features in.
        outputs: features out.
        ensemble: E, or None for a layer without that dimension.

    Attributes:
        onednn: whether products are oneDNN's where these are faster (``use_onednn``).
    """

    onednn = False

    def __init__(self, lanes: int, inputs: int, outputs: int, ensemble: int | None = None) -> None:
        super().__init__()
        stack = (lanes,) if ensemble is None else (lanes, ensemble)
        self.weight = nn.Parameter(torch.zeros(*stack, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(*stack, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """``[S, B, in] -> [S, B, out]``, S = L, or L · E with a lane's members adjacent.

        ``[L, B, in]`` is the same input for all members of a lane.
        """
        weight, bias = self.weight.flatten(0, -3), self.bias.flatten(0, -3)
        return product(x, weight, self.onednn) + bias


class LaneConv2d(nn.Module):
    """A convolution without padding per lane (and ensemble member), as patches times weights.

    A filter's weights, a column of ``product.weight``, are ordered ``[kernel, kernel, C]``.
    Products of patches are bit-identical per lane; the weight gradients of grouped convolutions
    are not.

    Args:
        lanes: L.
        shape: channels, height and width of the input.
        channels: output channels.
        kernel: side of the square kernel.
        stride: step of the kernel.
        ensemble: E, or None for a layer without that dimension.
    """

    def __init__(
        self,
        lanes: int,
        shape: tuple[int, int, int],
        channels: int,
        kernel: int,
        stride: int = 1,
        ensemble: int | None = None,
    ) -> None:
        super().__init__()
        depth, height, width = shape
        self.rows = (height - kernel) // stride + 1
        self.columns = (width - kernel) // stride + 1
        self.channels = channels
        self.product = LaneLinear(lanes, depth * kernel * kernel, channels, ensemble)
        self._kernel = kernel
        self._stride = stride
        self.kernel_and_stride = kernel, stride

    def forward(self, x: Tensor) -> Tensor:
        """``[S, B, C, H, W] -> [S, B, rows * columns * channels]``, channels last.

        S = L, or L · E with a lane's members adjacent; ``[L, B, C, H, W]`` is the same input for
        all of them.
        """
        pixels: Tensor = self.product(self._patches(x))
        return pixels.view(len(pixels), x.shape[1], -1)

    def _patches(self, x: Tensor) -> Tensor:
        """``[S, B, C, H, W] -> [S, B * rows * columns, kernel * kernel * C]``."""
        pixels = x.movedim(2, -1).contiguous()  # channels last: a row of a patch is contiguous
        lane, batch, row, column, _ = pixels.stride()
        depth, kernel = pixels.shape[-1], self._kernel
        patches = pixels.as_strided(
            (*pixels.shape[:2], self.rows, self.columns, kernel, kernel * depth),
            (lane, batch, row * self._stride, column * self._stride, row, 1),
        )
        return patches.reshape(len(x), -1, kernel * kernel * depth)

    @property
    def features(self) -> int:
        """Number of output features per observation."""
        return self.rows * self.columns * self.channels


def lane_generators(seeds: Sequence[int]) -> list[torch.Generator]:
    """One CPU generator per lane, for drawing initial weights."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def _orthogonal() -> Callable[..., object]:
    """The function that makes orthogonal weights; native runs' are alike on every processor."""
    if NUMERICS.get() != "native":
        return nn.init.orthogonal_
    from uqbench_lanes.kernels.orthogonal import orthogonal  # it imports Numba

    return orthogonal


def initialize(module: nn.Module, generators: Sequence[torch.Generator], gain: float) -> None:
    """Orthogonal weights times ``gain`` and zero biases, lane by lane from its own generator.

    Saxe et al. 2014. Layers are drawn in the order of ``module.modules()``, their members in order.
    """
    orthogonal = _orthogonal()
    for layer in module.modules():
        if isinstance(layer, LaneLinear):
            with torch.no_grad():
                for lane, generator in zip(layer.weight, generators, strict=True):
                    for weight in lane.view(-1, *lane.shape[-2:]):
                        orthogonal(weight, gain, generator=generator)
                layer.bias.zero_()


def initialize_uniform(module: nn.Module, generators: Sequence[torch.Generator]) -> None:
    """Weights and biases uniform within ``±1/√inputs``, as ``torch.nn.Linear`` draws them.

    Lane by lane from its own generator, layers in the order of ``module.modules()``.
    """
    for layer in module.modules():
        if isinstance(layer, LaneLinear):
            bound = layer.weight.shape[-2] ** -0.5
            with torch.no_grad():
                for parameter in (layer.weight, layer.bias):
                    for lane, generator in zip(parameter, generators, strict=True):
                        lane.uniform_(-bound, bound, generator=generator)


def target_copy(online: M) -> M:
    """A copy of a network that requires no gradients."""
    return copy.deepcopy(online).requires_grad_(False)


@torch.no_grad()
def sync_target(online: nn.Module, target: nn.Module) -> None:
    """``θ⁻ ← θ`` in every lane, in place."""
    for source, destination in zip(online.parameters(), target.parameters(), strict=True):
        destination.copy_(source)
