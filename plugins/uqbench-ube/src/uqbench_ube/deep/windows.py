"""Targets over n steps, and the queue in which they wait for the head's gradient steps.

The paper's n-step method "accumulates the uncertainty signal over n time-steps before performing an
update": local uncertainties of a window of n steps, or fewer where the episode ends, are summed
backwards, and each step of the window becomes an example for the head. Lanes finish their windows
at different moments. So that all steps are alike, the examples of a finished
window wait in a queue and the head learns from one of them at every step: the same number of
gradient steps in all. A queue never holds more than n: while a window of k steps was filled, k
examples were taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor


class Example(NamedTuple):
    """What the head learns from in one step.

    Attributes:
        trunk: features of the state, ``[L, F]``.
        action: ``[L]``.
        target: y, ``[L]``.
        ready: whether the lane has an example at all, ``[L]`` bool.
    """

    trunk: Tensor
    action: Tensor
    target: Tensor
    ready: Tensor


class Windows:
    """The window under way and the examples that wait, of every lane, in one ring of 2n steps.

    Args:
        lanes: L, or with actors the streams of all lanes, L · K.
        features: F.
        horizon: n.
        discount: γ.
        device: where they live.

    Attributes:
        exported: an agent acts without them.
    """

    exported: ClassVar[bool] = False

    def __init__(
        self, lanes: int, features: int, horizon: int, discount: float, device: torch.device
    ) -> None:
        self._horizon = horizon
        size = 2 * horizon
        self._slots = torch.arange(size, device=device)
        self._lanes = torch.arange(lanes, device=device)
        powers = torch.arange(size + 1, dtype=torch.float64) * 2
        self._powers = (discount**powers).float().to(device)
        self._trunk = torch.zeros(size, lanes, features, device=device)
        self._action = torch.zeros(size, lanes, dtype=torch.int64, device=device)
        self._target = torch.zeros(size, lanes, device=device)
        self._first = torch.zeros(lanes, dtype=torch.int64, device=device)
        self._taken = torch.zeros(lanes, dtype=torch.int64, device=device)

    def add(
        self,
        k: Tensor,
        trunk: Tensor,
        action: Tensor,
        local: Tensor,
        following: Tensor,
        terminated: Tensor,
        ended: Tensor,
    ) -> None:
        """Add step ``k``: ``y_i += γ^{2(k−i)} ν_k`` for every step i of the window.

        Where the window is finished its last step's successor follows: ``y_i += γ^{2(k+1−i)} u'``.

        Args:
            k: number of the step, ``[]``; one after another from 0. A call with −1 does nothing.
            trunk: features of its state, ``[L, F]``.
            action: ``[L]``.
            local: ν, ``[L]``.
            following: u' of the next state and the action that the policy takes there, ``[L]``.
            terminated: whether nothing follows, ``[L]`` bool.
            ended: whether the episode ended, terminated or not, ``[L]`` bool.
        """
        size = len(self._slots)
        slot = (k % size)[None]
        self._trunk.index_copy_(0, slot, trunk[None])
        self._action.index_copy_(0, slot, action[None])
        self._target.index_fill_(0, slot, 0.0)
        age = (k - self._slots) % size
        inside = (k - age)[:, None] >= self._first
        finished = ended | (k - self._first + 1 == self._horizon)
        follows = torch.where(finished & ~terminated, following, 0.0)
        added = self._powers[age, None] * local + self._powers[age + 1, None] * follows
        self._target += torch.where(inside, added, 0.0)
        self._first.copy_(torch.where(finished & (k >= 0), k + 1, self._first))

    def take(self) -> Example:
        """The example of every lane that has waited longest, out of the queue."""
        ready = self._taken < self._first
        slot = self._taken % len(self._slots)
        at = (slot, self._lanes)
        example = Example(self._trunk[at], self._action[at], self._target[at], ready)
        self._taken += ready
        return example

    def state_dict(self) -> dict[str, Any]:
        """The ring, and where each lane is in it."""
        return {name: tensor.clone() for name, tensor in self._kept().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        for name, tensor in self._kept().items():
            tensor.copy_(state[name])

    def _kept(self) -> dict[str, Tensor]:
        return {
            "trunk": self._trunk,
            "action": self._action,
            "target": self._target,
            "first": self._first,
            "taken": self._taken,
        }
