"""Settings of the whole test session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from uqbench.registry import local
from uqbench.registry.plugins import Host

TOY = Path(__file__).parent / "toy"
sys.path.insert(0, str(Path(__file__).parent / "support"))


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module", autouse=True)
def local_plugins_end_with_their_module() -> Iterator[None]:
    """What a test adds by ``register`` or ``--plugin`` is for its process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local.VARIABLE, "[]")
        yield


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """The toy plugin and what is built in; a test that needs others has its own."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    return Host.load()
