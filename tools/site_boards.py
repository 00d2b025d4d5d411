"""The chooser of the site: which method to use, by the committed boards.

Numbers, words and sentences are those of the boards' own views; what is added here is which
methods a board leaves in question for a need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import gymnasium
import torch

from uqbench.boards.calibration import JUDGED, WORDS, coverage_column, kind
from uqbench.boards.protocol import departures, versions_here
from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.pages.board_view import BoardView, Line
from uqbench.pages.verdicts import JudgedClaim, judged_claims
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.runner.train.environments import lanes_of
from uqbench.statistics.estimate import Estimate
from uqbench.suites.configs import task_config
from uqbench.suites.reading import read_suites
from uqbench.suites.suite import Suite

World = Literal["tabular", "small", "pixels", "predictions"]
WORLDS: dict[World, str] = {
    "tabular": "numbered states",
    "small": "a short vector",
    "pixels": "images",
    "predictions": "a data set",
}
"""What agents observe, by name, in words."""
Need = Literal["return", "risk", "uncertainty"]
NEEDS: dict[Need, str] = {
    "return": "a high score",
    "risk": "low risk",
    "uncertainty": "honest uncertainty",
}
NONE_OF: dict[Need, str] = {
    "return": "No method beats the best baseline",
    "risk": "No method beats the best baseline",
    "uncertainty": "No method’s intervals are honest",
}
"""What a board answers where its answer is *none*."""
SECONDS: dict[str, float] = {"seconds": 10.0, "minutes": 600.0, "any": float("inf")}
"""The most core time that a run may take: the median of a board's methods."""


@dataclass(frozen=True)
class Answer:
    """What a board answers to a need.

    Attributes:
        state: *decided*: one method is best, or its intervals are honest; *nothing decided*:
            several may be; *none*: no method beats the best baseline, or none is honest.
        methods: that may be best.
        compared: the number of methods that were compared.
        column: of ``leaderboard.csv``, that they were compared by.
    """

    state: Literal["decided", "nothing decided", "none"]
    methods: tuple[Line, ...]
    compared: int
    column: str


@dataclass(frozen=True)
class SiteBoard:
    """A board on the site.

    Attributes:
        board: as it is stored.
        suite: as it is installed; None where it is not.
        host: the plugins.
    """

    board: StoredBoard
    suite: Suite | None
    host: Host

    @property
    def id(self) -> str:
        """Of its files and of its address on the page."""
        return f"{self.board.suite}-{self.board.name}"

    @cached_property
    def view(self) -> BoardView:
        """Its rows and columns."""
        return BoardView.of(self.board)

    @cached_property
    def methods(self) -> tuple[Line, ...]:
        """The rows of methods, not those of baselines."""
        table = self.board.leaderboard
        names = set(table.loc[table["role"] == "method", "method"])
        return tuple(line for line in self.view.lines if line.method in names)

    @cached_property
    def earlier(self) -> str:
        """What the suite does otherwise by now; empty for a board of today's protocol."""
        changed = (
            []
            if self.suite is None
            else departures(self.board.manifest, self.suite, versions_here(self.host))
        )
        return "; ".join(changed)

    @cached_property
    def claims(self) -> list[JudgedClaim]:
        """Its claims, as they were judged."""
        return judged_claims(self.board)

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Core time of a run, by method; empty where it was not measured."""
        if not self.board.has("cost.csv"):
            return {}
        sums = self.board.cost.groupby("method")[["device_hours", "runs"]].sum()
        return {str(name): 3600 * row.device_hours / row.runs for name, row in sums.iterrows()}

    @property
    def a_run(self) -> float:
        """Median core time of a run over methods, in seconds; 0 where it was not measured."""
        own = sorted(self.seconds[m.method] for m in self.methods if m.method in self.seconds)
        return own[len(own) // 2] if own else 0.0

    @cached_property
    def world(self) -> World | None:
        """What agents observe on its first task; None where the suite is not installed."""
        if self.suite is None:
            return None
        task = self.suite.tasks[0]
        if task.environment is None:
            return "predictions"
        spec, config = (
            self.host.environments[task.environment],
            task_config(task, self.host, where=f"{self.suite.name}: tasks.{task.name}"),
        )
        space = lanes_of(spec, config, [0], None, torch.device("cpu")).observation_space
        if isinstance(space, gymnasium.spaces.Discrete):
            return "tabular"
        return "pixels" if len(space.shape or ()) > 1 else "small"

    def answer(self, need: Need) -> Answer | None:
        """What the board answers; None where it does not measure that."""
        if need == "uncertainty":
            return self._honest()
        about = self._about(self.board.primary["name"])
        if about == need or (need == "return" and self.world == "predictions"):
            return self._ranked()
        for name in (self.board.manifest.groups or {}).get(need, ()):
            if (answer := self._by_intervals(name)) is not None:
                return answer
        return None

    def _ranked(self) -> Answer | None:
        """By the board's own sets of ranks; None where its budget does not rank."""
        if not self.board.ranks:
            return None
        ranked = tuple(line for line in self.methods if line.place is not None)
        top = tuple(line for line in ranked if line.place is not None and line.place.low == 1)
        column = self.board.ranking
        if len(ranked) < 2:
            alone = ranked or self.methods  # a method by itself has no rank
            return Answer("nothing decided", alone, len(alone), column)
        if all(line.beaten for line in top):
            return Answer("none", top, len(ranked), column)
        state = "decided" if len(top) == 1 else "nothing decided"
        return Answer(state, top, len(ranked), column)

    def _by_intervals(self, column: str) -> Answer | None:
        """The methods whose interval reaches that of the best; None without two intervals."""
        direction = self._direction(column)
        known: list[tuple[Line, Estimate, float, float]] = []
        for line in self.methods:
            one = line.estimates.get(column)
            if one is not None and one.low is not None and one.high is not None:
                known.append((line, one, one.low, one.high))
        if direction is None or len(known) < 2 or not self.board.ranks:
            return None
        known.sort(key=lambda row: -direction * row[1].value)
        _, _, low, high = known[0]
        top = tuple(row[0] for row in known if row[2] <= high and row[3] >= low)
        state = "decided" if len(top) == 1 else "nothing decided"
        return Answer(state, top, len(known), column)

    def _honest(self) -> Answer | None:
        """The methods whose stated intervals are honest, in the board's order; None if none may be.

        In fixed worlds exact intervals need not cover as often as they say.
        """
        column = coverage_column(map(str, self.board.leaderboard))
        if column is None or not {line.calibration for line in self.methods} & {*JUDGED}:
            return None
        honest = tuple(line for line in self.methods if line.calibration == "honest")
        state = "decided" if honest else "none"
        return Answer(state, honest, len(self.methods), column[0])

    def _about(self, metric: str) -> str | None:
        """What a metric is about; None, too, where the suite has no such metric any more."""
        known = {m.name: m.about for m in self.suite.metrics} if self.suite else {}
        return known.get(metric)

    def _direction(self, column: str) -> int | None:
        """1 where more is better in a column, −1 where less is; None where nothing tells."""
        for metric in self.suite.metrics if self.suite else ():
            if column.rpartition("_")[0] == metric.name:
                normalized = bool(self.suite and self.suite.normalization_constants(metric))
                return 1 if normalized or metric.direction == "max" else -1
        return None

    def evidence(self, answer: Answer, line: Line) -> list[tuple[str, str]]:
        """Headers and texts of a row's cells that an answer rests on."""
        names = [answer.column, *self._trust()]
        at = self.view.lines.index(line)
        columns = [self.view.column(name) for name in dict.fromkeys(names)]
        return [(column.header, text) for column in columns if (text := column.texts[at])]

    def _trust(self) -> list[str]:
        """The columns of the word for intervals, and of their coverage, where there are such."""
        column = coverage_column(map(str, self.board.leaderboard))
        return [] if column is None else ["calibration", column[0]]


def site_boards(root: Path) -> list[SiteBoard]:
    """The boards below a folder.

    Raises:
        UqbenchError: there is none, or one is damaged.
    """
    host = load_host()
    suites = read_suites(host, check=()).suites
    stored = [StoredBoard.read(folder) for folder in board_folders(root)]
    return [SiteBoard(board, suites.get(board.suite), host) for board in stored]


def tally(boards: Sequence[SiteBoard], world: World, need: Need, budget: str) -> tuple[str, str]:
    """What the boards of a choice come to: who is best on most of them, and its intervals.

    Returns:
        A headline, and a sentence on how many boards the intervals of the best method are honest;
        empty where several are best, or none.
    """
    asked = [one for one in boards if one.world == world and one.a_run <= SECONDS[budget]]
    found = [answer for one in asked if (answer := one.answer(need)) is not None]
    named = [line.method for of in found if of.state == "decided" for line in of.methods]
    counts = Counter(named).most_common()
    best = [name for name, times in counts if times == counts[0][1]]
    if not found:
        return "No board measures this within the budget", ""
    if not best:
        undecided = any(of.state == "nothing decided" for of in found)
        return "Nothing decided" if undecided else NONE_OF[need], ""
    what = "each" if len(best) > 1 else "honest" if need == "uncertainty" else "first"
    headline = f"{', '.join(best)}: {what} on {counts[0][1]} of {len(found)} boards"
    return headline, _trusted(best[0], asked) if len(best) == 1 else ""


def _trusted(method: str, boards: Sequence[SiteBoard]) -> str:
    """On how many boards a method's intervals have which word."""
    lines = [line for one in boards for line in one.methods if line.method == method]
    words = Counter(kind(line.calibration) for line in lines if line.calibration)
    said = ", ".join(f"{word} on {words[word]}" for word in WORDS if words[word])
    return f"Its intervals: {said}." if said else ""
