"""A convolution of planes of bits: a set pixel adds a row of filters to each output it reaches.

Weights are ordered as :class:`uqbench.lanes.LaneConv2d` has them, ``[kernel, kernel, C]`` rows of
16 filters; outputs are channels last.
"""

# trailing_zeros is an intrinsic, whose types are not its arguments':
# mypy: disable-error-code="call-arg"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros
from numpy.typing import NDArray

from uqbench.lanes.kernels import compiled
from uqbench_dqn.native.products import H_STEP, MOST_INPUTS
from uqbench_dqn.native.vectors import WIDTH, add, fetch, load, mark, rectified, splat, store

FILTERS = WIDTH
"""The convolution's filters: one vector."""
BYTES = 4
"""That are read at once, to skip what is not set."""
AHEAD, LINE = 4, 16
"""Observations between the one that is read and the one brought near; words of a cache line."""


class Reach(NamedTuple):
    """Where a pixel's adds go, ``[pixels, kernel²]`` flat, of which the first ``reached`` are used.

    Attributes:
        to: first of the outputs' 16 floats.
        by: first of the filters' 16 floats.
        reached: of each pixel, ``[pixels]``.
        found: scratch for the set pixels of an observation, ``[pixels]``.
    """

    to: NDArray[np.int32]
    by: NDArray[np.int32]
    reached: NDArray[np.int32]
    found: NDArray[np.int32]


def reach(shape: tuple[int, int, int], kernel: int, stride: int) -> Reach:
    """The outputs that each pixel of ``[C, H, W]`` reaches, and through which row of weights."""
    depth, height, width = shape
    rows, columns = (height - kernel) // stride + 1, (width - kernel) // stride + 1
    pixels, each = depth * height * width, kernel * kernel
    table = Reach(*(np.zeros(n, np.int32) for n in (pixels * each, pixels * each, pixels, pixels)))
    for pixel, (c, y, x) in enumerate(np.ndindex(shape)):
        for ky, kx in np.ndindex(kernel, kernel):
            row, column = y - ky, x - kx
            if row % stride or column % stride:
                continue
            row, column = row // stride, column // stride
            if 0 <= row < rows and 0 <= column < columns:
                at = pixel * each + table.reached[pixel]
                table.to[at] = (row * columns + column) * FILTERS
                table.by[at] = ((ky * kernel + kx) * depth + c) * FILTERS
                table.reached[pixel] += 1
    return table


@compiled
def set_pixels(words: Any, first: Any, count: Any, found: Any) -> int:
    """Find the bytes that are set, in ``count`` words; how many there are."""
    n = 0
    for i in range(count):
        word = words[np.uintp(first + i)]
        while word:
            byte = np.intp(trailing_zeros(word)) >> 3
            found[np.uintp(n)] = i * BYTES + byte
            n += 1
            word &= ~(np.uint32(255) << np.uint32(8 * byte))
    return n


@compiled
def forward(
    words: Any, slots: Any, batch: Any, w: Any, bias: Any, inputs: Any, h: Any, reach: Any
) -> None:
    """ReLU of the convolution of the observations ``slots``: ``H [batch, inputs]``, marked."""
    to, by, count, found = reach
    pixels = count.size
    each, n_words = to.size // pixels, pixels // BYTES
    first = load(bias, 0)
    for s in range(batch):
        if s + AHEAD < batch:
            for i in range(0, n_words, LINE):
                fetch(words, slots[np.uintp(s + AHEAD)] * n_words + i)
        n = set_pixels(words, slots[np.uintp(s)] * n_words, n_words, found)
        row = s * H_STEP
        for i in range(0, inputs, WIDTH):
            store(h, row + i, first)
        for k in range(n):
            pixel = found[np.uintp(k)]
            for i in range(pixel * each, pixel * each + count[np.uintp(pixel)]):
                at = row + to[np.uintp(i)]
                store(h, at, add(load(h, at), load(w, np.intp(by[np.uintp(i)]))))
        for i in range(0, inputs, WIDTH):
            x = load(h, row + i)
            x = rectified(x, x)
            store(h, row + i, x)
            mark(h, (row + MOST_INPUTS) * 2 + i // WIDTH, x)


@compiled
def backward(
    words: Any, slots: Any, batch: Any, inputs: Any, h: Any, d: Any, dw: Any, db: Any, reach: Any
) -> None:
    """Gradients of filters and biases from ``D [batch, inputs]``, which is masked in place."""
    to, by, count, found = reach
    pixels = count.size
    each, n_words = to.size // pixels, pixels // BYTES
    zero = splat(np.float32(0))
    for i in range(0, dw.size, WIDTH):
        store(dw, i, zero)
    bias = zero
    for s in range(batch):
        n = set_pixels(words, slots[np.uintp(s)] * n_words, n_words, found)
        row = s * H_STEP
        for i in range(row, row + inputs, WIDTH):
            x = rectified(load(h, i), load(d, i))
            store(d, i, x)
            bias = add(bias, x)
        for k in range(n):
            pixel = found[np.uintp(k)]
            for i in range(pixel * each, pixel * each + count[np.uintp(pixel)]):
                at = np.intp(by[np.uintp(i)])
                store(dw, at, add(load(dw, at), load(d, row + to[np.uintp(i)])))
    store(db, 0, bias)
