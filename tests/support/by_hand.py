"""Gradient steps of plain formulas on the minibatches of an agent: autograd and PyTorch's Adam."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from uqbench.testing.worlds import transitions

Tensors = dict[str, Tensor]


def parameters(networks: dict[str, Any]) -> Tensors:
    """Lane 0's, named by a letter for their network (or each of its samples) and by their layer."""
    found: Tensors = {}
    for letters, network in networks.items():
        for layer, of in network.named_parameters():
            own = of.detach()[0].double().clone()
            each = [own] if len(letters) == 1 else own.unbind()
            found |= {
                f"{x}{layer.partition('.')[2]}": y for x, y in zip(letters, each, strict=True)
            }
    return found


def check_steps(
    agent: Any, networks: dict[str, Any], moving: str, loss: Callable[..., Tensor],
    more: Callable[[], Tensors] = dict, **adam: float,
) -> None:  # fmt: skip
    """Eight steps of an agent are those of ``loss(parameters, batch)`` for what is moving."""
    own, before = parameters(networks), parameters(networks)
    batches, objective = list[Tensors](), agent.objective

    def seen(batch: Any) -> Any:
        batches.append({name: x[0].double() for name, x in batch.items()} | more())
        return objective(batch)

    agent.objective = seen
    for step in transitions([7], (4,), 3, 60):
        if len(batches) < 8:
            agent.act(step.obs)
            agent.observe(step)
    learned = [value.requires_grad_() for name, value in own.items() if name[0] in moving]
    optimizer = torch.optim.Adam(learned, **adam)
    for batch in batches:
        optimizer.zero_grad()
        loss(own, batch).backward()
        optimizer.step()
    for name, value in parameters(networks).items():
        assert (value - own[name]).abs().max() < 1e-5, name
        assert (value != before[name]).any() == (name[0] in moving), name
