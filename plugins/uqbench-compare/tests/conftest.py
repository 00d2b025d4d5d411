"""Modules of this folder, and the helpers of the harness's tests, by name."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3] / "tests" / "support")]
