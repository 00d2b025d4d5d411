"""The chooser of the site: which method to use, by the committed boards.

Numbers and words are those of the boards' own views; the order of the methods is by the number of
suites that speak for each, and how clearly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import gymnasium
import torch
from uqbench_claims.judged import JudgedClaim, judged_claims

from uqbench.boards.calibration import CALIBRATED, OPEN, WIDE, coverage_column
from uqbench.boards.protocol import departures, versions_here
from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.contract.wording import count, duration
from uqbench.pages.board_view import BoardView, Line, header, number, shown
from uqbench.pages.methods import names_of
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.runner.train.environments import lanes_of
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
    "uncertainty": "calibrated intervals",
}
SECONDS: dict[str, float] = {"seconds": 10.0, "minutes": 600.0, "any": float("inf")}
"""The most core time that a run may take: the median of a board's methods."""


MOST = 3
"""Methods that a choice names."""
TRUST = {CALIBRATED: 1.0, OPEN: 0.5, WIDE: 0.25}
"""The weight of a word for stated intervals; those that are too narrow are recommended never."""


@dataclass(frozen=True)
class Evidence:
    """One reason to take a method.

    Attributes:
        of: the agent or estimator.
        title: its name, with its setting.
        said: the sentence.
        board: that it is from.
        word: for its stated intervals there.
        strength: more is better evidence; the same scale for one need.
    """

    of: str
    title: str
    said: str
    board: str
    word: str
    strength: float


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
        """The name of its files and of its address on the page."""
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

    def evidence(self, need: Need) -> list[Evidence]:
        """The methods of the board that serve a need best, each with a sentence.

        Empty where nothing of the board is about the need, where it has a single method, and where
        none beats the best baseline, or states intervals that may be right.
        """
        if len(self.methods) < 2:
            return []
        return self._honest() if need == "uncertainty" else self._best(self.column(need))

    def column(self, need: Need) -> str | None:
        """The column that is about a need: of its score, else of its group; None for neither."""
        about = self._about(self.board.primary["name"])
        wanted = None if self.world == "predictions" and need == "return" else need
        if self.board.ranks and about == wanted:
            return self.board.ranking
        groups = (self.board.manifest.groups or {}).get(need, ()) if self.board.ranks else ()
        return next((of for of in groups if self._known(of) and self._direction(of)), None)

    def _best(self, column: str | None) -> list[Evidence]:
        """By the board's own sets of ranks, or by another column; baselines are to be beaten."""
        if column is None:
            return []
        ranked = column == self.board.ranking
        turn = 1 if ranked else self._direction(column) or 1
        lines = [line for line in self.view.lines if column in line.estimates]
        value = {line.method: turn * line.estimates[column].value for line in lines}
        least = max((value[of.method] for of in lines if of.role == "trivial"), default=-math.inf)
        own = sorted((of for of in lines if of.role == "method"), key=lambda of: -value[of.method])
        most = max((value[of.method] for of in own), default=math.inf)
        beyond = [of for of in lines if of.role == "unranked" and value[of.method] > most]
        but = "".join(f"; {of.method} has {number(of.value(column))}" for of in beyond)
        found = []
        for k, line in enumerate(own):
            if value[line.method] > least and not (ranked and line.beaten):
                what = f"{header(column)} {shown(line.estimates[column])}"
                place = f"rank {line.place}" if ranked else f"{k + 1}."
                said = f"{place} of {len(own)}, {what}{but}"
                found.append(self._of(line, said, 1 - k / len(own) - 0.1 * (not ranked)))
        return found[:MOST]

    def _honest(self) -> list[Evidence]:
        """By the word for stated intervals, then by how near their share comes to their level."""
        column = coverage_column(map(str, self.board.leaderboard))
        if column is None:
            return []
        name, level = column
        own = [of for of in self.methods if name in of.estimates and of.calibration in TRUST]
        off = {line.method: abs(line.estimates[name].value - level) for line in own}
        own.sort(key=lambda line: (-TRUST[line.calibration], off[line.method]))
        return [
            self._of(
                line,
                f"{100 * line.estimates[name].value:.0f} % of true values lie inside its "
                f"{100 * level:.0f} % intervals ({line.calibration})",
                TRUST[line.calibration] - off[line.method],
            )
            for line in own[:MOST]
        ]

    def _of(self, line: Line, said: str, strength: float) -> Evidence:
        facts = self.facts[line.method]
        took = self.seconds.get(line.method)
        if took is not None:
            said += f"; {duration(took) if took >= 1 else 'less than 1 s'} a run"
        word = line.calibration
        return Evidence(facts["of"], facts["title"], said, self.id, word, strength)

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """Names and sources of its methods."""
        return dict(names_of(self.board, self.host, self.suite))

    def _known(self, column: str) -> bool:
        return any(column in line.estimates for line in self.methods)

    def _about(self, metric: str) -> str | None:
        """The subject of a metric; None, too, where the suite has no such metric any more."""
        known = {m.name: m.about for m in self.suite.metrics} if self.suite else {}
        return known.get(metric)

    def _direction(self, column: str) -> int | None:
        """1 where more is better in a column, −1 where less is; None where nothing tells."""
        for metric in self.suite.metrics if self.suite else ():
            if column.rpartition("_")[0] == metric.name:
                normalized = bool(self.suite and self.suite.normalization_constants(metric))
                return 1 if normalized or metric.direction == "max" else -1
        return None


def site_boards(root: Path) -> list[SiteBoard]:
    """The boards below a folder.

    Raises:
        UqbenchError: there is none, or one is damaged.
    """
    host = load_host()
    suites = read_suites(host, check=()).suites
    stored = [StoredBoard.read(folder) for folder in board_folders(root)]
    return [SiteBoard(board, suites.get(board.suite), host) for board in stored]


def chosen(
    boards: Sequence[SiteBoard], world: World, need: Need, budget: str
) -> tuple[str, list[Evidence]]:
    """A sentence on where the evidence is from, and at most three methods with theirs.

    A suite counts once, by its board of most runs that fits; where none fits, the sentence says
    what the shortest would cost, and the methods are of that.
    """
    asked = [one for one in boards if one.world == world and one.evidence(need)]
    fit = [one for one in asked if one.a_run <= SECONDS[budget]]
    said = ""
    if asked and not fit:
        fit = [min(asked, key=lambda one: one.a_run)]
        said = f"Nothing so short is measured: a run of {fit[0].board.title} takes "
        said += f"{duration(fit[0].a_run)}. "
    suites: dict[str, SiteBoard] = {}
    for one in sorted(fit, key=lambda one: (bool(one.earlier), -len(one.board.scores))):
        suites.setdefault(one.board.suite, one)
    found: dict[str, list[Evidence]] = {}
    for one in suites.values():
        for of in one.evidence(need):
            found.setdefault(of.of, []).append(of)
    ordered = sorted(found.values(), key=lambda own: -sum(max(of.strength, 0) for of in own))
    best = [max(own, key=lambda of: of.strength) for own in ordered[:MOST]]
    if not best:
        return f"{_lacking(boards, world, need)}.", []
    return f"{said}Among {count(len(suites), 'suite')} of {WORLDS[world]}.", best


def _lacking(boards: Sequence[SiteBoard], world: World, need: Need) -> str:
    """The reason why no method is named."""
    there = [one for one in boards if one.world == world and len(one.methods) > 1]
    tried = [one.board.title for one in there if need != "uncertainty" and one.column(need)]
    if tried:
        return f"No method beats the best baseline on {', '.join(tried)}"
    return f"Not measured yet: no suite of {WORLDS[world]} measures {NEEDS[need]}"
