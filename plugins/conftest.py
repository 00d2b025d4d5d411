"""What the tests of all packages share."""

from uqbench.testing.fixtures import local_plugins_end_with_their_module, one_torch_thread

__all__ = ["local_plugins_end_with_their_module", "one_torch_thread"]
