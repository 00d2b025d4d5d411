"""Stacked layers: the weights of all lanes in one tensor, applied by batched products.

Shapes: ``L`` lanes, ``E`` members of an ensemble (an optional second dimension), ``B`` a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LaneLinear(nn.Module):
    """An affine layer per lane, or per lane and ensemble member.

    Args:
        lanes: L.
        inputs: features in.
        outputs: features out.
        ensemble: E, or None for a layer without that dimension.
    """

    def __init__(self, lanes: int, inputs: int, outputs: int, ensemble: int | None = None) -> None:
        super().__init__()
        stack = (lanes,) if ensemble is None else (lanes, ensemble)
        self.weight = nn.Parameter(torch.zeros(*stack, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(*stack, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """``[L, B, in] -> [L, B, out]``; with an ensemble ``[L, E, B, in] -> [L, E, B, out]``.

        An input ``[L, 1, B, in]`` is shared by the members.
        """
        if self.weight.dim() == 4:
            x = x.expand(-1, self.weight.shape[1], -1, -1)
        out = torch.baddbmm(self.bias.flatten(0, -3), x.flatten(0, -3), self.weight.flatten(0, -3))
        return out.view(*x.shape[:-1], -1)


class LaneConv2d(nn.Module):
    """A convolution without padding per lane (and ensemble member), as patches times weights.

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
        self._positions: Tensor
        depth, height, width = shape
        self.rows = (height - kernel) // stride + 1
        self.columns = (width - kernel) // stride + 1
        self.channels = channels
        self.product = LaneLinear(lanes, depth * kernel * kernel, channels, ensemble)
        # Flat input positions, ordered [C, kernel, kernel, rows, columns].
        positions = torch.arange(depth * height * width).view(depth, height, width)
        windows = positions.unfold(1, kernel, stride).unfold(2, kernel, stride)
        self.register_buffer(
            "_positions", windows.permute(0, 3, 4, 1, 2).flatten(), persistent=False
        )

    def forward(self, x: Tensor) -> Tensor:
        """``[L, (E,) B, C, H, W] -> [L, (E,) B, rows * columns * channels]``, channels last.

        An input ``[L, 1, B, C, H, W]`` is shared by the members of an ensemble.
        """
        *stack, batch = x.shape[:-3]
        # With the batch last a patch is gathered by whole rows, several times faster.
        rows = x.flatten(-3).flatten(0, -3).transpose(1, 2).contiguous()  # [L·E, C·H·W, B]
        patches = rows.index_select(1, self._positions)
        patches = patches.view(rows.shape[0], -1, self.rows * self.columns * batch)
        product: Tensor = self.product(patches.transpose(1, 2).unflatten(0, stack))
        windows: Tensor = product.unflatten(-2, (self.rows * self.columns, batch))
        return windows.transpose(-3, -2).flatten(-2)

    @property
    def features(self) -> int:
        """How many numbers the layer gives for one observation."""
        return self.rows * self.columns * self.channels


def lane_generators(seeds: Sequence[int]) -> list[torch.Generator]:
    """One CPU generator a lane, for drawing initial weights."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def initialise(module: nn.Module, generators: Sequence[torch.Generator], gain: float) -> None:
    """Orthogonal weights times ``gain`` and zero biases, lane by lane from its own generator.

    Saxe et al. 2014. Layers are drawn in the order of ``module.modules()``, members in order.
    """
    for layer in module.modules():
        if isinstance(layer, LaneLinear):
            with torch.no_grad():
                for lane, generator in zip(layer.weight, generators, strict=True):
                    for weight in lane.view(-1, *lane.shape[-2:]):
                        nn.init.orthogonal_(weight, gain, generator=generator)
                layer.bias.zero_()
