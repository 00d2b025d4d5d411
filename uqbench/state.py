"""What a checkpoint has to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class HasState(Protocol):
    """Has a state that can be saved and restored."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that it needs to go on from here."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
