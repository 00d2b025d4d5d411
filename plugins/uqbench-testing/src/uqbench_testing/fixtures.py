"""pytest fixtures: import them in a ``conftest.py``."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    """One torch thread, as workers have: with more, a lane's bits depend on the other lanes."""
    torch.set_num_threads(1)
