"""pytest fixtures: import them in a ``conftest.py``."""

from collections.abc import Iterator

import pytest
import torch

from uqbench.registry import local


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    """One torch thread, as workers have: with more, a lane's bits depend on the other lanes."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module", autouse=True)
def local_plugins_end_with_their_module() -> Iterator[None]:
    """What a test adds by ``register`` or ``--plugin`` is for its process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local.VARIABLE, "[]")
        yield
