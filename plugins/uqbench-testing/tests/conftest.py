"""One torch thread, so that lanes are bit-identical alone and among others."""

from uqbench.testing.fixtures import one_torch_thread

__all__ = ["one_torch_thread"]
