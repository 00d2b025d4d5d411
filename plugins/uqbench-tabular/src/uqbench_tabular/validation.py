"""Checks of config fields, with messages that name the field and its value."""

from __future__ import annotations


def require_positive(config: object, *names: str) -> None:
    """Raise ValueError unless every named field is above zero."""
    for name in names:
        if getattr(config, name) <= 0:
            raise ValueError(f"{name} must be positive; got {getattr(config, name)}")


def require_probability(config: object, name: str) -> None:
    """Raise ValueError unless the named field is between 0 and 1."""
    if not 0 <= getattr(config, name) <= 1:
        raise ValueError(f"{name} is a probability; got {getattr(config, name)}")
