"""The three products of a hidden layer, forward and to both gradients.

Rows of H, the layer's inputs, are :data:`H_STEP` floats apart, whatever their number: a distance of
1,024 would put all lines of a column into one set of a cache. Rows of Z, its outputs, are
:data:`Z_STEP` apart. Both have room for whole blocks: rows that a batch does not fill are zero.
"""

# llvmlite has no types:
# mypy: disable-error-code="import-untyped, no-untyped-call"

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import config

from uqbench.lanes.kernels import compiled
from uqbench_dqn.native.vectors import UNROLLED, WIDTH, load, store, tile, transpose

H_STEP, Z_STEP = 1_040, 144
MOST_INPUTS, MOST_OUTPUTS = 1_024, 128


def _wide() -> bool:
    """Whether code is made for a processor with 32 registers of 16 floats, AVX-512's."""
    name, features = getattr(config, "CPU_NAME", None), getattr(config, "CPU_FEATURES", None)
    if name is not None:
        return "skylake-avx512" in name or "+avx512f" in (features or "")
    return bool(llvm.get_host_cpu_features().get("avx512f", False))


ROWS, VECTORS = (12, 2) if _wide() else (6, 1)
"""A block's size, which fits the registers; no bit depends on it."""
COLUMNS = 32
"""A strip's: what widths have to be multiples of."""
TERMS = 128
"""Terms of a sum whose strip of weights stays in the first cache."""
N = VECTORS * WIDTH

_forward = tile(ROWS, VECTORS, H_STEP, 1, N)
_to_weights = tile(ROWS, VECTORS, 1, H_STEP, N)
_to_weights_first = tile(ROWS, VECTORS, 1, H_STEP, N, ahead=True)
_to_inputs = tile(ROWS, VECTORS, Z_STEP, 1, N)


def whole(rows: int, block: int = 12) -> int:
    """The least multiple of ``block`` that has so many rows; 12 is one of 6, too."""
    return -(-rows // block) * block


@compiled
def forward(h: Any, rows: Any, inputs: Any, w: Any, outputs: Any, z: Any, pack: Any) -> None:
    """``Z [rows, outputs] = H [rows, inputs] W [inputs, outputs]``."""
    for first in range(0, inputs, TERMS):
        terms = min(TERMS, inputs - first)
        following = min(first + TERMS, inputs - TERMS) if inputs > TERMS else 0
        for j in range(0, outputs, N):
            for k in range(terms):
                for v in range(0, N, WIDTH):
                    store(pack, k * N + v, load(w, (first + k) * outputs + j + v))
            for i in range(0, rows, ROWS):
                near = following * outputs + (j // N * 11 + i // ROWS) % 32 * 512
                _forward(
                    h, i * H_STEP + first, pack, 0, z, i * Z_STEP + j, Z_STEP, terms, first, w, near
                )


@compiled
def to_weights(
    h: Any, rows: Any, inputs: Any, d: Any, outputs: Any, gradient: Any, pack: Any
) -> None:
    """``gradient [inputs, outputs] = Hᵀ D`` of ``H [rows, inputs]`` and ``D [rows, outputs]``."""
    terms = (rows + UNROLLED - 1) // UNROLLED * UNROLLED
    for j in range(0, outputs, N):
        for k in range(terms):
            for v in range(0, N, WIDTH):
                store(pack, j * terms + k * N + v, load(d, k * Z_STEP + j + v))
    for i in range(0, inputs, ROWS):
        _to_weights_first(h, i, pack, 0, gradient, i * outputs, outputs, terms, 0, pack, 0)
        for j in range(N, outputs, N):
            at = j * terms
            _to_weights(h, i, pack, at, gradient, i * outputs + j, outputs, terms, 0, pack, at)


@compiled
def to_inputs(
    d: Any, rows: Any, w: Any, inputs: Any, outputs: Any, gradient: Any, pack: Any
) -> None:
    """``gradient [rows, inputs] = D Wᵀ`` of ``D [rows, outputs]`` and ``W [inputs, outputs]``."""
    for j in range(0, inputs, N):
        for k in range(0, outputs, WIDTH):
            for v in range(0, N, WIDTH):
                transpose(pack, k * N + v, N, w, (j + v) * outputs + k, outputs)
        following = min(j + N, inputs - N) * outputs
        for i in range(0, rows, ROWS):
            near = following + i // ROWS % 8 * 512
            _to_inputs(
                d, i * Z_STEP, pack, 0, gradient, i * H_STEP + j, H_STEP, outputs, 0, w, near
            )


narrow = _to_inputs
"""A block of a product whose left rows are ``Z_STEP`` apart, as an output layer's are."""
