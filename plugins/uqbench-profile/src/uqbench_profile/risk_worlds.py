"""Bets and ledges: where caution pays by CVaR, where it costs, and where it depends on the money.

Every state is one of the augmented ones of Bäuerle & Ott 2011, "Markov decision processes with
average-value-at-risk criteria": it has the money won so far, so that the best policy for the CVaR
of all money is a function of the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

CAUTIOUS, BOLD = ACTIONS = range(2)
OUTCOMES = 2
"""Outcomes of every action, at most."""


class Bet(NamedTuple):
    """A first payoff, ``low`` with probability ``p_low`` and else ``high``; then the choice.

    The cautious action pays ``sure``, the bold one ``bad`` with probability ``p_bad``, else
    ``good``.
    """

    p_low: float
    low: float
    high: float
    sure: float
    p_bad: float
    bad: float
    good: float


BETS = (
    Bet(0.5, -0.2, 0.2, sure=0.0, p_bad=0.35, bad=-0.7, good=0.9),  # caution is right
    Bet(0.2, -0.6, 0.6, sure=0.0, p_bad=0.3, bad=-0.8, good=0.8),  # after a win alone
    Bet(0.3, -0.7, 0.7, sure=0.0, p_bad=0.35, bad=-0.4, good=0.7),  # wrong after a loss
    Bet(0.5, -0.2, 0.2, sure=-0.5, p_bad=0.06, bad=-0.7, good=0.5),  # the gamble is better
    Bet(0.5, -0.2, 0.2, sure=0.3, p_bad=0.5, bad=-0.7, good=0.3),  # the sure thing always is
)
SLIPS = (0.12, 0.02)
"""Each ledge's probability of a fall in one stretch; the second is firm enough."""
STRETCHES, FALL, DETOUR = 3, -1.4, -0.3
"""A ledge has three stretches. A fall ends the walk; the way around a stretch costs a detour."""

END = -1
Outcomes = Sequence[tuple[float, float, int]]
"""Probabilities, rewards, and the states that follow, ``END`` for none."""
State = tuple[float, Outcomes, Outcomes]
"""Money won so far; what the cautious action leads to, and the bold one."""


@dataclass(frozen=True)
class Worlds:
    """The M states of all variants, each before those that follow it, and the end, number M.

    Attributes:
        p: probability of each outcome, ``[M + 1, A, O]`` float64.
        reward: likewise.
        after: the next state, likewise, int64.
        money: won before, ``[M + 1]`` float64; of the end 0.
        starts: of each variant, ``[V]`` int64.
        variant: of each state, ``[M]`` int64.
    """

    p: Tensor
    reward: Tensor
    after: Tensor
    money: Tensor
    starts: Tensor
    variant: Tensor

    @property
    def end(self) -> int:
        """M, the number of states; the state in which nothing happens any more."""
        return len(self.variant)

    def to(self, device: torch.device) -> Worlds:
        """The same on a device."""
        return Worlds(*(tensor.to(device) for tensor in vars(self).values()))

    def observed(self, state: Tensor, money: Tensor) -> Tensor:
        """States ``[*]``, one-hot, zeros at the end, and the money ``[*]``: ``[*, M + 1]``."""
        one_hot = torch.nn.functional.one_hot(state, self.end + 1)
        return torch.cat([one_hot[..., : self.end], money[..., None]], -1).float()


def _bet(bet: Bet, first: int) -> list[State]:
    """Before the first payoff, after a low one, after a high one; they count from ``first``."""
    drawn = [(bet.p_low, bet.low, first + 1), (1 - bet.p_low, bet.high, first + 2)]
    sure = [(1.0, bet.sure, END)]
    gamble = [(bet.p_bad, bet.bad, END), (1 - bet.p_bad, bet.good, END)]
    return [(0.0, drawn, drawn), (bet.low, sure, gamble), (bet.high, sure, gamble)]


def _ledge(slip: float, first: int) -> list[State]:
    """Before each stretch, by how many were gone around; the cautious action goes around this."""
    at = [(stretch, around) for stretch in range(STRETCHES) for around in range(stretch + 1)]
    number = {one: first + place for place, one in enumerate(at)}
    states: list[State] = []
    for stretch, around in at:
        goes_around = [(1.0, DETOUR, number.get((stretch + 1, around + 1), END))]
        goes_on = [(slip, FALL, END), (1 - slip, 0.0, number.get((stretch + 1, around), END))]
        states.append((around * DETOUR, goes_around, goes_on))
    return states


def _worlds() -> Worlds:
    states: list[State] = []
    starts: list[int] = []
    variant: list[int] = []
    for number in range(len(BETS) + len(SLIPS)):
        first = len(states)
        bets = number < len(BETS)
        made = _bet(BETS[number], first) if bets else _ledge(SLIPS[number - len(BETS)], first)
        starts.append(first)
        states += made
        variant += [number] * len(made)
    end = len(states)
    table = torch.zeros(end + 1, len(ACTIONS), OUTCOMES, 3, dtype=torch.float64)
    table[..., 2] = end
    table[end, :, 0, 0] = 1.0
    for number, (_, *both) in enumerate(states):
        for action, outcomes in zip(ACTIONS, both, strict=True):
            for outcome, (chance, pays, to) in enumerate(outcomes):
                following = end if to == END else to
                row = torch.tensor([chance, pays, following], dtype=torch.float64)
                table[number, action, outcome] = row
    money = torch.tensor([*(one for one, *_ in states), 0.0], dtype=torch.float64)
    p, reward, after = table.unbind(-1)
    return Worlds(p, reward, after.long(), money, torch.tensor(starts), torch.tensor(variant))


WORLDS = _worlds()
