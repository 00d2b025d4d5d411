"""Gradient steps by hand, in NumPy: the minibatches that an agent was given, and Adam's rule."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float64]]


def minibatches(
    agent: Any, stream: Iterable[Any], steps: int, more: Callable[[], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Those of lane 0 of an agent's first gradient steps on a stream, each with ``more()``."""
    batches, objective = [], agent.objective

    def seen(batch: Any) -> Any:
        batches.append({name: x[0].double().numpy() for name, x in batch.items()} | more())
        return objective(batch)

    agent.objective = seen
    for step in stream:
        if len(batches) < steps:
            agent.act(step.obs)
            agent.observe(step)
    return batches


class Adam:
    """Kingma & Ba 2015, Algorithm 1."""

    def __init__(self, rate: float, epsilon: float = 1e-8) -> None:
        self.rate, self.epsilon, self.t = rate, epsilon, 0
        self.first: Arrays = {}
        self.second: Arrays = {}

    def step(self, known: Arrays, gradients: Arrays) -> None:
        """Change what is known by gradients of the same names."""
        self.t += 1
        for name, g in gradients.items():
            self.first[name] = 0.9 * self.first.get(name, 0.0) + 0.1 * g
            self.second[name] = 0.999 * self.second.get(name, 0.0) + 0.001 * g**2
            m, v = self.first[name] / (1 - 0.9**self.t), self.second[name] / (1 - 0.999**self.t)
            known[name] = known[name] - self.rate * m / (np.sqrt(v) + self.epsilon)
