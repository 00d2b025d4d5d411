"""Names of what plugins register."""

from __future__ import annotations

import re
from collections.abc import Iterable

NAME = r"[a-z0-9][a-z0-9_.-]*"
"""They are written in suites, in ``--set`` and in risk measures' expressions."""


def check_names(kind: str, names: Iterable[str]) -> None:
    """Refuse names that a suite could not write.

    Raises:
        ValueError: names the kind, the name and the nearest valid one.
    """
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            near = re.sub(r"[^a-z0-9_.-]+", "-", str(name).strip().lower()).strip("-._") or "name"
            raise ValueError(
                f"the {kind} is called {name!r}; expected lower-case letters, digits, '-', '_' and "
                f"'.', such as {near!r}"
            )
