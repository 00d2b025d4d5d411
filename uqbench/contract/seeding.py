"""Seeds derived from names, so that no two purposes share a stream and nothing depends on order."""

from hashlib import sha256


def derive_seed(*parts: str | int) -> int:
    """Return a 32-bit seed that depends on all parts and on nothing else.

    Thirty-two bits, because NumPy's ``RandomState`` and many environments accept no more.
    """
    text = "\0".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(sha256(text.encode()).digest()[:4], "little")
