"""One gradient step of an agent beside that of a copy, whose losses another program computed."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch


@pytest.fixture
def same_step() -> Callable[..., None]:
    """Asserts that Adam, on the mean of losses of a copy's networks, makes the agent's step."""

    def check(agent, copy, losses, index, **adam) -> None:
        before = deepcopy([*agent.online.parameters()])
        agent.learn(index)
        (torch.stack(losses).sum() / index.shape[-1]).backward()
        learned = [one for one in copy.online.parameters() if one.requires_grad]
        torch.optim.Adam(learned, **adam).step()
        every = zip(agent.online.named_parameters(), copy.online.parameters(), before, strict=True)
        for (name, found), expected, old in every:
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, msg=name)
            assert torch.equal(found, old) != found.requires_grad, name

    return check
