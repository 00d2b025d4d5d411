"""One torch thread, and the helpers of the harness's tests."""

import sys
from pathlib import Path

from uqbench.testing.fixtures import one_torch_thread

__all__ = ["one_torch_thread"]

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "support"))
