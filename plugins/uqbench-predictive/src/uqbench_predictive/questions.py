"""The table ``questions.csv`` of boards on which inputs of other kinds are told from test inputs.

The same predictions order inputs by several questions: the largest probability, the entropy, the
mutual information of class and model, the energy, a score of the row's own. Which row is best
depends on the question, so that each question has its ranks, and each a comparison with the best
trivial row by whichever question serves that row best (for ``nearest-input`` the distance).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from uqbench.boards.leaderboard import Board
from uqbench.boards.tables import cells, place_cells
from uqbench.contract.board_table import BoardTable
from uqbench.contract.wording import count
from uqbench.pages.board_view import MARK
from uqbench.pages.markdown import table
from uqbench.statistics.estimate import Estimate, estimate
from uqbench.statistics.ranks import Place, compare, places
from uqbench.suites.controls import control_of
from uqbench.suites.metrics import Metric

WORDS: Mapping[str, str] = {
    "msp": "largest probability", "entropy": "entropy", "mi": "mutual information",
    "energy": "energy", "score": "own score",
}  # fmt: skip
"""Questions for people, by the names in :data:`uqbench_compare.predictions.registered.ORDERS`."""
OWN = "score"
"""The question whose answer by the largest probability itself is no answer of its own."""
NO_ANSWER = 0.5
"""AUROC of a row that says the same of all inputs in every run: it does not answer the question."""


@dataclass(frozen=True)
class Answers:
    """The answers of a board's rows to one question.

    Attributes:
        about: the inputs that are told, as ``near``.
        question: of :data:`WORDS`.
        means: by row.
        ranks: of the rows that are not trivial.
        beaten: rows that do not beat ``floor``; none where there is no trivial row.
        floor: the best trivial row, and its question.
    """

    about: str
    question: str
    means: Mapping[str, Estimate]
    ranks: Mapping[str, Place]
    beaten: frozenset[str]
    floor: tuple[str, str]

    @property
    def first(self) -> list[str]:
        """The rows that may be first, the best mean first."""
        own = [name for name, place in self.ranks.items() if place.low == 1]
        return sorted(own, key=lambda name: -self.means[name].value)


@dataclass(frozen=True)
class Questions(BoardTable):
    """The table of a board (:class:`uqbench.contract.board_table.BoardTable`).

    A board without such questions has none.
    """

    board: Board

    @cached_property
    def answers(self) -> tuple[Answers, ...]:
        """Those to each question, by the inputs that are told."""
        asked: dict[str, dict[str, Metric]] = {}
        for metric in self.board.metrics:
            about, _, question = str(metric.statistic or "").rpartition("_")
            if control_of(metric) is None and about.isalpha() and question in WORDS:
                asked.setdefault(about, {})[question] = metric
        return tuple(one for about, of in asked.items() for one in self._told(about, of))

    def _told(self, about: str, asked: Mapping[str, Metric]) -> Iterator[Answers]:
        """The answers to each question about some inputs."""
        roles, own = self.board.plan.roles, self.board.methods
        every: dict[str, dict[str, NDArray[np.float64]]] = {question: {} for question in asked}
        for question, metric in asked.items():
            for name, of in own.items():
                values = of.raw(metric)
                if roles[name] == "oracle" or values is None or (values == NO_ANSWER).all():
                    continue
                if question != OWN and roles[name] == "unranked":
                    continue  # a detector is a network, and answers by its score alone
                probable = of.raw(asked["msp"]) if question == OWN and "msp" in asked else None
                if probable is None or roles[name] == "trivial" or (values != probable).any():
                    every[question][name] = values
        trivial = {
            (name, question): values
            for question, rows in every.items()
            for name, values in rows.items()
            if roles[name] == "trivial"
        }
        floor = max(trivial, key=lambda key: float(trivial[key].mean()), default=("", ""))
        for question, rows in every.items():
            ranked = {name: values for name, values in rows.items() if roles[name] != "trivial"}
            if not rows:
                continue
            control = {floor[0]: trivial[floor]} if floor in trivial else {}
            paired = self.board.plan.suite.pairing
            pairs = compare(ranked | control, "mean", paired=paired, baselines=[*control])
            better = {n for one in pairs for n in (one.first, one.second) if one.better(n)
                      and floor[0] in (one.first, one.second)}  # fmt: skip
            yield Answers(
                about,
                question,
                {
                    name: estimate("mean", values, limits=(0.0, 1.0))
                    for name, values in rows.items()
                },
                places(ranked, pairs, "mean") if self.board.ranks else {},
                frozenset({*ranked} - better) if control else frozenset(),
                floor,
            )

    @property
    def frame(self) -> pd.DataFrame:
        """A row an answer, of its inputs (``group``) and question (``kind``); none without any."""
        rows = [
            {
                "group": one.about,
                "kind": one.question,
                "method": name,
                "beats_trivial": "" if name == one.floor[0] or not one.floor[0]
                else "no" if name in one.beaten else "yes",
                **place_cells(one.ranks.get(name)),
                **cells("auroc", mean),
            }
            for one in self.answers
            for name, mean in sorted(one.means.items())
        ]  # fmt: skip
        return pd.DataFrame(rows)

    @property
    def section(self) -> str:
        """Each question as a column with its own best rows in bold and its own †, in Markdown."""
        parts = []
        for about in dict.fromkeys(one.about for one in self.answers):
            own = [one for one in self.answers if one.about == about]
            names = sorted(
                {name for one in own for name in one.means},
                key=lambda name: -max(o.means[name].value for o in own if name in o.means),
            )
            header = ["method", *(WORDS[one.question] for one in own)]
            rows = [[f"`{name}`", *(_cell(one, name) for one in own)] for name in names]
            parts += [f"**{sentence(own)}**", table(header, rows)]
        if not parts:
            return ""
        floor = self.answers[0].floor[0]
        mark = f" {MARK}: does not beat the best trivial row, `{floor}`." * bool(floor)
        return "\n\n".join(["## Questions", *parts, f"{MEANT}{mark}"])

    @staticmethod
    def entries(_: Any) -> Sequence[Any]:
        """None: the index of boards counts no questions."""
        return ()

    @staticmethod
    def index(_: Iterable[Any]) -> str:
        """No section of the index."""
        return ""


MEANT = (
    "AUROC for telling these inputs from test inputs, mean over runs; bold rows may be first by "
    "that question, by the intervals of all its pairs at once (95 % for each question by itself); "
    "– where a row has no such number, or the same for all inputs."
)


def sentence(answers: Sequence[Answers]) -> str:
    """Who is first by which question, made of the table."""
    said = []
    for one in answers:
        if first := one.first:
            others = f", or {count(len(first) - 1, 'other')}" * (len(first) > 1)
            best = f"{first[0]} ({one.means[first[0]].value:.3f}{others})"
            said.append(f"by the {WORDS[one.question]} {best}")
    beating = {name for one in answers for name in {*one.ranks} - one.beaten}
    name, question = answers[0].floor
    told = f"{answers[0].about}: {'; '.join(said) or 'not ranked'}"
    if not name or not said:
        return f"{told}."
    known = {one.question: one.means[name].value for one in answers if name in one.means}
    value = f" ({known[question]:.3f})" if question in known else ""
    return f"{told}. Rows that beat {name}{value} by some question: {len(beating)}."


def _cell(one: Answers, name: str) -> str:
    if name not in one.means:
        return "–"
    text = f"{one.means[name].value:.3f}"
    place = one.ranks.get(name)
    text = f"**{text}**" if place is not None and place.low == 1 else text
    return f"{text} {MARK}" if name in one.beaten else text
