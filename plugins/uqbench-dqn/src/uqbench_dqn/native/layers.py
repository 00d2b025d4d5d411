"""What the native steps of all methods share: a network's layers, and Adam.

A network is one convolution, one hidden layer and an output layer with N numbers for each action; a
gradient of the loss reaches the outputs of the action that was taken, as all methods here have it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compiled_once
from uqbench_dqn.native import planes, products
from uqbench_dqn.native.products import COLUMNS, MOST_OUTPUTS, STRIP, Z_STEP
from uqbench_dqn.native.vectors import (
    WIDTH,
    add,
    fma,
    load,
    mark,
    rectified,
    splat,
    store,
    total,
    transpose,
)

PACKAGE = "uqbench_dqn"
"""Whose sources the names of what is cached depend on."""


class Sizes(NamedTuple):
    """Numbers that a step's loops end at.

    Attributes:
        batch: B.
        inputs: of the hidden layer.
        hidden: its outputs.
        actions: A.
        each: N, outputs of an action.
    """

    batch: int
    inputs: int
    hidden: int
    actions: int
    each: int


class Weights(NamedTuple):
    """Parameters of a network, or as many numbers of another kind, flat."""

    filters: Any
    filter_bias: Any
    hidden: Any
    hidden_bias: Any
    last: Any
    last_bias: Any


class Layers(NamedTuple):
    """A network's numbers after its layers, of whole blocks of rows.

    Attributes:
        h: after the convolution, rows ``H_STEP`` apart.
        z: after the hidden layer, rows ``Z_STEP`` apart.
        out: outputs, rows ``step_of(A N)`` apart.
    """

    h: Any
    z: Any
    out: Any


class Scratch(NamedTuple):
    """Memory of the way back.

    Attributes:
        dh: gradients of H.
        dz: gradients of Z.
        g: of the outputs of the action that was taken, ``[B, N]``.
        pack: a strip of weights, or all of ``dz``.
        turned: the output layer's weights, ``[A N, hidden]``.
        turned_gradient: their gradients.
    """

    dh: Any
    dz: Any
    g: Any
    pack: Any
    turned: Any
    turned_gradient: Any


class Rates(NamedTuple):
    """Adam's numbers in a step, as :meth:`uqbench.lanes.Adam.rates` has them."""

    first: float
    second: float
    step: float
    root_scale: float
    epsilon: float


@compiled
def step_of(outputs: Any) -> Any:
    """Floats between rows of ``outputs`` numbers: whole strips."""
    return (outputs + COLUMNS - 1) // COLUMNS * COLUMNS


@compiled
def hidden(rows: Any, sizes: Any, w: Any, bias: Any, h: Any, z: Any, index: Any = None) -> None:
    """``Z = ReLU(H W + b)``, marked, in the first rows or those with the numbers ``index``."""
    products.forward(h, rows, sizes.inputs, w, sizes.hidden, z, index)
    for n in range(rows):
        row = n if index is None else np.intp(index[np.uintp(n)])
        for j in range(0, sizes.hidden, WIDTH):
            x = add(load(z, row * Z_STEP + j), load(bias, j))
            x = rectified(x, x)
            store(z, row * Z_STEP + j, x)
            mark(z, (row * Z_STEP + MOST_OUTPUTS) * 2 + j // WIDTH, x)


@compiled
def output(
    rows: Any, width: Any, outputs: Any, w: Any, bias: Any, z: Any, out: Any, pack: Any,
    index: Any = None,
) -> None:  # fmt: skip
    """``out [rows, outputs] = Z [rows, width] W + b``, or in the rows with numbers ``index``."""
    step = step_of(outputs)
    for first in range(0, outputs, STRIP):
        most = min(STRIP, outputs - first)
        columns = step_of(most)
        for k in range(width):
            for j in range(most):
                pack[np.uintp(k * columns + j)] = w[np.uintp(k * outputs + first + j)]
            for j in range(most, columns):
                pack[np.uintp(k * columns + j)] = np.float32(0)
        for n in range(rows):
            row = n if index is None else np.intp(index[np.uintp(n)])
            for j in range(most):
                out[np.uintp(row * step + first + j)] = bias[np.uintp(first + j)]
        products.times(
            *(z, MOST_OUTPUTS, Z_STEP, width, pack, 0, columns),
            *(out, first, step, columns, 1, rows, index),
        )


@compiled_once(PACKAGE)
def evaluate(
    words: Any, slots: Any, sizes: Any, weights: Any, layers: Any, pack: Any, reach: Any
) -> None:
    """The network's outputs for the observations ``slots``, and what is between its layers.

    The product follows its convolution at once: H is still in the second cache.
    """
    rows, sizes, w, at = slots.size, Sizes(*sizes), Weights(*weights), Layers(*layers)
    planes.forward(words, slots, rows, w.filters, w.filter_bias, sizes.inputs, at.h, reach)
    hidden(rows, sizes, w.hidden, w.hidden_bias, at.h, at.z)
    outputs = sizes.actions * sizes.each
    output(rows, sizes.hidden, outputs, w.last, w.last_bias, at.z, at.out, pack)


@compiled
def _turn(rows: Any, columns: Any, source: Any, to: Any, back: Any) -> None:
    """``to [columns, rows]`` is ``source [rows, columns]``, or the other way round: ``back``."""
    blocks = columns // WIDTH * WIDTH
    for k in range(0, blocks, WIDTH):
        for j in range(0, rows, WIDTH):
            if back:
                transpose(source, j * columns + k, columns, to, k * rows + j, rows)
            else:
                transpose(to, k * rows + j, rows, source, j * columns + k, columns)
    for k in range(blocks, columns):
        for j in range(rows):
            if back:
                source[np.uintp(j * columns + k)] = to[np.uintp(k * rows + j)]
            else:
                to[np.uintp(k * rows + j)] = source[np.uintp(j * columns + k)]


@compiled
def output_gradients(
    sizes: Any, slots: Any, action: Any, z: Any, w: Any, gradients: Any, scratch: Any,
    index: Any = None,
) -> None:  # fmt: skip
    """Gradients of the output layer and of Z, marked, from those of the action's outputs.

    Those are ``scratch.g``, of all rows or of those with the numbers ``index``.
    """
    width, each, rows = sizes.hidden, sizes.each, sizes.batch if index is None else index.size
    outputs, (_, dz, g, _, turned, turned_gradient) = sizes.actions * each, scratch
    _turn(width, outputs, w, turned, False)
    zero = splat(np.float32(0))
    for i in range(outputs * width):
        turned_gradient[np.uintp(i)] = np.float32(0)
    for k in range(outputs):
        gradients.last_bias[np.uintp(k)] = np.float32(0)
    for j in range(0, width, WIDTH):
        store(gradients.hidden_bias, j, zero)
    for n in range(rows):
        s = n if index is None else np.intp(index[np.uintp(n)])
        first = action[np.uintp(slots[np.uintp(s)])] * each
        for k in range(each):
            gradients.last_bias[np.uintp(first + k)] += g[np.uintp(s * each + k)]
        for j in range(0, width, COLUMNS):
            at = s * Z_STEP + j
            z0, z1 = load(z, at), load(z, at + WIDTH)
            d0, d1 = zero, zero
            for k in range(each):
                x, i = splat(g[np.uintp(s * each + k)]), (first + k) * width + j
                store(turned_gradient, i, fma(x, z0, load(turned_gradient, i)))
                i += WIDTH
                store(turned_gradient, i, fma(x, z1, load(turned_gradient, i)))
                d0 = fma(x, load(turned, i - WIDTH), d0)
                d1 = fma(x, load(turned, i), d1)
            d0, d1 = rectified(z0, d0), rectified(z1, d1)
            store(dz, at, d0)
            store(dz, at + WIDTH, d1)
            to = (s * Z_STEP + MOST_OUTPUTS) * 2 + j // WIDTH
            mark(dz, to, d0)
            mark(dz, to + 1, d1)
            bias = gradients.hidden_bias
            store(bias, j, add(load(bias, j), d0))
            store(bias, j + WIDTH, add(load(bias, j + WIDTH), d1))
    _turn(width, outputs, gradients.last, turned_gradient, True)


@compiled_once(PACKAGE)
def all_gradients(
    words: Any, slots: Any, action: Any, sizes: Any, weights: Any, layers: Any, gradients: Any,
    scratch: Any, reach: Any,
) -> None:  # fmt: skip
    """Gradients of all weights, from those of the outputs of the actions taken, ``scratch.g``."""
    sizes, w, at, to = Sizes(*sizes), Weights(*weights), Layers(*layers), Weights(*gradients)
    back = Scratch(*scratch)
    rows, inputs, width = sizes.batch, sizes.inputs, sizes.hidden
    output_gradients(sizes, slots, action, at.z, w.last, to, back)
    products.to_weights(at.h, rows, inputs, back.dz, width, to.hidden, back.pack)
    products.to_inputs(back.dz, rows, w.hidden, inputs, width, back.dh, back.pack)
    planes.backward(words, slots, rows, inputs, at.h, back.dh, to.filters, to.filter_bias, reach)


@compiled_once(PACKAGE)
def adam(parameters: Any, gradients: Any, means: Any, squares: Any, rates: Any) -> None:
    """One step of Adam for each tensor; as :class:`uqbench.lanes.Adam` has it, in one pass."""
    rates, one = Rates(*rates), np.float32(1)
    new_mean, new_square = one - rates.first, one - rates.second
    for n in range(len(parameters)):
        p, g, m, v = parameters[n], gradients[n], means[n], squares[n]
        for i in range(p.size):
            gradient = g[i]
            mean = m[i] + new_mean * (gradient - m[i])
            square = rates.second * v[i] + new_square * gradient * gradient
            m[i], v[i] = mean, square
            p[i] -= rates.step * mean / (np.sqrt(square) * rates.root_scale + rates.epsilon)


@compiled
def better(value: Any, best: Any) -> Any:
    """Whether a value is greater, or the first NaN: as ``argmax`` has it."""
    return (value > best) | ((value != value) & (best == best))


@compiled
def mean_of(values: Any, first: Any, count: Any) -> Any:
    """The mean of ``count`` floats from ``first`` on, 16 by 16 and then one by one."""
    wide, rest, whole = splat(np.float32(0)), np.float32(0), count // WIDTH * WIDTH
    for j in range(0, whole, WIDTH):
        wide = add(wide, load(values, first + j))
    for j in range(whole, count):
        rest += values[np.uintp(first + j)]
    return (total(wide) + rest) / np.float32(count)
