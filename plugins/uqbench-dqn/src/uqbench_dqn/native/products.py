"""The products of a layer, forward and to both gradients, without terms that are zero.

Half of a layer's inputs or more are zero behind a ReLU, and so are the gradients on the way back.
Bits behind each row say which are not. A zero adds nothing to a sum, and the others keep their
order: what is left out changes no bit, unless it is multiplied by infinity or NaN.

Rows of H, a hidden layer's inputs, are :data:`H_STEP` floats apart, whatever their number: 1,024
would put all lines of a column into one set of a cache. Rows of Z, its outputs, and of their
gradients are :data:`Z_STEP` apart.
"""

# llvmlite has no types:
# mypy: disable-error-code="import-untyped, no-untyped-call"

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba.core import config

from uqbench.lanes.kernels import compiled
from uqbench_dqn.native.vectors import WIDTH, load, mark, marks, tile, transpose

MOST_INPUTS, MOST_OUTPUTS = 1_024, 128
H_STEP, Z_STEP = MOST_INPUTS + 32, MOST_OUTPUTS + 16
TERMS = 64
"""Terms of a sum that are added at once: the bits of a word."""
COLUMNS = 32
"""What widths have to be multiples of."""


def _wide() -> bool:
    """Whether code is made for a processor with 32 registers of 16 floats, AVX-512's."""
    name, features = getattr(config, "CPU_NAME", None), getattr(config, "CPU_FEATURES", None)
    if name is not None:
        return "skylake-avx512" in name or "+avx512f" in (features or "")
    return bool(llvm.get_host_cpu_features().get("avx512f", False))


STRIP = 2 * COLUMNS if _wide() else COLUMNS
"""Columns of two rows whose sums fit the registers; no bit depends on it."""
_strip, _rest = tile(2, STRIP // WIDTH), tile(2, COLUMNS // WIDTH)


def whole(rows: int, block: int = TERMS) -> int:
    """The least multiple of ``block`` that has so many rows."""
    return -(-rows // block) * block


@compiled
def times(
    a: Any, behind: Any, a_step: Any, terms: Any, b: Any, first: Any, b_step: Any, c: Any, to: Any,
    c_step: Any, columns: Any, more: Any, rows: Any, index: Any,
) -> None:  # fmt: skip
    """``C (+)= A B``: A is marked from ``behind`` on in each row, B begins at ``first``.

    C begins at ``to`` in each row, and is added to where ``more`` is not 0. Rows are the
    first ``rows`` of A and C, or those with the numbers ``index``.
    """
    strips = columns // STRIP * STRIP
    for k in range(0, terms, TERMS):
        for n in range(0, rows, 2):
            row, other = n, min(n + 1, rows - 1)
            if index is not None:
                row, other = int(index[np.uintp(n)]), int(index[np.uintp(other)])
            word = (row * a_step + behind) // 2 + k // TERMS
            apart = other - row
            bits = marks(a, word) | marks(a, word + apart * a_step // 2)
            at, over = row * a_step + k, apart * a_step
            for j in range(0, strips, STRIP):
                of_b, of_c = first + k * b_step + j, row * c_step + to + j
                _strip(a, at, over, b, of_b, b_step, c, of_c, apart * c_step, bits, more + k)
            for j in range(strips, columns, COLUMNS):
                of_b, of_c = first + k * b_step + j, row * c_step + to + j
                _rest(a, at, over, b, of_b, b_step, c, of_c, apart * c_step, bits, more + k)


@compiled
def mark_rows(a: Any, rows: Any, terms: Any, behind: Any) -> None:
    """Mark what is not zero in rows that no layer has made, with room for ``behind`` terms."""
    step = H_STEP if behind == MOST_INPUTS else Z_STEP
    for row in range(rows):
        for i in range(0, terms, WIDTH):
            mark(a, (row * step + behind) * 2 + i // WIDTH, load(a, row * step + i))


@compiled
def forward(
    h: Any, rows: Any, inputs: Any, w: Any, outputs: Any, z: Any, index: Any = None
) -> None:
    """``Z = H W`` of ``H [rows, inputs]`` and ``W [inputs, outputs]``."""
    times(
        *(h, MOST_INPUTS, H_STEP, inputs, w, 0, outputs),
        *(z, 0, Z_STEP, outputs, 0, rows, index),
    )


@compiled
def to_weights(
    h: Any, rows: Any, inputs: Any, d: Any, outputs: Any, gradient: Any, pack: Any
) -> None:
    """``gradient [inputs, outputs] = Hᵀ D`` of ``H [rows, inputs]`` and ``D [rows, outputs]``.

    Behind its rows D has zeros, up to a whole number of words.
    """
    terms = (rows + TERMS - 1) // TERMS * TERMS
    step = terms + terms // 32  # floats, and the bits that mark them
    for j in range(0, outputs, WIDTH):
        for s in range(0, terms, WIDTH):
            transpose(pack, j * step + s, step, d, s * Z_STEP + j, Z_STEP)
    for j in range(outputs):
        for s in range(0, terms, WIDTH):
            mark(pack, (j * step + terms) * 2 + s // WIDTH, load(pack, j * step + s))
    turned = outputs * step
    for i in range(0, inputs, STRIP):
        some = min(STRIP, inputs - i)
        times(pack, terms, step, rows, h, i, H_STEP, pack, turned, some, some, 0, outputs, None)
        for k in range(0, some, WIDTH):
            for j in range(0, outputs, WIDTH):
                at = turned + j * some + k
                transpose(gradient, (i + k) * outputs + j, outputs, pack, at, some)


@compiled
def to_inputs(
    d: Any, rows: Any, w: Any, inputs: Any, outputs: Any, gradient: Any, pack: Any,
    index: Any = None,
) -> None:  # fmt: skip
    """``gradient [rows, inputs] = D Wᵀ`` of ``D [rows, outputs]`` and ``W [inputs, outputs]``."""
    for i in range(0, inputs, STRIP):
        some = min(STRIP, inputs - i)
        for k in range(0, outputs, WIDTH):
            for j in range(0, some, WIDTH):
                transpose(pack, k * some + j, some, w, (i + j) * outputs + k, outputs)
        times(
            *(d, MOST_OUTPUTS, Z_STEP, outputs, pack, 0, some),
            *(gradient, i, H_STEP, some, 0, rows, index),
        )
