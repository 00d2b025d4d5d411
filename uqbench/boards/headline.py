"""The headline of a board and the note below it, from the frames that its tables and files are.

The headline says who is best, or that nobody beats a trivial baseline, and who is by each further
metric that ranks; whose intervals to trust, with a number; and, where there is room, one surprise.
Tuning and controls are for the note.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import pandas as pd

from uqbench.boards import calibration
from uqbench.boards.controls import above_controls
from uqbench.boards.tables import PLACE, label
from uqbench.boards.tuned import UNTUNED
from uqbench.statistics.levels import MINIMUM_SEEDS

CALIBRATED, NARROW, WIDE, OPEN = calibration.WORDS
MOST_NAMES = 3
"""Methods that a sentence names; of more it says how many."""
MOST_WORDS, MOST_SENTENCES = 35, 3
"""In a headline."""
MORE_WORDS = 10
"""Further words, and a sentence, of each further metric that ranks."""
ALIKE = {
    NARROW: "Trust no method's {}",
    OPEN: "Whether {} are right is open",
    CALIBRATED: "The {} are calibrated",
    WIDE: "The {} are too wide",
}
"""Openings of the sentence on intervals that all have one word."""
TAIL = 0.1
"""Between mean and IQM, from where on a tail of runs decides the mean; anchors are 1 apart."""


@dataclass(frozen=True)
class Told:
    """The frames that the sentences about a board are made of.

    Attributes:
        leaderboard: its ``leaderboard.csv``.
        ranking: the statistic that it is ranked by.
        ranks: whether its budget can rank methods.
        tasks: its ``tasks.csv``.
        metric: the primary one's name, and ``max`` or ``min``, which is better.
        settings: that its budget gives all methods, for the note.
        by: names the metric in sentences, where several rank.
    """

    leaderboard: pd.DataFrame
    ranking: str
    ranks: bool
    tasks: pd.DataFrame
    metric: tuple[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    by: str = ""

    @property
    def headline(self) -> str:
        """The best methods, the ones to trust, and the surprises that there is room for."""
        own = replace(self, by=f" by {_words(self.metric[0])}") if self.further else self
        also = (self._of(metric)._also for metric in self.further)
        told = [sentence for sentence in (own._best, *also, self._trust) if sentence]
        most = MOST_WORDS + MORE_WORDS * len(self.further)
        for surprise in self._surprises():
            room = MOST_SENTENCES + len(self.further) - len(told)
            if room > 0 and words_of(" ".join([*told, surprise])) <= most:
                told.append(surprise)
        return " ".join(filter(None, [*told, self._few]))

    @property
    def note(self) -> str:
        """Sentences on tuning, and on the worth of stated widths beyond their controls."""
        return " ".join(filter(None, [self._tuning, self._widths, self._skills]))

    @cached_property
    def further(self) -> list[str]:
        """The metrics that rank beside the primary one."""
        return [str(c).removesuffix(PLACE) for c in self.leaderboard if str(c).endswith(PLACE)]

    def _of(self, metric: str) -> Self:
        """Frames by a further metric that ranks, without a trivial row to beat."""
        ends = ("", "_low", "_high")
        score = {f"{metric}_{self.ranking}{end}": f"{self.ranking}{end}" for end in ends}
        rank = {f"{metric}{PLACE}{end}": f"rank{end}" for end in ends}
        kept = self.leaderboard.drop(columns=[*score.values(), *rank.values()])
        own = kept.rename(columns=score | rank).assign(beats_trivial="")
        return replace(self, leaderboard=own, by=_words(metric))

    @property
    def _also(self) -> str:
        """The sentence on who is best by a further metric, in a few words."""
        known, ends = self.scores.dropna(), self.methods.get(f"{self.ranking}_low", self.scores)
        if len(self.ranked) < 2 or ends.isna().all():
            return f"By {self.by} runs tell no two apart."
        if (self.ranked["rank_high"] - self.ranked["rank_low"] == len(self.ranked) - 1).all():
            return f"By {self.by} no two differ significantly."
        if len(self.first) > MOST_NAMES:
            return f"By {self.by} {len(self.first)} may be best."
        if len(self.first) > 1:
            return f"By {self.by} {_names(self.first, 'or')} is best."
        said = "is best" if self.ranked["rank_high"].iloc[0] == 1 else "loses to none"
        return f"By {self.by} {self.first[0]} ({number(known[self.first[0]])}) {said}."

    @cached_property
    def few(self) -> list[str]:
        """The methods that have all of their runs, and too few of these for a rank."""
        own = self.leaderboard[self.leaderboard["role"] == "method"]
        placed = own.filter(["rank_low"]).notna().any(axis=1)
        return list(own["method"][~placed & own[self.ranking].notna()]) if placed.any() else []

    @property
    def _few(self) -> str:
        """A sentence on them; empty where there are none."""
        those = f"fewer than {MINIMUM_SEEDS} a task: {_names(self.few, 'and')}" if self.few else ""
        return those and f"Too few runs for a rank, {those}."

    @cached_property
    def methods(self) -> pd.DataFrame:
        """The rows of methods by name, the best first where the budget ranks.

        Without those of too few runs to be ranked beside others.
        """
        own = self.leaderboard[self.leaderboard["role"] == "method"].set_index("method", drop=False)
        own = own.drop(index=self.few)
        by = ["rank", "method"] if self.ranks and "rank" in own else ["method"]
        return own.rename_axis(None).sort_values(by, kind="stable", na_position="last")

    @cached_property
    def scores(self) -> pd.Series:
        """The score of each method; NaN where runs are missing."""
        return self.methods[self.ranking]

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """The methods that have a rank."""
        return self.methods[self.methods["rank_low"].notna()]

    @cached_property
    def first(self) -> list[str]:
        """The methods whose rank set begins at 1."""
        return list(self.ranked.index[self.ranked["rank_low"] == 1])

    @cached_property
    def floor(self) -> tuple[str, float]:
        """The best trivial row, as sentences have it, and its score; NaN where there is none."""
        known = self.leaderboard[self.leaderboard["role"] == "trivial"].set_index("method")
        of = known[self.ranking].dropna().astype(float).nlargest(1)
        told = [f"the trivial {name} ({number(score)})" for name, score in of.items()]
        return "".join(told), float(of.max())

    @cached_property
    def beaten(self) -> list[str]:
        """The methods that do not beat the best trivial row."""
        return list(self.methods.index[self.methods["beats_trivial"] == "no"])

    @cached_property
    def nobody(self) -> bool:
        """Whether no method beats the best trivial row: where that is untold, it is below."""
        untold = self.scores.drop(self.beaten).dropna()
        return bool(self.beaten and (untold < self.floor[1]).all())

    @property
    def _best(self) -> str:
        if self.methods.empty:
            return "The board has no methods, only trivial rows and oracles."
        if not self.ranks:
            return "The budget does not rank methods: read its columns one by one."
        if self.nobody:
            closest = f"{self.scores.idxmax()} comes closest ({number(self.scores.max())})"
            how = "significantly beats" if self.scores.max() > self.floor[1] else "beats"
            return f"No method {how} {self.floor[0]}{self.by}; {closest}."
        known = self.scores.dropna()
        if len(self.methods) == 1 and len(known):
            return f"{known.index[0]}, the only method, scores {number(known.iloc[0])}."
        if len(self.ranked) < 2:
            return "Fewer than two methods have all of their runs."
        if self.methods.get(f"{self.ranking}_low", self.scores).isna().all():
            which = f"{len(self.ranked)} methods apart ({_span(known, number)})"
            return f"Runs tell none of the {which}{self.by}: they are too few, or all equal."
        rows = self.ranked.index.str.contains("[", regex=False).any()  # with default settings, too
        of = f"of {len(self.ranked)} {'rows' if rows else 'methods'}"
        if (self.ranked["rank_high"] - self.ranked["rank_low"] == len(self.ranked) - 1).all():
            two = f"No two {of}"
            if len(self.ranked) == 2:
                two = f"The {label(self.ranking)}s of the two methods do not"
            return f"{two} differ significantly{self.by}: they score {_span(known, number)}."
        if len(self.first) > MOST_NAMES:
            return f"{len(self.first)} {of} may be best{self.by}{self._highest}."
        names = [f"{name} ({number(known[name])})" for name in self.first]
        apart = len(names) > 1 or self.ranked["rank_high"].iloc[0] == 1
        who = f"{_names(names, 'or')}{'' if apart else ', which loses to none,'}"
        return f"{who} is best {of}{self.by}."

    @property
    def _highest(self) -> str:
        """The first of the best, or the leader of each of few tasks where they differ."""
        top, of = str(self.scores[self.first].idxmax()), self.leads.groupby(self.leads).groups
        if 1 < len(of) <= len(self.leads) <= MOST_NAMES:
            told = [f"{name} on {_names([*tasks], 'and')}" for name, tasks in of.items()]
            return f": {', '.join(told)}".replace(" on ", " leads on ", 1)
        own, n = (self.leads == top).sum(), len(self.leads)
        but = f" {own} of {n} tasks, and the mean" * bool(own < n)
        return f"; {top} leads{but} ({number(self.scores[top])})"

    @cached_property
    def leads(self) -> pd.Series:
        """The ranked method with the best mean on each task, by task, where the mean ranks."""
        table = self.tasks.pivot(index="task", columns="method", values=self.metric[0])
        better = table[self.ranked.index] * (1 if self.metric[1] == "max" else -1)
        return better[: len(table) * (self.ranking == "mean")].dropna(how="all").idxmax(axis=1)

    @cached_property
    def column(self) -> tuple[str, float]:
        """The column of shares of true values covered, and the level that intervals state."""
        return calibration.coverage_column(map(str, self.methods)) or ("", 0.0)

    @cached_property
    def words(self) -> dict[str, str]:
        """The word for the intervals of each method that states any."""
        known = calibration.words(self.methods)
        return {name: word for name, word in known.items() if word != calibration.NO_WORD}

    @cached_property
    def shares(self) -> pd.Series:
        """Percent of true values inside the stated intervals of each method that states any."""
        return 100 * self.methods.loc[list(self.words), self.column[0]]

    @cached_property
    def noisy(self) -> bool:
        """Whether reference values may be less exact than what methods state."""
        exact = self.column[0][:2] != "q_" or calibration.exact_enough(self.tasks, self.words)
        return not exact

    @cached_property
    def shown(self) -> list[str]:
        """The best methods whose intervals the headline tells, if they are few."""
        told = [n for n in self.first or self.methods.index if n in self.words]
        return told if not self.nobody and max(len(told), len(self.first)) <= MOST_NAMES else []

    @property
    def _trust(self) -> str:
        column, level = self.column
        if not column or self.methods.empty:
            return ""
        intervals = f"{100 * level:.0f} % intervals"
        if not self.words:
            return f"No method states {intervals}."
        if self.noisy:
            held = f"{intervals} cover {_span(self.shares)} %"
            return f"{held} of reference values whose own noise is unknown."
        those = {
            word: [n for n, of in self.words.items() if of == word] for word in calibration.WORDS
        }
        if len({*self.words.values()}) == 1 and (len(self.words) > 1 or not self.shown):
            held = f"they cover {_span(self.shares, self._percent)} % of true values"
            return f"{ALIKE[next(iter(self.words.values()))].format(intervals)}: {held}."
        right = [] if any(self.words[n] == CALIBRATED for n in self.shown) else those[CALIBRATED]
        wrong = [n for n in those[NARROW] if n not in self.shown]
        of, parts = f"the {intervals}", list[str]()
        if self.shown:
            inside = dict.fromkeys(
                f"{self._percent(self.shares[n])} % ({self.words[n]})" for n in self.shown
            )
            whose = ("Its " if len(self.shown) == 1 else "Their ") + intervals
            if len(self.shown) < len(self.first):
                whose = f"{intervals} of {_names(self.shown, 'and')}"
            what = " of true values" * (len(inside) == 1 or not right + wrong)
            parts, of = [f"{whose} cover {_names([*inside], 'and')}{what}"], "those"
        if right:
            but = f", not of {self._shown(wrong)}" if wrong else ""
            parts.append(f"trust {of} of {self._shown(right)}{but}")
        elif wrong:
            shown = self._shown(wrong, "" if self.shown else " of true values covered")
            nor = "these, nor " if NARROW in map(self.words.get, self.shown) else ""
            parts.append(f"do not trust {nor}{of} of {shown}")
        elif not self.shown:
            parts.append(f"{intervals} of {self._shown(those[WIDE])} are too wide, others open")
        return f"{parts[0][0].upper()}{'; '.join(parts)[1:]}."

    def _shown(self, names: Sequence[str], said: str = "") -> str:
        return f"{_names(names, 'or')} ({_span(self.shares[names], self._percent)} %{said})"

    def _percent(self, share: float) -> str:
        return calibration.percent(share / 100, *calibration.band(self.column[1]))

    def _surprises(self) -> Iterator[str]:
        if not self.ranks:
            return
        if NARROW in self.words.values() and not self.noisy:
            least = 100 * calibration.band(self.column[1])[0]
            rest = [n for n, of in self.words.items() if of == OPEN and n not in self.shown]
            if low := [n for n in rest if self.shares[n] < least]:
                yield f"Those of {self._shown(low)} may be too narrow."
        rest = self.leaderboard[self.leaderboard["role"] == "unranked"].set_index("method")
        above = rest[self.ranking].dropna().astype(float)
        if above.max() > self.scores.max():
            yield f"The unranked {above.idxmax()} has {number(above.max())}."
        if self.nobody:
            return
        winners, (floor, least) = self.ranked.index.difference(self.beaten, sort=False), self.floor
        if len(winners) < min(len(self.beaten), MOST_NAMES + 1):
            yield f"Only {_names([*winners], 'and')} beat{'s' * (len(winners) == 1)} {floor}."
        elif self.beaten:
            do = "does" if len(self.beaten) == 1 else "do"
            how = "significantly beat" if self.scores[self.beaten].max() > least else "beat"
            yield f"{_names(self.beaten, 'and')} {do} not {how} {floor}."
        apart = (self.ranked["iqm"] - self.ranked[self.ranking]).abs()
        if self.ranking == "mean" and (apart > TAIL).any():
            of = next((n for n in self.first if apart[n] > TAIL), apart.idxmax())
            own = f"the middle half of {of}'s runs averages {number(self.ranked['iqm'][of])}"
            yield f"A few runs or tasks pull the mean; {own}."

    @property
    def _tuning(self) -> str:
        """A sentence on methods that were not tuned; empty where all were, or nothing is ranked."""
        own = self.methods
        if len(own) < 2 or "imported" in own or not self.ranks:
            return ""
        untuned = own if "tuned" not in own else own[own["tuned"] == UNTUNED]
        if len(untuned) == len(own):
            given = ", ".join(f"{name} {value}" for name, value in self.settings.items())
            of_all = f"; the budget gives to all: {given}" * bool(given)
            return f"No method was tuned by itself: settings are the suite's{of_all}."
        return "" if untuned.empty else f"Not tuned: {', '.join(untuned.index)}."

    @property
    def _widths(self) -> str:
        """Shares of true values that intervals of the two controls of width would cover."""
        parts = []
        for control, said in (("zero", "width zero"), ("constant", "the best constant width")):
            beside = self.column[0].replace("_mean", f"_{control}_mean")
            if beside in self.methods and self.methods[beside].notna().any():
                of = list(self.words) or list(self.methods.index)
                parts.append(f"of {said} would cover {_span(100 * self.methods.loc[of, beside])} %")
        return f"Intervals {', those '.join(parts)} of true values." if parts else ""

    @property
    def _skills(self) -> str:
        """Skills that no control explains, in a sentence.

        One in which every method is above its controls tells none from another, and is left out.
        """
        above = above_controls(self.methods)
        above = {name: of for name, of in above.items() if len(of) < len(self.methods)}
        known = [f"{name} ({_names(of, 'and')})" for name, of in above.items() if of]
        reached = ", ".join(name for name, of in above.items() if not of)
        if known and len(known) <= MOST_NAMES:
            told = ", ".join(known)
            return f"Methods beat their controls in {told}."
        if not reached:
            return ""
        return f"Controls score as well on {reached}."


def words_of(text: str) -> int:
    """The number of words of a text; numbers are words, signs are none."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def number(value: float) -> str:
    """A score in a headline: two digits behind the point, three of less than a tenth."""
    digits = 2 if abs(value) >= 0.095 else 3
    return f"{round(value, digits) + 0.0:.{digits}f}"  # never −0


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _span(values: pd.Series, text: Callable[[float], str] = "{:.0f}".format) -> str:
    least, most = text(values.min()), text(values.max())
    return least if least == most else f"{least} to {most}"


def _names(names: Sequence[str], last: str) -> str:
    if len(names) > MOST_NAMES:
        return f"{len(names)} methods"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
