"""The random numbers of ``numpy.random.default_rng(seed)``: O'Neill's PCG64, one stream per lane.

A stream is ten unsigned 32-bit numbers: the 128-bit state and the increment, lowest word first,
whether half of a 64-bit draw is left, and that half. Words are multiplied in 64 bits, which hold
the product of two words and two carries.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Stream

WORDS = 4
INCREMENT = WORDS
HALF_LEFT = INCREMENT + WORDS
HALF = HALF_LEFT + 1
SIZE = HALF + 1

# 0x2360ED051FC65DA44385DF649FCCF645, lowest word first
MULTIPLIER = tuple(np.uint64(w) for w in (0x9FCCF645, 0x4385DF64, 0x1FC65DA4, 0x2360ED05))
WORD = np.uint64(32)
LOW_WORD = np.uint64(0xFFFFFFFF)


def seeded(seed: int) -> NDArray[np.uint32]:
    """The stream of ``default_rng(seed)``, which is also ``gymnasium.utils.seeding.np_random``'s.

    Raises:
        ValueError: the seed is negative.
    """
    if seed < 0:
        raise ValueError(f"seed must not be negative; got {seed}")
    state = np.random.PCG64(seed).state
    numbers = state["state"]["state"], state["state"]["inc"]
    words = [(number >> 32 * k) & 0xFFFFFFFF for number in numbers for k in range(WORDS)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint32)


@compiled
def _advance(stream: Stream) -> None:
    """State ← state · multiplier + increment, modulo 2¹²⁸."""
    words = (
        np.uint64(stream[0]),
        np.uint64(stream[1]),
        np.uint64(stream[2]),
        np.uint64(stream[3]),
    )
    carry = np.uint64(0)
    for k in range(WORDS):
        low = carry + np.uint64(stream[INCREMENT + k])
        high = np.uint64(0)
        for i in range(k + 1):
            product = words[i] * MULTIPLIER[k - i]
            low += product & LOW_WORD
            high += product >> WORD
        stream[k] = low & LOW_WORD
        carry = high + (low >> WORD)


@compiled
def _bits64(stream: Stream) -> np.uint64:
    """64 random bits: XSL-RR, the state's halves xor-ed, then rotated by its six highest bits."""
    _advance(stream)
    low = np.uint64(stream[0]) | (np.uint64(stream[1]) << WORD)
    high = np.uint64(stream[2]) | (np.uint64(stream[3]) << WORD)
    rotation = high >> np.uint64(58)
    bits = high ^ low
    back = (np.uint64(64) - rotation) & np.uint64(63)
    return (bits >> rotation) | (bits << back)


@compiled
def _bits32(stream: Stream) -> np.uint64:
    """32 random bits: the lower half of a 64-bit draw, then its upper half."""
    if stream[HALF_LEFT]:
        stream[HALF_LEFT] = 0
        return np.uint64(stream[HALF])
    bits = _bits64(stream)
    stream[HALF_LEFT] = 1
    stream[HALF] = bits >> WORD
    return bits & LOW_WORD


@compiled
def uniform(stream: Stream, low: float, high: float) -> float:
    """``Generator.uniform(low, high)``."""
    unit = np.float64(_bits64(stream) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    drawn: float = low + (high - low) * unit
    return drawn


@compiled
def below(stream: Stream, n: int) -> int:
    """``Generator.integers(n)`` and ``choice(n)``: Lemire's method on 32 bits; n = 1 draws none."""
    if n == 1:
        return 0
    bound = np.uint64(n)
    product = _bits32(stream) * bound
    if product & LOW_WORD < bound:
        threshold = (LOW_WORD - bound + np.uint64(1)) % bound
        while product & LOW_WORD < threshold:
            product = _bits32(stream) * bound
    drawn: int = np.int64(product >> WORD)  # type: ignore[assignment]
    return drawn
