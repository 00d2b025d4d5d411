"""The helpers of the harness's tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "support"))
