"""The random numbers of ``numpy.random.RandomState``: MT19937, one stream per lane.

A stream is 625 unsigned 32-bit numbers: the generator's 624 words and the position of the next.
NumPy regenerates all words at once; here each is regenerated when its turn comes, which gives the
same numbers at a constant cost per draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import Stream

WORDS = 624
POSITION = WORDS
SIZE = WORDS + 1


def seeded(seed: int) -> NDArray[np.uint32]:
    """The stream of ``RandomState(seed)``.

    Raises:
        ValueError: the seed is not in 0 to 2**32 - 1.
    """
    _, words, position, *_ = np.random.RandomState(seed).get_state()
    return np.append(words, np.uint32(position))


@compiled
def renew(stream: Stream, k: int) -> int:
    """Generate word ``k`` of the next 624."""
    high = stream[k] & 0x80000000
    low = stream[(k + 1) % WORDS] & 0x7FFFFFFF
    word: int = stream[(k + 397) % WORDS] ^ ((high | low) >> 1)
    if low & 1:
        word ^= 0x9908B0DF
    stream[k] = word
    return word


@compiled
def bits(stream: Stream) -> int:
    """32 random bits."""
    k: int = stream[POSITION]
    if k == WORDS:
        k = 0
    word = renew(stream, k)
    stream[POSITION] = k + 1
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return word ^ (word >> 18)


@compiled
def uniform(stream: Stream) -> float:
    """``RandomState.rand()``: in [0, 1), 53 bits from two words."""
    high = bits(stream) >> 5
    low = bits(stream) >> 6
    return (high * 67108864.0 + low) / 9007199254740992.0


@compiled
def below(stream: Stream, n: int) -> int:
    """``RandomState.randint(n)``: words masked to the bits of n - 1 until one is below n."""
    mask = 0
    while mask < n - 1:
        mask = 2 * mask + 1
    if mask == 0:
        return 0
    draw = bits(stream) & mask
    while draw >= n:
        draw = bits(stream) & mask
    return draw
