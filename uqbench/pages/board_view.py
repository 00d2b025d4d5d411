"""A board as people see it: its rows, and the text of every cell.

The view of a computed board and that of a stored one are the same; the terminal, Markdown, a
notebook and the report only lay it out. Rows are those of ``leaderboard.csv``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uqbench.boards.calibration import WORDS, band, coverage_column, percent, worth
from uqbench.boards.leaderboard import Board
from uqbench.boards.stored import StoredBoard
from uqbench.boards.tables import IMPROVEMENT, PLACE, RANKS, label, usual
from uqbench.statistics.estimate import Estimate
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.statistics.ranks import Place

NONE = "–"
SAID = {
    "imported": "Imported rows were not run by uqbench, and are not ranked with runs.",
    "self_run": "Self-run rows are of loops that were recorded; who acted is not known.",
    "local": "Local rows are of code that is in no installed package: their versions are digests.",
    "unranked": "Unranked rows differ: in aim, settings or knowledge, or their runs are too short.",
    "tuning_gain": "Gain by tuning: tuned less default settings, on the same seeds.",
    "sensitivity": "Sensitivity: the gain by a setting of its own on each task (search's seeds).",
}
"""Sentences on rows by origin or role, and on columns."""
MARK = "†"
"""Behind the name of a method that does not beat the best trivial row."""


@dataclass(frozen=True)
class Column:
    """A column, a text a row.

    Attributes:
        name: in ``leaderboard.csv``; ``runs`` for those scored of those planned.
        header: for people.
    """

    name: str
    header: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A method's row.

    Attributes:
        place: its rank and the set of ranks that the runs leave open; None where it has none.
        leads: that its rank set begins at 1.
        beaten: that its difference to the best trivial row does not lie above zero.
        role: method, trivial or oracle.
        state: ``verified`` or ``self-reported`` of a row that others sent, ``local`` of code in no
            installed package, ``imported`` of scores that uqbench did not make; else empty.
        tuned: in which way; empty where the board does not say.
        notes: its role where it is no method, whether it is local, imported, submitted or
            stored, and how it was tuned.
        scored, planned: numbers of runs.
        calibration: one word for its stated intervals; empty of a baseline, and where the board
            does not measure it.
        estimates: of each column of ``leaderboard.csv`` that has one.
    """

    method: str
    place: Place | None
    leads: bool
    beaten: bool
    role: str
    state: str
    tuned: str
    notes: tuple[str, ...]
    scored: int
    planned: int
    calibration: str
    estimates: Mapping[str, Estimate]

    @classmethod
    def of(cls, row: Mapping[str, Any], estimates: Mapping[str, Estimate | None]) -> Line:
        """A row of ``leaderboard.csv``."""
        given = {
            name: cell for name, cell in row.items() if cell == cell and cell not in ("", None)
        }
        role, tuned = given.get("role", "method"), given.get("tuned", "")
        ours = [name for name in ("local", "imported", "self_run") if given.get(name) == "yes"]
        sent = str(given.get("submitted", "")).partition(":")[0]
        notes = ["" if role == "method" else role, *ours, sent, tuned]
        notes.append("stored" * ("stored_in" in given))
        return cls(
            method=str(row["method"]),
            place=Place(*(int(given[of]) for of in RANKS[:3])) if "rank" in given else None,
            leads=given.get("may_be_first") == "yes",
            beaten=given.get("beats_trivial") == "no",
            role=role,
            state=next((of for of in (sent, *ours) if of not in ("", "self_run")), ""),
            tuned=tuned,
            notes=tuple(note.replace("_", "-") for note in notes if note),
            scored=int(row["runs_scored"]),
            planned=int(row["runs_planned"]),
            calibration=given.get("calibration", ""),
            estimates={name: one for name, one in estimates.items() if one is not None},
        )

    def value(self, name: str) -> float:
        """The point estimate in a column; minus infinity without any."""
        return self.estimates[name].value if name in self.estimates else -math.inf

    @property
    def word(self) -> str:
        """The word for its stated intervals, with the share inside and its interval in percent."""
        column = coverage_column(self.estimates)
        if column is None or self.calibration not in WORDS:
            return self.calibration
        of, edges = self.estimates[column[0]], band(column[1])
        ends = ", ".join(percent(end, *edges) for end in (of.low, of.high) if end is not None)
        return f"{self.calibration} {percent(of.value, *edges)} %" + f" [{ends}]" * bool(ends)

    @property
    def remark(self) -> str:
        """The remarks behind its name."""
        return f" {MARK}" * self.beaten + f" ({', '.join(self.notes)})" * bool(self.notes)


@dataclass(frozen=True)
class BoardView:
    """A board's rows, the best first where its budget can rank.

    Attributes:
        title: suite and budget, and whether it is of a selection.
        ranking: the statistic that it is ranked by.
        named: the columns of ``leaderboard.csv`` that tables have unasked, of those with a value.
    """

    title: str
    ranking: str
    lines: tuple[Line, ...]
    named: tuple[str, ...]

    @classmethod
    def of(cls, board: Board | StoredBoard) -> BoardView:
        """The view of a board, computed or stored."""
        table = board.leaderboard
        names = [str(n).removesuffix("_low") for n in table if n.endswith("_low")]
        rows = table.to_dict("records")
        lines = [Line.of(row, {n: stored_estimate(row, n) for n in names}) for row in rows]
        if board.ranks:
            lines.sort(key=lambda line: -line.value(board.ranking))
        known = {name for line in lines for name in line.estimates}
        if len(lines) > 1:  # what is the same in all rows tells no two of them apart
            known = {n for n in known if len({shown(x.estimates.get(n)) for x in lines}) > 1}
        known |= {"calibration"} if any(line.calibration for line in lines) else set()
        named = tuple(usual([c for c in table if c in known]))
        return cls(board.title, board.ranking, tuple(lines), named)

    def shown(self, beside: Sequence[str] = ()) -> list[str]:
        """The columns of a table for people, the more important ones first.

        ``beside`` are further ones, behind the score, or instead of one that most rows do not have.
        """
        ranked = any(line.place for line in self.lines)
        known = sum(self.ranking in line.estimates for line in self.lines)
        score = [self.ranking] * (not beside or 2 * known > len(self.lines))
        names = ["rank"] * ranked + ["method", *score, *beside, *self.named, "runs"]
        return list(dict.fromkeys(names))

    def column(self, name: str, letters: int = 999, *, ends: bool = True) -> Column:
        """A column by its name in ``leaderboard.csv``.

        Ranks are sets such as 1–3, names have their remarks, in ``letters`` at most, and estimates
        their intervals, shares of truths covered if ``ends``; ``runs`` are those scored of those
        planned.
        """
        if name == "rank":
            texts = ["" if x.place is None else str(x.place) for x in self.lines]
        elif name == "method":
            texts = [shortened(x.method, letters - len(x.remark)) + x.remark for x in self.lines]
        elif name == "calibration":
            texts = [x.word if ends else x.word.partition(" [")[0] for x in self.lines]
        elif name == "runs":
            texts = [f"{x.scored}/{x.planned}" for x in self.lines]
        elif name.endswith(PLACE):
            known = [x.estimates.get(name) for x in self.lines]
            texts = ["" if of is None else str(place_of(of)) for of in known]
        else:
            itself = name.removeprefix(IMPROVEMENT) if name.startswith(IMPROVEMENT) else None
            texts = ["" if x.method == itself else shown(x.estimates.get(name)) for x in self.lines]
        return Column(name, header(name), tuple(texts))


def header(name: str) -> str:
    """The header of a column of ``leaderboard.csv``."""
    text = label(name)
    return text if text != name else name.replace("_", " ").removesuffix(" mean")


def shortened(name: str, letters: int) -> str:
    """A name of so many letters at most, six or more: its begin and its end."""
    half = max(letters, 6) // 2
    return name if len(name) <= 2 * half else f"{name[:half]}…{name[1 - half :]}"


def number(value: float) -> str:
    """Three digits behind the point."""
    return f"{round(value, 3) + 0.0:.3f}"  # never −0


def shown(estimate: Estimate | None) -> str:
    """An estimate with its interval in brackets, or a dash."""
    if estimate is None:
        return NONE
    low, high = estimate.low, estimate.high
    around = "" if low is None or high is None else f" [{number(low)}, {number(high)}]"
    return number(estimate.value) + around


def place_of(estimate: Estimate) -> Place:
    """The place that a column of ranks has as an estimate."""
    return Place(*(int(end or 0) for end in (estimate.value, estimate.low, estimate.high)))


def stored_estimate(row: Mapping[str, Any], name: str) -> Estimate | None:
    """An estimate of a stored row, from the three columns ``name``, ``name_low``, ``name_high``."""
    cells = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    value, low, high = (None if cell is None or cell != cell else float(cell) for cell in cells)
    return None if value is None else Estimate(value, low, high)


def board_notes(board: Board, view: BoardView) -> str:
    """Sentences that explain the remarks and words of a board; empty where it has none."""
    return " ".join(filter(None, _notes(board, view)))


def _notes(board: Board, view: BoardView) -> Iterator[str]:
    if board.trivial is not None and any(line.beaten for line in view.lines):
        yield (
            f"{MARK} does not significantly beat {board.trivial.best}, the best trivial baseline "
            f"(all pairs are compared at once)."
        )
    if {line.calibration for line in view.lines} & {*WORDS}:
        yield from _meant(board)
    yield board.together
    kinds = {kind for own in board.origin.values() for kind in own} | {*board.plan.roles.values()}
    yield from (said for kind, said in SAID.items() if kind in kinds | {*view.named})
    if board.submitted:
        sent = "; ".join(f"{method}, {said}" for method, said in sorted(board.submitted.items()))
        yield f"Submitted rows (submissions.json): {sent}."
    if board.origins:
        places = ", ".join(sorted({*board.origins.values()}))
        yield f"Stored rows are from {places} and were not run again."


def _meant(board: Board) -> Iterator[str]:
    """Sentences on the meaning of the words for intervals, and on their worth here."""
    own = {name: of for name, of in board.methods.items() if board.plan.roles[name] == "method"}
    name, level = coverage_column(map(str, board.leaderboard)) or ("", 0.0)
    least, most = (f"{100 * end:.3g}" for end in band(level))
    yield (
        f"Intervals: the share of true values that a method's {100 * level:.0f} % intervals cover, "
        f"with its 95 % confidence interval. Calibrated: all of that lies in {least} to {most} %; "
        f"too narrow: below; too wide: above; open: too few runs to tell."
    )
    yield worth(board.plan.suite, name, own, board.frames["tasks.csv"])
    enough = (n for n in map(len, board.scores.cells) if n >= MINIMUM_SEEDS)
    if fewest := min(enough, default=0):
        rare = 100 * (1 - 0.05 ** (1 / fewest))
        yield (
            f"With {fewest} runs a task, a failure that strikes {rare:.2g} % of runs goes unseen "
            f"one time in 20."
        )
