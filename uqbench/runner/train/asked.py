"""An agent that is asked, about copies; and copies of its answers go on."""

from dataclasses import replace
from typing import overload

from torch import Tensor

from uqbench.contract.agent import Queried, Uncertainty


@overload
def copied(values: Tensor) -> Tensor: ...


@overload
def copied(values: None) -> None: ...


def copied(values: Tensor | None) -> Tensor | None:
    """The same values in memory that nobody else holds."""
    return None if values is None else values.clone()


class Asked:
    """An agent that, when it is asked, can write into nothing that others read.

    Neither into the states that it is asked about, nor, later, into an answer that it gave.

    Attributes:
        stands_for: the agent that answers.
    """

    def __init__(self, agent: Queried) -> None:
        self.stands_for = agent

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Its actions ``[L, M]`` for observations ``[L, M, *obs]``."""
        return self.stands_for.policy(obs.clone(), copied(valid)).clone()

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Its predictions for observations ``[L, M, *obs]``."""
        stated = self.stands_for.uncertainty(obs.clone())
        if not isinstance(stated, Uncertainty):  # None, or what the guards refuse
            return stated
        tensors = {name: x for name, x in vars(stated).items() if isinstance(x, Tensor)}
        return replace(stated, **{name: x.clone() for name, x in tensors.items()})
