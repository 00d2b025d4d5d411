"""Modules of this folder that its tests share are imported by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
