"""The members' data sets: which transitions each may learn from (Appendix D.1).

Every transition gets one Bernoulli mask a member, drawn once. A member's data set is kept as a list
of replay slots in order of time, so that a draw from it costs one look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from uqbench.lanes import Clock


class Bootstrap:
    """The data sets D_1 to D_K of every lane, of the transitions still in the replay buffer.

    The list is a ring as long as the buffer, with one place more for what is in no data set. Among
    all slots ever appended for a member, the first ``expired`` are overwritten in the buffer; the
    rest are its data set.

    Args:
        lanes: L.
        members: K.
        capacity: of the replay buffer, a multiple of the clock's actors.
        clock: the step, which says which slots the transitions go to.

    Attributes:
        exported: an agent acts without it.
    """

    exported: ClassVar[bool] = False

    def __init__(self, lanes: int, members: int, capacity: int, clock: Clock) -> None:
        self._clock = clock
        self._capacity = capacity
        device = clock.tensor.device
        self._slots = torch.zeros(lanes, members, capacity + 1, dtype=torch.int32, device=device)
        self._actor = torch.arange(clock.actors, device=device)
        self._masks = torch.zeros(capacity, lanes, members, dtype=torch.bool, device=device)
        self._appended = torch.zeros(lanes, members, dtype=torch.int64, device=device)
        self._expired = torch.zeros(lanes, members, dtype=torch.int64, device=device)

    @property
    def sizes(self) -> Tensor:
        """Transitions in each data set, ``[L, K]``."""
        return self._appended - self._expired

    def add(self, mask: Tensor) -> None:
        """Add the masks ``[L, actors, K]`` of this step's transitions; those they replace leave."""
        slots = self._clock.tensor % self._capacity + self._actor
        self._expired += self._masks.index_select(0, slots).sum(0)
        self._masks.index_copy_(0, slots, mask.transpose(0, 1))
        own = mask.transpose(1, 2)  # [L, K, actors]
        position = (self._appended[..., None] + own.cumsum(-1) - 1) % self._capacity
        position = torch.where(own, position, self._capacity)
        self._slots.scatter_(-1, position, slots.to(torch.int32).expand_as(position))
        self._appended += own.sum(-1)

    def draw(self, u: Tensor) -> Tensor:
        """Replay slots drawn from each data set with repeats, ``[L, K, B]`` int64.

        Args:
            u: ``[L, K, B]`` uniform in [0, 1). An empty data set gives slots that are not its own.
        """
        sizes = self.sizes[..., None]
        nth = torch.minimum((u * sizes).long(), (sizes - 1).clamp(min=0))
        return self._slots.gather(-1, (self._expired[..., None] + nth) % self._capacity).long()

    def masks(self, slots: Tensor) -> Tensor:
        """The masks ``[L, B, K]`` of the transitions in replay slots ``[L, B]``."""
        lane = torch.arange(slots.shape[0], device=slots.device)[:, None]
        return self._masks[slots, lane]

    def state_dict(self) -> dict[str, Any]:
        """The lists as far as they were written, and the masks."""
        written = min(self._clock.t, self._capacity)
        return {
            "slots": self._slots[..., :written].clone(),
            "masks": self._masks[:written].clone(),
            "appended": self._appended.clone(),
            "expired": self._expired.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._slots[..., : state["slots"].shape[-1]].copy_(state["slots"])
        self._masks[: len(state["masks"])].copy_(state["masks"])
        self._appended.copy_(state["appended"])
        self._expired.copy_(state["expired"])
