"""An agent that is asked, about copies: its answers are checked, and copies of them go on."""

from dataclasses import dataclass, replace
from typing import overload

from torch import Tensor

from uqbench.contract.agent import Policy, Queried, Uncertainty
from uqbench.contract.errors import see
from uqbench.runner.train.guards import named
from uqbench.uncertainty.validity import Speaker, check_uncertainty


@overload
def copied(values: Tensor) -> Tensor: ...


@overload
def copied(values: None) -> None: ...


def copied(values: Tensor | None) -> Tensor | None:
    """A copy of the values, in memory that nobody else holds."""
    return None if values is None else values.clone()


def chosen(agent: Policy, obs: Tensor, valid: Tensor | None = None) -> Tensor:
    """A copy of the actions ``[L, M]`` that an agent chooses for copies of ``[L, M, *obs]``."""
    return agent.policy(obs.clone(), copied(valid)).clone()


@dataclass(frozen=True)
class Checked:
    """An agent that, when it is asked, can write into nothing that others read.

    Neither into the states that it is asked about, nor, later, into an answer that it gave. It is
    refused where its answer is none.

    Attributes:
        stands_for: the agent that answers.
        n_actions: A.
        step: steps taken.
    """

    stands_for: Queried
    n_actions: int
    step: int

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Its actions ``[L, M]`` for observations ``[L, M, *obs]``."""
        return chosen(self.stands_for, obs, valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Its predictions for observations ``[L, M, *obs]``.

        Raises:
            UqbenchError: they are not valid.
        """
        stated, when = self.stands_for.uncertainty(obs.clone()), f"after {self.step} steps"
        by = Speaker("agent", named(self.stands_for), when, see("wrong-uncertainty"))
        check_uncertainty(stated, (obs.shape[0], obs.shape[1]), self.n_actions, by)
        if stated is None:
            return None
        tensors = {name: x for name, x in vars(stated).items() if x is not None}
        return replace(stated, **{name: x.clone() for name, x in tensors.items()})
