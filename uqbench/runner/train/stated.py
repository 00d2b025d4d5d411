"""An agent whose every statement is checked before it is scored."""

from dataclasses import dataclass

from torch import Tensor

from uqbench.contract.agent import Queried, Uncertainty
from uqbench.contract.errors import see
from uqbench.runner.train.guards import named
from uqbench.uncertainty.validity import Speaker, check_uncertainty


@dataclass(frozen=True)
class Checked:
    """A policy that is asked how uncertain it is, and refused where its answer is none.

    Attributes:
        agent: is asked.
        n_actions: A.
        step: steps taken.
    """

    agent: Queried
    n_actions: int
    step: int

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The agent's actions."""
        return self.agent.policy(obs, valid)

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """What the agent predicts for ``obs`` ``[L, M, *obs]``.

        Raises:
            UqbenchError: it is no valid prediction.
        """
        stated = self.agent.uncertainty(obs)
        by = Speaker(
            "agent", named(self.agent), f"after {self.step} steps", see("wrong-uncertainty")
        )
        check_uncertainty(stated, (obs.shape[0], obs.shape[1]), self.n_actions, by)
        return stated
