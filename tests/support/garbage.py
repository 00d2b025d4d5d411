"""What earlier modules of tests left is searched for garbage once."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def searched_once() -> None:
    """Thousands of modules are imported by now, and each run of a test collects garbage."""
    gc.collect()
    gc.freeze()
